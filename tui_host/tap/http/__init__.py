"""The relay before whatever is reached by URL, an LLM API or an MCP server: bytes in, the same bytes out, and told what passed."""
