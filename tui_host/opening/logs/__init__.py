"""Logs of home-made proxies, of loggers and of hosts."""
