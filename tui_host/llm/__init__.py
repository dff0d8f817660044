"""The model's side: neutral messages, dialects, tool protocols, and the client for streaming an answer."""
