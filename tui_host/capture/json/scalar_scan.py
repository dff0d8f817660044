"""The scalars at the beginning and the end of JSON that is too large, or too broken, to be parsed."""

from __future__ import annotations

import re
from typing import TypeAlias

Path: TypeAlias = tuple[bytes, ...]
"""Keys from the outside in; an array's place in it is one empty key, and so is the outermost value."""

_SKIMMED = 64 << 10
_DEPTH = 200
_KEPT_DEPTH = 6

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)
_TAIL = re.compile(rb'((?:,\s*"(?:id|jsonrpc|method)"\s*:\s*(?:"[^"\\]{0,200}"|-?\d{1,40}|null)\s*)*)\}\s*$')
_TAIL_MEMBER = re.compile(rb'"(id|method)"\s*:\s*("[^"]*"|-?\d+|null)')
_TAIL_ERROR = re.compile(rb'"isError"\s*:\s*true\s*\}\s*$')


def skim(data: bytes) -> dict[Path, bytes]:
    """The scalars near the beginning, and those that stand behind everything else, by their path; a container is its bracket.

    Takes the same time for any length. The first member of a name counts.
    """
    found: dict[Path, bytes] = {}
    path: list[bytes] = []
    key = value = b""
    end = 0
    for match in _TOKEN.finditer(data, 0, _SKIMMED):
        token = match.group()
        if data[end : match.start()].strip():
            break  # a text that has no end within what is read
        end = match.end()
        if token in b"{[":
            if len(path) < _KEPT_DEPTH:
                found.setdefault((*path, key), token)
            path.append(key)
            key = value = b""
            if len(path) > _DEPTH:
                break
        elif token == b":":
            key, value = value[1:-1], b""
        elif token in b",}]":
            if value and len(path) < _KEPT_DEPTH:
                found.setdefault((*path, key), value)
            key = value = b""
            if token != b"," and path:
                path.pop()
        else:
            value = token
    _skim_tail(data, found)
    return found


def _skim_tail(data: bytes, found: dict[Path, bytes]) -> None:
    tail = data[-1024:].rstrip()
    match = _TAIL.search(tail)
    if match is None:
        return
    for member in _TAIL_MEMBER.finditer(match.group(1)):
        found.setdefault((b"", member.group(1)), member.group(2))
    if _TAIL_ERROR.search(tail[: match.start()]):
        found.setdefault((b"", b"result", b"isError"), b"true")
