"""Tool protocols in plain text: what the demo model reads out of a prompt that describes one, and writes in its form."""
