"""The forms in which Chat Completions services say the same: choices, thinking, text, usage. Source: llm-dialects.md, section 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tui_host.capture.json.spans import Node
from tui_host.errors import JSON
from tui_host.llm.body_framing import count_of
from tui_host.llm.messages import Usage

ECHOED: Final = "reasoning_content"
"""The key under which some services demand the thinking back (DeepSeek, Moonshot); those that do not use it never see it."""


class Places:
    """Where the parts of a message stand: the member itself where that is known, else the whole event."""

    def __init__(self, start: int, end: int, message: Node | None = None, *, at: int = 0) -> None:
        """Take what is known.

        Args:
            start: First byte of the whole.
            end: One past its last.
            message: Where its members stand, None if that is not known.
            at: The byte that the message's places count from.
        """
        self._whole = start, end
        self._message = message
        self._at = at

    def of(self, key: str) -> tuple[int, int]:
        """The bytes of a member."""
        node = self._message.get(key) if self._message is not None else None
        return self._of(node) if node is not None else self._whole

    def of_call(self, number: int) -> tuple[int, int]:
        """The bytes of one of the tool calls."""
        node = self._message.get("tool_calls") if self._message is not None else None
        if node is None or number >= len(node.elements):
            return self._whole
        return self._of(node.elements[number])

    def _of(self, node: Node) -> tuple[int, int]:
        return node.start + self._at, node.end + self._at


def message_in(node: Node | None, name: str = "message") -> Node | None:
    """Where the message of a whole answer stands, or the `delta` of a chunk."""
    choices = node.get("choices") if node is not None else None
    return choices.elements[0].get(name) if choices is not None and choices.elements else None


def choice_of(value: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """The first choice: more than one is never asked for."""
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        return None
    first = choices[0]
    return first if isinstance(first, dict) and not first.get("index") else None


def thought_of(delta: Mapping[str, JSON]) -> tuple[str, str]:
    """The thinking in a delta and the key it stands under: services send it under several, some twice."""
    for key in (ECHOED, "reasoning"):
        value = delta.get(key)
        if isinstance(value, str) and value:
            return value, key
    details = delta.get("reasoning_details")
    if not isinstance(details, list):
        return "", ECHOED if delta.get(ECHOED) == "" else ""
    pieces = [piece.get("text") or piece.get("summary") for piece in details if isinstance(piece, dict)]
    return "".join(piece for piece in pieces if isinstance(piece, str)), "reasoning_details"


def flat(part: JSON) -> str:
    """The text of a part, or of parts within parts."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        return flat(part.get("text"))
    return "".join(flat(piece) for piece in part) if isinstance(part, list) else ""


def usage_of(value: Mapping[str, JSON], choice: Mapping[str, JSON] | None) -> Usage | None:
    """The tokens that a chunk or an answer reports, wherever the service puts them; None if it reports none."""
    groq = value.get("x_groq")
    for place in (value, choice, groq):
        usage = place.get("usage") if isinstance(place, dict) else None
        if isinstance(usage, dict):
            found = Usage(
                input_total=count_of(usage, "prompt_tokens"),
                input_cached=_first(
                    usage, ("prompt_tokens_details", "cached_tokens"), ("cached_tokens",), ("prompt_cache_hit_tokens",)
                ),
                cache_written=count_of(usage, "prompt_tokens_details", "cache_write_tokens"),
                output_total=count_of(usage, "completion_tokens"),
                reasoning=_first(usage, ("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",)),
            )
            return found if found != Usage() else None
    return None


def _first(usage: JSON, *paths: tuple[str, ...]) -> int | None:
    """The first of several places where services put the same count."""
    return next((count for path in paths if (count := count_of(usage, *path)) is not None), None)
