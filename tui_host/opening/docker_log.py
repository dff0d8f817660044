"""Take the lines that a program wrote out of Docker's JSON objects.

Docker keeps an object for each line, and for a part of a line that is long. Source: Docker's documentation, JSON File logging driver.
"""

from __future__ import annotations

from dataclasses import replace

from tui_host.capture.json.narrowing import mapping
from tui_host.opening.import_types import VALUE_LIMIT, File, read_value

_MEMBERS = frozenset({"log", "stream", "time"})
_ALSO = frozenset({"attrs"})
_SIZE_LIMIT = 4 * VALUE_LIMIT
"""Bytes that are unwrapped in memory; the objects of a larger log are read as those of any logger."""
_LINE_LIMIT = 1 << 18
"""Bytes of the first line: Docker cuts what a program writes into parts of 16 KiB."""
_CONTINUES = b" \t}]:\r\n"
"""So begins a line of a value over several lines, or of a stream: a time before it would stand within the value."""


def unwrapped(file: File) -> File:
    """The lines as the program wrote them, with Docker's time before each."""
    if len(file.data) > _SIZE_LIMIT or _wrapped(file.data[: file.data.find(b"\n", 0, _LINE_LIMIT) + 1]) is None:
        return file
    lines: list[bytes] = []
    parts_by_stream: dict[str, list[bytes]] = {}
    at = 0
    while at < len(file.data):
        end = file.data.find(b"\n", at) + 1 or len(file.data)
        line = file.data[at:end]
        at = end
        wrapped = _wrapped(line)
        if wrapped is None:
            lines.append(line)
            continue
        stream, time, text = wrapped
        parts = parts_by_stream.setdefault(stream, [])
        if not parts and text[:1] not in _CONTINUES:
            parts.append(time + b" ")
        parts.append(text)
        if text.endswith(b"\n"):
            lines += parts
            parts.clear()
    lines += (part for parts in parts_by_stream.values() for part in parts)
    return replace(file, data=b"".join(lines))


def _wrapped(line: bytes) -> tuple[str, bytes, bytes] | None:
    """The stream, the time and the text of one of Docker's objects; None for any other line."""
    if not line.startswith(b"{") or b'"log"' not in line:
        return None
    body = mapping(read_value(line, is_shallow=True))
    text, stream, time = (body.get(name) for name in ("log", "stream", "time"))
    if not _MEMBERS <= body.keys() <= _MEMBERS | _ALSO:
        return None
    if not isinstance(text, str) or not isinstance(stream, str) or not isinstance(time, str):
        return None
    return stream, time.encode("utf-8", "replace"), text.encode("utf-8", "surrogatepass")
