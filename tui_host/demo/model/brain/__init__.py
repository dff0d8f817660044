"""The rules by which the demo model answers."""
