"""Views of lines over which no widget stands: painting, inks, selection."""
