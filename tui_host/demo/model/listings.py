"""What clients ask before they ask for an answer: which models there are, what a model can do, how long a request is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.wires import anthropic, anthropic_request, gemini, gemini_request, ollama, openai, responses
from tui_host.demo.model.wires.wire import RequestRefused, Wire
from tui_host.demo.model.wires.wire_reading import parse
from tui_host.demo.model.wires.wire_writing import line
from tui_host.errors import JSON

_CREATED = 1_735_689_600
_CREATED_TEXT = "2025-01-01T00:00:00Z"
_WINDOW = 262_144
_MOST_TOKENS = 65_536
_VERSION = "0.12.0"
_BY_VERSION = re.compile(r"/(v1|v1beta)/models(?:/([^/:]+))?")
_SIZE = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """How one path is answered.

    Attributes:
        method: The method that it takes.
        wire: In whose form errors come.
        body: The answer. Raises `RequestRefused`.
    """

    method: str
    wire: Wire
    body: Callable[[Request], bytes]


def listing(request: Request) -> Listing | None:
    """What answers a request that is for no answer of the model; None if nothing does.

    Three vendors have `/v1/models`: whose client asks is told by its headers.
    """
    counted = gemini_request.PATH.fullmatch(unquote(request.path))
    if counted is not None and counted[2] == "countTokens":
        return Listing(method="POST", wire=gemini.GeminiWire(), body=_gemini_tokens)
    found = _BY_VERSION.fullmatch(request.path)
    if found is None:
        return _FIXED.get(request.path)
    name = found[2] or ""
    if found[1] == "v1beta" or "x-goog-api-key" in request.headers or "key" in parse_qs(request.query):
        return Listing(method="GET", wire=gemini.GeminiWire(), body=lambda _: _gemini(name))
    if "anthropic-version" in request.headers:
        return Listing(method="GET", wire=anthropic.AnthropicWire(), body=lambda _: _anthropic(name))
    return Listing(method="GET", wire=openai.OpenAIWire(), body=lambda _: _openai(name))


def _openai(name: str) -> bytes:
    models: dict[str, JSON] = {
        known: {"id": known, "object": "model", "created": _CREATED, "owned_by": "tui-host demo"}
        for known in (openai.MODEL, responses.MODEL)
    }
    if not name:
        return line({"object": "list", "data": list(models.values())})
    if name not in models:
        raise openai.unknown_model(name, openai.MODEL)
    return line(models[name])


def _anthropic(name: str) -> bytes:
    supported: JSON = {"supported": True}
    model: JSON = {
        "type": "model",
        "id": anthropic.MODEL,
        "display_name": "demo model (Messages)",
        "created_at": _CREATED_TEXT,
        "lifecycle": "active",
        "max_input_tokens": _WINDOW,
        "max_tokens": _MOST_TOKENS,
        "capabilities": {"image_input": supported, "thinking": supported},
    }
    if not name:
        data: dict[str, JSON] = {"data": [model], "has_more": False}
        return line({**data, "first_id": anthropic.MODEL, "last_id": anthropic.MODEL})
    if name != anthropic.MODEL:
        raise RequestRefused(status=404, message=f"model: {name[:100]}")
    return line(model)


def _gemini(name: str) -> bytes:
    model: JSON = {
        "name": f"models/{gemini.MODEL}",
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
    if not name:
        return line({"models": [model]})
    if name != gemini.MODEL:
        raise gemini.unknown_model(name)
    return line(model)


def _anthropic_tokens(request: Request) -> bytes:
    return line({"input_tokens": anthropic_request.count_tokens(request)})


def _gemini_tokens(request: Request) -> bytes:
    return line({"totalTokens": gemini_request.count_tokens(request)})


def _details() -> dict[str, JSON]:
    return {
        "parent_model": "",
        "format": "rules",
        "family": "demo",
        "families": ["demo"],
        "parameter_size": "0B",
        "quantization_level": "none",
    }


def _loaded() -> dict[str, JSON]:
    digest = hashlib.sha256(ollama.MODEL.encode()).hexdigest()
    head: dict[str, JSON] = {"name": ollama.MODEL, "model": ollama.MODEL, "size": _SIZE, "digest": digest}
    return {**head, "details": _details()}


def _tags(request: Request) -> bytes:
    del request
    return line({"models": [{**_loaded(), "modified_at": _CREATED_TEXT}]})


def _running(request: Request) -> bytes:
    del request
    more: dict[str, JSON] = {"expires_at": "2318-01-01T00:00:00Z", "size_vram": 0, "context_length": _WINDOW}
    return line({"models": [{**_loaded(), **more}]})


def _version(request: Request) -> bytes:
    del request
    return line({"version": _VERSION})


def _show(request: Request) -> bytes:
    asked = parse(request.body, not_json="{}")
    name = asked.get("model") or asked.get("name")
    if not isinstance(name, str):
        raise RequestRefused(status=400, message="model is required")
    if name.removesuffix(":latest") != ollama.MODEL:
        raise RequestRefused(status=404, message=f"model '{name[:100]}' not found")
    return line(
        {
            "modelfile": "# The demo model follows rules; it has no weights.",
            "parameters": "",
            "template": "{{ .Prompt }}",
            "details": _details(),
            "model_info": {"general.architecture": "demo", "demo.context_length": _WINDOW},
            "capabilities": ["completion", "tools", "thinking", "vision"],
            "modified_at": _CREATED_TEXT,
        }
    )


_FIXED = {
    "/v1/messages/count_tokens": Listing(method="POST", wire=anthropic.AnthropicWire(), body=_anthropic_tokens),
    "/api/tags": Listing(method="GET", wire=ollama.OllamaWire(), body=_tags),
    "/api/ps": Listing(method="GET", wire=ollama.OllamaWire(), body=_running),
    "/api/version": Listing(method="GET", wire=ollama.OllamaWire(), body=_version),
    "/api/show": Listing(method="POST", wire=ollama.OllamaWire(), body=_show),
}
