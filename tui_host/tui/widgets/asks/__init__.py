"""Panels over the chat for what servers ask of the person."""
