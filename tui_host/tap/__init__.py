"""Relays that stand between another host and its models or servers, and record the traffic."""
