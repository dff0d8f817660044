"""Relays for other hosts: what they say to their models and servers is passed on unchanged, and recorded."""
