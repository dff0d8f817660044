"""The demo model: a program that follows rules and speaks a model's HTTP API on loopback."""
