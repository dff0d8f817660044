"""Relays for other hosts that record the traffic with models and servers."""
