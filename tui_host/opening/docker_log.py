"""What a program wrote, out of the objects in which Docker keeps it: one for each of its lines, or for a part of one that is long.

Source: Docker's documentation, JSON File logging driver.
"""

from __future__ import annotations

from dataclasses import replace

from tui_host.capture.json.narrowing import mapping
from tui_host.opening.drafts import MOST, File, read_value

_MEMBERS = frozenset({"log", "stream", "time"})
_ALSO = frozenset({"attrs"})
_HELD = 4 * MOST
"""Bytes that are held for it; of a larger log each object is read alone, as those of other loggers are."""
_GOES_ON = b" \t}]:\r\n"
"""So begins a line of a value that goes over several, or of a stream, where a time would stand within it."""


def unwrapped(file: File) -> File:
    """The file as the program wrote it, with the time of each line before it."""
    if len(file.data) > _HELD or _text_of(file.data[: file.data.find(b"\n") + 1 or len(file.data)]) is None:
        return file
    found: list[bytes] = []
    begun: dict[str, list[bytes]] = {}
    at = 0
    while at < len(file.data):
        end = file.data.find(b"\n", at) + 1 or len(file.data)
        line = file.data[at:end]
        at = end
        told = _text_of(line)
        if told is None:
            found.append(line)
            continue
        stream, time, text = told
        parts = begun.setdefault(stream, [])
        if not parts and text[:1] not in _GOES_ON:
            parts.append(time + b" ")
        parts.append(text)
        if text.endswith(b"\n"):
            found += parts
            parts.clear()
    found += (part for parts in begun.values() for part in parts)
    return replace(file, data=b"".join(found))


def _text_of(line: bytes) -> tuple[str, bytes, bytes] | None:
    """Of such an object where it was written, when, and what; None if it is none."""
    if not line.startswith(b"{") or b'"log"' not in line:
        return None
    body = mapping(read_value(line, is_shallow=True))
    text, stream, time = (body.get(name) for name in ("log", "stream", "time"))
    if not _MEMBERS <= body.keys() <= _MEMBERS | _ALSO:
        return None
    if not isinstance(text, str) or not isinstance(stream, str) or not isinstance(time, str):
        return None
    return stream, time.encode("utf-8", "replace"), text.encode("utf-8", "surrogatepass")
