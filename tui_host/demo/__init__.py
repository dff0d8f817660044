"""A rule-based model and three small MCP servers, to try the program without a network. Started as processes."""
