"""Answers requests other than chats: lists of models, their abilities, token counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import text_at
from tui_host.demo.model.plan import estimate
from tui_host.demo.model.wires.anthropic_wire import ANTHROPIC
from tui_host.demo.model.wires.gemini_wire import GEMINI, PATH
from tui_host.demo.model.wires.ollama_wire import OLLAMA
from tui_host.demo.model.wires.openai_wire import OPENAI
from tui_host.demo.model.wires.responses_wire import RESPONSES
from tui_host.demo.model.wires.wire import Wire, body_of, unknown_model
from tui_host.errors import JSON

_CREATED = 1_735_689_600
_CREATED_TEXT = "2025-01-01T00:00:00Z"
_WINDOW = 262_144
_MOST_TOKENS = 65_536
_BY_VERSION = re.compile(r"/(v1|v1beta)/models(?:/([^/:]+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The answer to requests for a path outside the chat endpoints.

    Attributes:
        method: The HTTP method of the path.
        wire: The API whose form errors have.
        body: Makes the body of the answer. Raises `RequestRefused`.
    """

    method: str = "GET"
    wire: Wire
    body: Callable[[Request], JSON]


def listing(request: Request) -> Listing | None:
    """Return the answer to a request outside the chat endpoints; None if its path is unknown.

    Three vendors have `/v1/models`: the headers show whose client asks.
    """
    counted = PATH.fullmatch(unquote(request.path))
    if counted is not None and counted[2] == "countTokens":
        return Listing(method="POST", wire=GEMINI, body=lambda request: {"totalTokens": _tokens(request)})
    match = _BY_VERSION.fullmatch(request.path)
    if match is None:
        return _FIXED.get(request.path)
    name = match[2] or ""
    if match[1] == "v1beta" or "x-goog-api-key" in request.headers or "key" in parse_qs(request.query):
        return Listing(wire=GEMINI, body=lambda _: _model(name, _GEMINI, GEMINI, {"models": [_GEMINI]}))
    if "anthropic-version" in request.headers:
        page: JSON = {"data": [_ANTHROPIC], "has_more": False, "first_id": "anthropic", "last_id": "anthropic"}
        return Listing(wire=ANTHROPIC, body=lambda _: _model(name, _ANTHROPIC, ANTHROPIC, page))
    wire = RESPONSES if name == RESPONSES.model else OPENAI
    models: JSON = {"object": "list", "data": [_openai(OPENAI.model), _openai(RESPONSES.model)]}
    return Listing(wire=wire, body=lambda _: _model(name, _openai(wire.model), wire, models))


def _model(name: str, model: JSON, wire: Wire, models: JSON) -> JSON:
    """Return the model with a name, or all models for an empty name. Raises `RequestRefused`."""
    if name not in {"", wire.model}:
        raise unknown_model(name, wire.model)
    return model if name else models


def _tokens(request: Request) -> int:
    body_of(request)
    return estimate(request.body.decode("utf-8", "replace"))


def _openai(name: str) -> JSON:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "tui-host demo"}


_ANTHROPIC: JSON = {
    "type": "model",
    "id": ANTHROPIC.model,
    "display_name": "demo model (Messages)",
    "created_at": _CREATED_TEXT,
    "max_input_tokens": _WINDOW,
    "max_tokens": _MOST_TOKENS,
    "capabilities": {"image_input": {"supported": True}, "thinking": {"supported": True}},
}
_GEMINI: JSON = {
    "name": f"models/{GEMINI.model}",
    "version": "demo",
    "displayName": "demo model (generateContent)",
    "description": "Follows rules; it is no AI.",
    "inputTokenLimit": _WINDOW,
    "outputTokenLimit": _MOST_TOKENS,
    "supportedGenerationMethods": ["generateContent", "countTokens"],
    "thinking": True,
}
_DETAILS: JSON = {"parent_model": "", "format": "rules", "family": "demo", "families": ["demo"], "parameter_size": "0B"}


def _show(request: Request) -> JSON:
    body = body_of(request)
    name = text_at(body, "model") or text_at(body, "name")
    if name.removesuffix(":latest") != OLLAMA.model:
        raise unknown_model(name, OLLAMA.model)
    return {
        "modelfile": "# The demo model follows rules; it has no weights.",
        "details": _DETAILS,
        "model_info": {"general.architecture": "demo", "demo.context_length": _WINDOW},
        "capabilities": ["completion", "tools", "thinking", "vision"],
        "modified_at": _CREATED_TEXT,
    }


_OLLAMA: dict[str, JSON] = {
    "name": OLLAMA.model,
    "model": OLLAMA.model,
    "modified_at": _CREATED_TEXT,
    "size": 1_024,
    "digest": "0" * 64,
    "details": _DETAILS,
}
_RUNNING: JSON = {**_OLLAMA, "expires_at": "2318-01-01T00:00:00Z", "size_vram": 0, "context_length": _WINDOW}
_FIXED = {
    "/v1/messages/count_tokens": Listing(
        method="POST", wire=ANTHROPIC, body=lambda request: {"input_tokens": _tokens(request)}
    ),
    "/api/tags": Listing(wire=OLLAMA, body=lambda _: {"models": [_OLLAMA]}),
    "/api/ps": Listing(wire=OLLAMA, body=lambda _: {"models": [_RUNNING]}),
    "/api/version": Listing(wire=OLLAMA, body=lambda _: {"version": "0.12.0"}),
    "/api/show": Listing(method="POST", wire=OLLAMA, body=_show),
}
