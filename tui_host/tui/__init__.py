"""The Textual front: app, screens, widgets."""
