"""The model's side: neutral messages, dialects, tool protocols, and the client that streams one exchange."""
