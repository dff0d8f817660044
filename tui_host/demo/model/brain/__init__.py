"""The demo model's rules for answers."""
