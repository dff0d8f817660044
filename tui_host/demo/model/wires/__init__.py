"""The HTTP APIs that the demo model speaks: each one reads a request and writes a response, and knows no other."""
