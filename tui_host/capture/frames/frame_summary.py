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


def words_of_request(method: str, params: Mapping[str, JSON]) -> str:
    """Summarise a request or notification: the tool and arguments, the progress, or the logged text."""
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


INPUT_REQUIRED = "input required: "
"""Begins the words of a result by which a server of 2026-07-28 asks for something."""


def words_of_result(result: Mapping[str, JSON]) -> str:
    """Return the first text of a result, the number of listed things, or what the server asks for first."""
    if result.get("resultType") == "input_required":
        requests = [mapping(request) for request in mapping(result.get("inputRequests")).values()]
        sentences = [
            f"{said(request.get('method'))} {said(mapping(request.get('params')).get('message'))}".strip()
            for request in requests
        ]
        return INPUT_REQUIRED + ("; ".join(sentences) or "to be sent again")
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
    """Summarise a server's introduction by name, protocol versions and capabilities: `initialize` or `server/discover`."""
    server = introduced(result, "serverInfo")
    versions = items(result.get("supportedVersions")) or [result.get("protocolVersion")]
    name = f"{said(server.get('name'))} {said(server.get('version'))}"
    offers = ", ".join(mapping(result["capabilities"]))
    return " · ".join(words for words in (name.strip(), ", ".join(map(said, versions)), offers) if words)


def introduced(said_of: Mapping[str, JSON], name: Literal["clientInfo", "serverInfo"]) -> Mapping[str, JSON]:
    """Return how a program introduces itself: in `params` or `result`, as in `initialize`, or in `_meta` (2026-07-28)."""
    return mapping(said_of.get(name) or mapping(said_of.get("_meta")).get(f"io.modelcontextprotocol/{name}"))


def words_of_error(error: JSON) -> str:
    """Return code and message of an error; the whole error if it lacks both."""
    members = mapping(error)
    return f"{said(members.get('code'))} {said(members.get('message'))}".strip() or said(error)
