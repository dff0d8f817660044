"""Peers to try the program with: a model following rules, and three small MCP servers; no module imports their inside."""
