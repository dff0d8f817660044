"""The relay before an LLM API or an MCP server behind a URL."""
