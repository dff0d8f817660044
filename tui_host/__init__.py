"""A terminal chat client that is an MCP host with glass walls."""
