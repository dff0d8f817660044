"""Reads logs of self-written proxies, of loggers and of hosts."""
