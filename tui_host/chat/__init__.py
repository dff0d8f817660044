"""The conversation: what was said, who decided, and the loop of a turn."""
