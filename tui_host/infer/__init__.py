"""Which records of another host's wires belong together, found out without that host's help."""
