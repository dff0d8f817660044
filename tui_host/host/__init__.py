"""Owns what outlives a screen: the recorder, the servers, the turns, the demo model's process. Both fronts get one."""
