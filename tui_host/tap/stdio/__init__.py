"""The relay before an MCP server's command. Imports next to nothing before the first byte flows, since a host waits."""
