"""The modal question: what a call would do, and one key to decide it."""
