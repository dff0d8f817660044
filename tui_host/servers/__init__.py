"""The MCP side: recording transports, connections to servers, and the pool of connections."""
