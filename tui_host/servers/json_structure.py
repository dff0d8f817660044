"""How much structure a piece of JSON has, counted before anything parses it. Source: threats.md, PRO-02 and PRO-06."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TypeGuard

from tui_host.errors import JSON

PARTS_LIMIT = 20_000
"""Brackets and commas outside strings that are parsed here: a parser holds everything else up for some 5 µs for each."""

RequestId = str | int

_QUOTES_PER_PART = 6
_HEAD = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*,')
_TAIL = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether something parsed from JSON is an object."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether something parsed from JSON is an array."""
    return isinstance(value, list)


def parts_of(data: bytes) -> int:
    """Brackets and commas outside strings, at least; exact up to the limit. 30 MB take 0.1 s at most."""
    if len(data) <= PARTS_LIMIT or sum(_occurrences(data, mark) for mark in (b"{", b"[", b",")) <= PARTS_LIMIT:
        return 0
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = plain.count(b'"')
    if quotes > PARTS_LIMIT * _QUOTES_PER_PART:
        return quotes // _QUOTES_PER_PART
    outside = b"".join(plain.split(b'"')[::2])
    return outside.count(b"{") + outside.count(b"[") + outside.count(b",")


def _occurrences(data: bytes, mark: bytes) -> int:
    """How often a byte is there, counted up to the limit: to search is ten times as fast as to count where it is rare."""
    found = 0
    at = data.find(mark)
    while at >= 0 and found <= PARTS_LIMIT:
        found += 1
        at = data.find(mark, at + 1)
    return found


def is_answer_to(data: bytes) -> RequestId | None:
    """The id of the request that a spoiled frame answers, as far as that can still be read; None if it is no answer."""
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
    """The key under which an id is looked up: as the SDK does, `"5"` is 5."""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return value
    return value


def _id_of(frame: JSON) -> RequestId | None:
    if not isinstance(frame, Mapping) or "method" in frame:
        return None
    found = frame.get("id")
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def as_json(value: object) -> JSON:
    """Something that an SDK parsed, as JSON again; numbers that JSON does not have become null."""
    if value is None or isinstance(value, str | int):
        return value
    if is_array(value):
        return [as_json(item) for item in value]
    if is_object(value):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, float):
        return value if isfinite(value) else None
    return str(value)
