"""Conversations, the turn loop, and the policy that decides tool calls."""
