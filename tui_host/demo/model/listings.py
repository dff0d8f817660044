"""Answers to requests beside chats: lists of models, their abilities, token counts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.json_values import text_at
from tui_host.demo.model.token_estimate import estimate
from tui_host.demo.model.wires import gemini_wire
from tui_host.demo.model.wires.anthropic_wire import AnthropicWire
from tui_host.demo.model.wires.gemini_wire import GeminiWire
from tui_host.demo.model.wires.ollama_wire import OllamaWire
from tui_host.demo.model.wires.openai_wire import OpenAIWire
from tui_host.demo.model.wires.responses_wire import ResponsesWire
from tui_host.demo.model.wires.wire import Wire, body_of, unknown_model
from tui_host.errors import JSON

_CREATED = 1_735_689_600
_CREATED_TEXT = "2025-01-01T00:00:00Z"
_WINDOW = 262_144
_MOST_TOKENS = 65_536
_BY_VERSION = re.compile(r"/(v1|v1beta)/models(?:/([^/:]+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The answer to requests for a path.

    Attributes:
        method: The method that the path takes.
        wire: The API in whose form errors are written.
        body: Makes the answer. Raises `RequestRefused`.
    """

    method: str
    wire: Wire
    body: Callable[[Request], JSON]


def listing(request: Request) -> Listing | None:
    """Find the answer to a request outside the chat endpoints. None if unknown.

    Three vendors have `/v1/models`: the headers tell whose client asks.
    """
    counted = gemini_wire.PATH.fullmatch(unquote(request.path))
    if counted is not None and counted[2] == "countTokens":
        return Listing(method="POST", wire=GeminiWire(), body=lambda asked: {"totalTokens": _tokens(asked)})
    match = _BY_VERSION.fullmatch(request.path)
    if match is None:
        return _FIXED.get(request.path)
    name = match[2] or ""
    if match[1] == "v1beta" or "x-goog-api-key" in request.headers or "key" in parse_qs(request.query):
        return Listing(method="GET", wire=GeminiWire(), body=lambda _: _gemini(name))
    if "anthropic-version" in request.headers:
        return Listing(method="GET", wire=AnthropicWire(), body=lambda _: _anthropic(name))
    return Listing(method="GET", wire=OpenAIWire(), body=lambda _: _openai(name))


def _tokens(request: Request) -> int:
    body_of(request)
    return estimate(request.body.decode("utf-8", "replace"))


def _openai(name: str) -> JSON:
    models: dict[str, JSON] = {
        model_name: {"id": model_name, "object": "model", "created": _CREATED, "owned_by": "tui-host demo"}
        for model_name in (OpenAIWire.model, ResponsesWire.model)
    }
    if name and name not in models:
        raise unknown_model(name, OpenAIWire.model)
    return models[name] if name else {"object": "list", "data": list(models.values())}


def _anthropic(name: str) -> JSON:
    model_name = AnthropicWire.model
    supported: JSON = {"supported": True}
    model: JSON = {
        "type": "model",
        "id": model_name,
        "display_name": "demo model (Messages)",
        "created_at": _CREATED_TEXT,
        "lifecycle": "active",
        "max_input_tokens": _WINDOW,
        "max_tokens": _MOST_TOKENS,
        "capabilities": {"image_input": supported, "thinking": supported},
    }
    if name and name != model_name:
        raise unknown_model(name, model_name)
    return model if name else {"data": [model], "has_more": False, "first_id": model_name, "last_id": model_name}


def _gemini(name: str) -> JSON:
    model_name = GeminiWire.model
    model: JSON = {
        "name": f"models/{model_name}",
        "version": "demo",
        "displayName": "demo model (generateContent)",
        "description": "Follows rules; it is no AI.",
        "inputTokenLimit": _WINDOW,
        "outputTokenLimit": _MOST_TOKENS,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
        "temperature": 1,
        "topP": 0.95,
        "topK": 64,
        "thinking": True,
    }
    if name and name != model_name:
        raise unknown_model(name, model_name)
    return model if name else {"models": [model]}


_DETAILS: dict[str, JSON] = {
    "parent_model": "",
    "format": "rules",
    "family": "demo",
    "families": ["demo"],
    "parameter_size": "0B",
    "quantization_level": "none",
}


def _ollama(**more: JSON) -> JSON:
    model_name = OllamaWire.model
    digest = hashlib.sha256(model_name.encode()).hexdigest()
    head: dict[str, JSON] = {
        "name": model_name,
        "model": model_name,
        "size": 1_024,
        "digest": digest,
        "details": _DETAILS,
    }
    return {"models": [{**head, **more}]}


def _show(request: Request) -> JSON:
    body = body_of(request)
    name = text_at(body, "model") or text_at(body, "name")
    if name.removesuffix(":latest") != OllamaWire.model:
        raise unknown_model(name, OllamaWire.model)
    return {
        "modelfile": "# The demo model follows rules; it has no weights.",
        "parameters": "",
        "template": "{{ .Prompt }}",
        "details": _DETAILS,
        "model_info": {"general.architecture": "demo", "demo.context_length": _WINDOW},
        "capabilities": ["completion", "tools", "thinking", "vision"],
        "modified_at": _CREATED_TEXT,
    }


_RUNNING: dict[str, JSON] = {"expires_at": "2318-01-01T00:00:00Z", "size_vram": 0, "context_length": _WINDOW}
_FIXED = {
    "/v1/messages/count_tokens": Listing(
        method="POST", wire=AnthropicWire(), body=lambda asked: {"input_tokens": _tokens(asked)}
    ),
    "/api/tags": Listing(method="GET", wire=OllamaWire(), body=lambda _: _ollama(modified_at=_CREATED_TEXT)),
    "/api/ps": Listing(method="GET", wire=OllamaWire(), body=lambda _: _ollama(**_RUNNING)),
    "/api/version": Listing(method="GET", wire=OllamaWire(), body=lambda _: {"version": "0.12.0"}),
    "/api/show": Listing(method="POST", wire=OllamaWire(), body=_show),
}
