"""Summarises frames in one line for a row. Summaries contain foreign text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tui_host.capture.json.narrowing import items, mapping, said, short
from tui_host.errors import JSON

_LISTS = {
    "tools": "tools",
    "resources": "resources",
    "resourceTemplates": "resource templates",
    "prompts": "prompts",
}
INPUT_REQUIRED = "input required: "
"""Begins the words of a result by which a server of 2026-07-28 asks for something."""


def words_of_message(message: Mapping[str, JSON]) -> str:
    """Summarise a request, a notification or an answer."""
    method, params = message.get("method"), mapping(message.get("params"))
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
        case str():
            return _short(params)
        case _ if "error" in message:
            error = mapping(message["error"])
            return f"{said(error.get('code'))} {said(error.get('message'))}".strip() or said(message["error"])
        case _:
            return _words_of_result(mapping(message.get("result")))


def _words_of_result(result: Mapping[str, JSON]) -> str:
    """Return the first text of a result, the number of listed things, or what the server asks for first."""
    if result.get("resultType") == "input_required":
        requests = map(mapping, mapping(result.get("inputRequests")).values())
        asked = ((said(ask.get("method")), said(mapping(ask.get("params")).get("message"))) for ask in requests)
        return INPUT_REQUIRED + ("; ".join(" ".join(words).strip() for words in asked) or "to be sent again")
    for block in map(mapping, (*items(result.get("content"))[:1], *items(result.get("contents"))[:1])):
        text = block.get("text")
        return said(text if isinstance(text, str) else block.get("type") or block.get("mimeType") or block.get("uri"))
    for key, name in _LISTS.items():
        if key in result:
            more = ", and more" if result.get("nextCursor") is not None else ""
            count = len(items(result[key]))
            return f"{count} {name.removesuffix('s') if count == 1 else name}{more}"
    if "capabilities" not in result:
        return _short(result)
    server = introduced(result, "serverInfo")
    versions = items(result.get("supportedVersions")) or [result.get("protocolVersion")]
    name = f"{said(server.get('name'))} {said(server.get('version'))}"
    offers = ", ".join(mapping(result["capabilities"]))
    return " · ".join(words for words in (name.strip(), ", ".join(map(said, versions)), offers) if words)


def _short(members: Mapping[str, JSON]) -> str:
    return short({key: item for key, item in members.items() if key != "_meta"}) if members else ""


def introduced(message: Mapping[str, JSON], name: Literal["clientInfo", "serverInfo"]) -> Mapping[str, JSON]:
    """Return how a program introduces itself: in `params` or `result`, as in `initialize`, or in `_meta` (2026-07-28)."""
    return mapping(message.get(name) or mapping(message.get("_meta")).get(f"io.modelcontextprotocol/{name}"))
