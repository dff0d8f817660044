"""The relay before an MCP server's command. It imports next to nothing before the first byte flows: a host waits for it."""
