"""How recorded streams are put on the wire."""

from __future__ import annotations

import json

from tui_host.errors import JSON


def event(value: JSON, name: str = "") -> bytes:
    """An event of an event stream, with a name where the vendor gives them."""
    named = f"event: {name}\n".encode() if name else b""
    return named + b"data: " + text(value) + b"\n\n"


def line(value: JSON) -> bytes:
    """A line."""
    return text(value) + b"\n"


def text(value: JSON) -> bytes:
    """JSON in UTF-8, without escapes where none are needed."""
    return json.dumps(value, ensure_ascii=False).encode()
