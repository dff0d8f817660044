"""The main screen, and the screens over it."""
