"""Requests for the wires of the demo model, without sockets, and what they write."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.plan import Plan, pieces, stopped
from tui_host.demo.model.protocols.respond import respond
from tui_host.demo.model.wires.wire import ChatRequest, RequestRefused, Wire
from tui_host.errors import JSON

PATHS = {
    "openai": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/gemini:generateContent",
    "ollama": "/api/chat",
}


def question(name: str, text: str) -> dict[str, JSON]:
    """The members of a request in a dialect that ask a question."""
    if name == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    asked: dict[str, JSON] = {"model": name, "max_tokens": 9_000} if name == "anthropic" else {"model": name}
    return {**asked, "input" if name == "openai-responses" else "messages": [{"role": "user", "content": text}]}


LONG: dict[str, dict[str, JSON]] = {
    name: {**question(name, "write 500 words"), **limit}
    for name, limit in {
        "openai": {"max_tokens": 16},
        "openai-responses": {"max_output_tokens": 16},
        "anthropic": {"max_tokens": 16},
        "gemini": {"generationConfig": {"maxOutputTokens": 16}},
        "ollama": {"options": {"num_predict": 16}},
    }.items()
}
"""A question for a long answer, with a limit of tokens."""


def request(
    path: str, body: dict[str, JSON] | bytes, *, query: str = "", headers: dict[str, str] | None = None
) -> Request:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request(method="POST", path=path, query=query, headers=headers or {}, body=data)


def error_of(wire: Wire, refused: RequestRefused) -> dict[str, JSON]:
    """The error in the body that a wire writes."""
    error = object_of(wire.error(refused, "x"))["error"]
    return {"message": error} if isinstance(error, str) else object_of(error)


def planned(chat: ChatRequest) -> Plan:
    return stopped(respond(chat.conversation), chat.stops)


def streamed(wire: Wire, chat: ChatRequest, plan: Plan | None = None) -> bytes:
    """The whole stream of an answer."""
    said, ended = pieces(plan or planned(chat), chat.most_tokens)
    writer = wire.writer(chat, "id01", 1)
    return b"".join((writer.begin(), *(writer.piece(piece) for piece in said), writer.end(ended)))


def whole(wire: Wire, chat: ChatRequest, plan: Plan | None = None) -> dict[str, JSON]:
    """The same as one body."""
    said, ended = pieces(plan or planned(chat), chat.most_tokens)
    return object_of(wire.writer(chat, "id01", 1).whole(said, ended))


def object_of(value: JSON) -> dict[str, JSON]:
    assert isinstance(value, dict)
    return value


def objects(value: JSON) -> list[dict[str, JSON]]:
    assert isinstance(value, Sequence)
    assert not isinstance(value, str)
    return [object_of(item) for item in value]


def schema(*names: str, kind: str = "number") -> dict[str, JSON]:
    return {"type": "object", "properties": {name: {"type": kind} for name in names}, "required": list(names)}
