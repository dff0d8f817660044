"""The bundled MCP servers: `math`, `weather`, `orders`."""
