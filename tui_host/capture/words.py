"""What a frame says, in the one line of a row. Foreign text, as it came."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from tui_host.errors import JSON

WORDS = 200
"""Characters that a row's words have at most."""
_LISTS = {
    "tools": "tools",
    "resources": "resources",
    "resourceTemplates": "resource templates",
    "prompts": "prompts",
}


def words_of_request(method: str, params: Mapping[str, JSON]) -> str:
    """What a request or notification is about: the tool and its arguments, how far something is, what is logged."""
    match method:
        case "tools/call":
            return f"{said(params.get('name'))} {short(params.get('arguments', {}))}"
        case "notifications/progress":
            total = f"/{said(params['total'])}" if "total" in params else ""
            return f"{said(params.get('progress'))}{total} {said(params.get('message'))}".strip()
        case "notifications/message":
            return f"{said(params.get('level'))}: {said(params.get('data'))}"
        case "notifications/cancelled":
            return said(params.get("reason"))
        case _:
            shown = {key: item for key, item in params.items() if key != "_meta"}
            return short(shown) if shown else ""


def words_of_result(result: Mapping[str, JSON]) -> str:
    """What a result says first, or how many things it lists."""
    for block in items(result.get("content"))[:1]:
        text = mapping(block).get("text")
        return said(text if isinstance(text, str) else mapping(block).get("type"))
    for held in items(result.get("contents"))[:1]:
        resource = mapping(held)
        text = resource.get("text")
        return said(text if isinstance(text, str) else resource.get("mimeType") or resource.get("uri"))
    for key, name in _LISTS.items():
        if key in result:
            more = ", and more" if result.get("nextCursor") is not None else ""
            count = len(items(result[key]))
            return f"{count} {name.removesuffix('s') if count == 1 else name}{more}"
    if "capabilities" in result:
        return _introduction(result)
    return short({key: item for key, item in result.items() if key != "_meta"}) if result else ""


def _introduction(result: Mapping[str, JSON]) -> str:
    """A server by name, its protocol versions and what it offers: `initialize`, or `server/discover` (2026-07-28)."""
    server = introduced(result, "serverInfo")
    versions = items(result.get("supportedVersions")) or [result.get("protocolVersion")]
    name = f"{said(server.get('name'))} {said(server.get('version'))}"
    offers = ", ".join(mapping(result["capabilities"]))
    return " · ".join(words for words in (name.strip(), ", ".join(map(said, versions)), offers) if words)


def introduced(said_of: Mapping[str, JSON], name: Literal["clientInfo", "serverInfo"]) -> Mapping[str, JSON]:
    """What a program says of itself in the `params` or the `result` of a frame: as in `initialize`, else as since 2026-07-28 in `_meta`."""
    return mapping(said_of.get(name) or mapping(said_of.get("_meta")).get(f"io.modelcontextprotocol/{name}"))


def words_of_error(error: JSON) -> str:
    """Code and message of an error, or all of one that has neither."""
    known = mapping(error)
    return f"{said(known.get('code'))} {said(known.get('message'))}".strip() or said(error)


def said(value: JSON) -> str:
    """A text without its quotes, anything else as short JSON, nothing for null."""
    if isinstance(value, str):
        return _cut(value, WORDS)
    return "" if value is None else short(value)


def short(value: JSON, limit: int = WORDS) -> str:
    """JSON in one line, cut after `limit` characters; costs no more than that for a large value."""
    pieces: list[str] = []
    room = limit + 1
    for piece in _pieces(value, limit):
        pieces.append(piece)
        room -= len(piece)
        if room <= 0:
            break
    return _cut("".join(pieces), limit)


def mapping(value: JSON) -> Mapping[str, JSON]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, (dict, Mapping)) else {}  # a class is looked at faster than what is like one


def items(value: JSON) -> Sequence[JSON]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def clean(text: str) -> str:
    """At most `WORDS` characters, none of which a database would refuse."""
    if len(text) <= WORDS and text.isascii():
        return text
    return _cut(text, WORDS).encode("utf-8", "backslashreplace").decode()


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _pieces(value: JSON, limit: int) -> Iterator[str]:
    if isinstance(value, str):
        yield json.dumps(value[: limit + 1], ensure_ascii=False)
    elif isinstance(value, Mapping):
        yield "{"
        for number, (key, item) in enumerate(value.items()):
            yield f"{',' if number else ''}{json.dumps(key[: limit + 1], ensure_ascii=False)}:"
            yield from _pieces(item, limit)
        yield "}"
    elif isinstance(value, Sequence):
        yield "["
        for number, item in enumerate(value):
            if number:
                yield ","
            yield from _pieces(item, limit)
        yield "]"
    else:
        yield json.dumps(value)
