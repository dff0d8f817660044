"""The chat, drawn where visible."""
