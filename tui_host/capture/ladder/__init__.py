"""Records folded into the rows that the inspector lists."""
