"""Tool protocols in plain text, as described in a prompt and used by the demo model."""
