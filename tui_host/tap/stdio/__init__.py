"""The relay in front of an MCP server's command. A host waits for it, so it imports little before the first byte flows."""
