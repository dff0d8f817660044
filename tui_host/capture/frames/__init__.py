"""JSON-RPC frames: their heads, their summaries, and the calls they belong to."""
