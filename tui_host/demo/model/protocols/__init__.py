"""Tool protocols in plain text: a prompt describes them, and the demo model follows them."""
