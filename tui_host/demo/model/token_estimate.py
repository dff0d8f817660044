"""Tokens, estimated: the demo model has no tokenizer, and bills nobody."""

from __future__ import annotations

from collections.abc import Sequence

from tui_host.demo.model.request_content import AssistantSaid, Message


def estimate(text: str) -> int:
    """About as many tokens as usual tokenizers make of it: one for four ASCII characters or three other bytes, rounded up."""
    ascii_size = len(text.encode("ascii", "ignore"))
    other_size = len(text.encode("utf-8", "surrogatepass")) - ascii_size
    return -(-ascii_size // 4) + -(-other_size // 3)


def repeated(messages: Sequence[Message]) -> int:
    """Estimated tokens of what a service has seen before, and a cache would hold: all that stands before its last answer."""
    last = max((place for place, message in enumerate(messages) if isinstance(message, AssistantSaid)), default=0)
    return sum(estimate(message.text) for message in messages[:last])
