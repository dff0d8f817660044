"""Tokens, estimated: the demo model has no tokenizer, and bills nobody."""

from __future__ import annotations


def estimate(text: str) -> int:
    """Estimate a text's tokens: one for four ASCII characters or three other bytes, rounded up."""
    ascii_size = len(text.encode("ascii", "ignore"))
    other_size = len(text.encode("utf-8", "surrogatepass")) - ascii_size
    return -(-ascii_size // 4) + -(-other_size // 3)
