"""The relay in front of a model's API, or of an MCP server with a URL."""
