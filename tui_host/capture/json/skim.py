"""Reads the beginning and the end of an object that is too large or too broken to be parsed."""

from __future__ import annotations

import json
import re

from tui_host.errors import JSON

_SKIMMED = 64 << 10
_DEPTH = 200
_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TOKEN = re.compile(
    rb'\s*(?:(?P<key>%s)\s*:|(?P<open>[{\[])|(?P<close>[}\]])|,|(?P<scalar>%s|[^\s{}\[\],:"]++)(?=\s*[,}\]]))'
    % (_TEXT, _TEXT),
    re.DOTALL,
)
_TAIL = re.compile(rb'((?:,\s*"(?:id|jsonrpc|method)"\s*:\s*(?:"[^"\\]{0,200}"|-?\d{1,40}|null)\s*)*)\}\s*$')
_TAIL_MEMBER = re.compile(rb'"(id|method)"\s*:\s*("[^"]*"|-?\d+|null)')
_TAIL_ERROR = re.compile(rb'"isError"\s*:\s*true\s*\}\s*$')


def skim(data: bytes) -> dict[str, JSON]:
    """Return what stands near the beginning and at the end of an object, as far as it can be read there.

    Takes the same time for any length. Of members with the same name, the first counts.
    """
    outermost: list[JSON] = []
    inside: list[dict[str, JSON] | list[JSON]] = [outermost]
    key, position = "", 0
    while len(inside) <= _DEPTH and (match := _TOKEN.match(data, position, _SKIMMED)) is not None:
        position = match.end()
        match match.lastgroup:
            case "key":
                key = str(_scalar(match["key"], ""))
            case "open":
                inner: dict[str, JSON] | list[JSON] = {} if match["open"] == b"{" else []
                _put(inside[-1], key, inner)
                inside.append(inner)
            case "scalar":
                _put(inside[-1], key, _scalar(match["scalar"], None))
            case "close" if len(inside) > 1:
                inside.pop()
            case _:
                pass  # a comma
    members = outermost[0] if outermost and isinstance(outermost[0], dict) else {}
    _add_tail(data[-1024:].rstrip(), members)
    return members


def _put(inside: dict[str, JSON] | list[JSON], key: str, value: JSON) -> None:
    if isinstance(inside, list):
        inside.append(value)
    else:
        inside.setdefault(key, value)


def _scalar(token: bytes, instead: JSON) -> JSON:
    try:
        value: JSON = json.loads(token)
    except ValueError:
        value = instead
    return value


def _add_tail(tail: bytes, members: dict[str, JSON]) -> None:
    """Add what the end tells: in most large answers the id comes last, and `isError` after the content."""
    match = _TAIL.search(tail)
    if match is None:
        return
    for member in _TAIL_MEMBER.finditer(match[1]):
        members.setdefault(member[1].decode(), _scalar(member[2], None))
    result = members.get("result")
    if isinstance(result, dict) and _TAIL_ERROR.search(tail[: match.start()]):
        result.setdefault("isError", True)
