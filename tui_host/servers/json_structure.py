"""Limits on the structure of JSON from servers, counted before a parser sees it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TypeGuard

from tui_host.errors import JSON

PARTS_LIMIT = 20_000
"""Most brackets and commas outside strings: a parser blocks the loop for about 5 µs each."""

RequestId = str | int

_QUOTES_PER_PART = 6
_HEAD = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*,')
_TAIL = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether a parsed value is an object."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether a parsed value is an array."""
    return isinstance(value, list)


def parts_of(data: bytes) -> int:
    """Count brackets and commas outside strings; a lower bound, exact up to the limit. 30 MB take 0.1 s at most."""
    if len(data) <= PARTS_LIMIT or sum(_occurrences(data, mark) for mark in (b"{", b"[", b",")) <= PARTS_LIMIT:
        return 0
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = plain.count(b'"')
    if quotes > PARTS_LIMIT * _QUOTES_PER_PART:
        return quotes // _QUOTES_PER_PART
    outside = b"".join(plain.split(b'"')[::2])
    return outside.count(b"{") + outside.count(b"[") + outside.count(b",")


def _occurrences(data: bytes, mark: bytes) -> int:
    """Count a byte, up to the limit: where the byte is rare, searching is ten times as fast as counting."""
    count = 0
    at = data.find(mark)
    while at >= 0 and count <= PARTS_LIMIT:
        count += 1
        at = data.find(mark, at + 1)
    return count


def is_answer_to(data: bytes) -> RequestId | None:
    """Return the request id of a malformed answer as far as readable, None if the frame is no answer."""
    if len(data) <= 4 << 20 and parts_of(data) <= PARTS_LIMIT:
        try:
            frame: JSON = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            pass
        else:
            if isinstance(frame, Sequence) and not isinstance(frame, str) and len(frame) == 1:
                frame = frame[0]
            return _id_of(frame)
    if b'"method"' in data[:400]:
        return None
    match = _HEAD.match(data[:1000]) or _TAIL.search(data[-1000:])
    return None if match is None else _id_of({"id": json.loads(match[1])})


def same_id(value: RequestId) -> RequestId:
    """Normalise an id as the SDK does: `"5"` equals 5."""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return value
    return value


def _id_of(frame: JSON) -> RequestId | None:
    if not isinstance(frame, Mapping) or "method" in frame:
        return None
    request_id = frame.get("id")
    return request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None


def as_json(value: object) -> JSON:
    """Convert a value parsed by the SDK back to JSON; numbers without a JSON form become null."""
    if value is None or isinstance(value, str | int):
        return value
    if is_array(value):
        return [as_json(item) for item in value]
    if is_object(value):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, float):
        return value if isfinite(value) else None
    return str(value)
