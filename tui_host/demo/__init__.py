"""Peers to try the program with: a model that follows rules, and three small MCP servers; nothing imports their inside."""
