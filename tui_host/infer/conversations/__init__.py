"""Read the model side of a tapped host: conversations, turns, calls, results, and the names of hosts and models."""
