"""The widgets of the screens. Every growing widget is a line view."""
