"""What is configured: read once, whole, before anything is drawn; saved atomically; secrets resolved at use."""
