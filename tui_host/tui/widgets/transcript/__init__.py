"""The chat: what was said, drawn where it is seen."""
