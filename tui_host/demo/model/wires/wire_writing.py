"""What all wires write alike: JSON, events, and an answer gathered from its pieces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tui_host.demo.model.plan import CallBegun, Fragment, Piece, Said, Thought
from tui_host.errors import JSON


def line(value: JSON) -> bytes:
    """JSON without blanks, characters as they are; a lone surrogate that a request brought in goes out escaped, as it came."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def event(value: JSON, *, name: str = "") -> bytes:
    """A server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + line(value) + b"\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredCall:
    """A call with all of its arguments."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """An answer, whole again."""

    thinking: str
    text: str
    calls: tuple[GatheredCall, ...]


def gathered(pieces: Sequence[Piece]) -> Gathered:
    """The pieces of an answer put together."""
    arguments: dict[int, list[str]] = {}
    for piece in pieces:
        if isinstance(piece, Fragment):
            arguments.setdefault(piece.index, []).append(piece.text)
    return Gathered(
        thinking="".join(piece.text for piece in pieces if isinstance(piece, Thought)),
        text="".join(piece.text for piece in pieces if isinstance(piece, Said)),
        calls=tuple(
            GatheredCall(index=piece.index, name=piece.name, arguments="".join(arguments.get(piece.index, [])))
            for piece in pieces
            if isinstance(piece, CallBegun)
        ),
    )


def object_in(arguments: str) -> dict[str, JSON] | None:
    """The arguments as an object, empty text as an empty one; None where they are none, since some orders break them."""
    if not arguments.strip():
        return {}
    try:
        value: JSON = json.loads(arguments, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> JSON:
    raise ValueError(f"{constant} is not JSON")
