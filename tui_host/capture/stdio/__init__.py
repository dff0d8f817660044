"""Recording the lines of a stdio server's pipes."""
