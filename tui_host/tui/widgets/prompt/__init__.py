"""The prompt, in which the user types."""
