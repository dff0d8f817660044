"""Examines JSON that is too large or too broken to parse: finds first and last members, and estimates a parser's work."""

from __future__ import annotations

import json
import re
from typing import AnyStr, Final

from tui_host.errors import JSON

PARTS_LIMIT = 20_000
"""Number of brackets and commas up to which JSON is parsed on the event loop: each takes a parser some 5 µs."""
_QUOTES_PER_PART = 6

_SKIMMED = 64 << 10
_DEPTH = 200
_NOTHING: Final = "\0no value"  # which no JSON text contains

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)
_TAIL = re.compile(rb'((?:,\s*"(?:id|jsonrpc|method)"\s*:\s*(?:"[^"\\]{0,200}"|-?\d{1,40}|null)\s*)*)\}\s*$')
_TAIL_MEMBER = re.compile(rb'"(id|method)"\s*:\s*("[^"]*"|-?\d+|null)')
_TAIL_ERROR = re.compile(rb'"isError"\s*:\s*true\s*\}\s*$')


def skim(data: bytes) -> dict[str, JSON]:
    """Return what stands near the beginning and at the end of an object, as far as it can be read there.

    Takes the same time for any length. Of members with the same name, the first counts.
    """
    outermost: list[JSON] = []
    open_: list[dict[str, JSON] | list[JSON]] = [outermost]
    keys = [""]
    value: JSON = _NOTHING
    end = 0
    for match in _TOKEN.finditer(data, 0, _SKIMMED):
        token = match.group()
        if data[end : match.start()].strip():
            break  # the text does not end within the bytes read
        end = match.end()
        if token in b"{[":
            inner: dict[str, JSON] | list[JSON] = {} if token == b"{" else []
            _put(open_[-1], keys[-1], inner)
            open_.append(inner)
            keys.append("")
            value = _NOTHING
            if len(open_) > _DEPTH:
                break
        elif token == b":":
            keys[-1], value = value if isinstance(value, str) else "", _NOTHING
        elif token in b",}]":
            if value is not _NOTHING:
                _put(open_[-1], keys[-1], value)
            value = _NOTHING
            if token != b"," and len(open_) > 1:
                open_.pop()
                keys.pop()
        else:
            value = _scalar(token)
    found = outermost[0] if outermost else None
    members = found if isinstance(found, dict) else {}
    _skim_tail(data, members)
    return members


def _put(inside: dict[str, JSON] | list[JSON], key: str, value: JSON) -> None:
    if isinstance(inside, list):
        inside.append(value)
    else:
        inside.setdefault(key, value)


def _scalar(token: bytes) -> JSON:
    try:
        value: JSON = json.loads(token)
    except ValueError:
        value = _NOTHING
    return value


def _skim_tail(data: bytes, members: dict[str, JSON]) -> None:
    # In most large answers the id comes last.
    tail = data[-1024:].rstrip()
    match = _TAIL.search(tail)
    if match is None:
        return
    for member in _TAIL_MEMBER.finditer(match.group(1)):
        members.setdefault(member.group(1).decode(), _scalar(member.group(2)))
    result = members.get("result")
    if isinstance(result, dict) and _TAIL_ERROR.search(tail[: match.start()]):
        result.setdefault("isError", True)


def parts_of(data: bytes) -> int:
    """Count brackets and commas outside strings: exactly up to `PARTS_LIMIT`, then at least it. 30 MB take 0.1 s."""
    if sum(occurrences(data, mark, PARTS_LIMIT) for mark in (b"{", b"[", b",")) <= PARTS_LIMIT:
        return 0
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = plain.count(b'"')
    if quotes > PARTS_LIMIT * _QUOTES_PER_PART:
        return quotes // _QUOTES_PER_PART
    outside = b"".join(plain.split(b'"')[::2])
    return outside.count(b"{") + outside.count(b"[") + outside.count(b",")


def occurrences(text: AnyStr, mark: AnyStr, most: int) -> int:
    """Count a character, or a byte, hardly beyond a limit; searching is ten times as fast as `count` where it is rare."""
    count = 0
    at = text.find(mark)
    while at >= 0 and count <= most:
        count += 1
        at = text.find(mark, at + 1)
    return count
