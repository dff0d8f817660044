"""The widgets of the screens. Every widget that grows is a line view."""
