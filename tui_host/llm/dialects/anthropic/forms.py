"""The forms of Anthropic's answers that are alike in a stream and in a whole answer. Source: llm-dialects.md, section 5."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.errors import JSON
from tui_host.llm.body_framing import count_of
from tui_host.llm.messages import Stop, Usage

_STOPS: Mapping[str, Stop] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "pause_turn": "paused",
}
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def stop_of(word: str, *, has_calls: bool) -> Stop:
    """The neutral word for a stop reason; calls decide, not the word."""
    return _STOPS.get(word) or ("tools" if has_calls else "end")


def stop_word(delta: Mapping[str, JSON]) -> str:
    """The vendor's reason for the end, with what it says of a refusal; empty while there is none."""
    word = delta.get("stop_reason")
    if not isinstance(word, str) or not word:
        return ""
    details = delta.get("stop_details")
    if not isinstance(details, Mapping):
        return word
    said = [text for name in ("category", "explanation") if isinstance(text := details.get(name), str) and text]
    return f"{word}: {', '.join(said)}" if said else word


def usage_of(usage: JSON) -> Usage:
    """The tokens of a `usage` object. Its `input_tokens` leaves out what the cache read and wrote."""
    counts = [count_of(usage, name) for name in _INPUT]
    known = [count for count in counts if count is not None]
    return Usage(
        input_total=sum(known) if known else None,
        input_cached=counts[2],
        cache_written=counts[1],
        output_total=count_of(usage, "output_tokens"),
        reasoning=count_of(usage, "output_tokens_details", "thinking_tokens"),
    )


def echo_of_block(block: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """What goes back of a block beside its text; None where nothing does.

    Of thinking the signature, without which a block is refused; of redacted thinking, and of blocks that only the vendor
    knows, all of it.
    """
    kind = block.get("type")
    if not isinstance(kind, str) or not kind:
        return None  # no block that could be taken back
    if kind != "thinking":
        return block
    signature = block.get("signature")
    return {"type": "thinking", "signature": signature} if isinstance(signature, str) and signature else None
