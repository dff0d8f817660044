"""Where in a request's bytes a piece of a message's text stands, once a dialect has written it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tui_host.llm.messages import Message, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSpan:
    """A piece of a message's text.

    Attributes:
        message: The message's place among those that were written.
        start: Its first character.
        end: One past its last.
    """

    message: int
    start: int
    end: int


def located(
    body: bytes, messages: Sequence[Message], pieces: Sequence[TextSpan], kept: Callable[[bytes], bytes] = bytes
) -> Iterator[tuple[int, int] | None]:
    """The bytes of each piece, None where they are not found: every dialect writes a message's text as one JSON string.

    Args:
        body: The request's body, as it is kept.
        messages: What was written, in order.
        pieces: What is looked for, in order.
        kept: Makes bytes what they are in the body (with marks where secrets stood).
    """
    position, number, begun = 0, -1, -1
    for piece in pieces:
        text = "".join(part.text for part in messages[piece.message].parts if isinstance(part, Text))
        if piece.message != number:
            number = piece.message
            begun = body.find(kept(_json(text)), position)
            position = max(begun, position)
        if begun < 0:
            yield None
            continue
        start = begun + len(kept(_json(text[: piece.start]))) - 1  # without the closing quote
        yield start, start + len(kept(_json(text[piece.start : piece.end]))) - 2


def _json(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")
