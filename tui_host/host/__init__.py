"""Owns everything that outlives a screen: recorder, servers, turns, the demo model's process. Shared by both fronts."""
