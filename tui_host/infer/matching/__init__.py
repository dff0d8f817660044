"""Which frames carry which calls: only what leaves no other reading."""
