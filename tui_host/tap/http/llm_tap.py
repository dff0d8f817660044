"""`tap llm`: a relay in front of a model's API, and where hosts want its address."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_host.settings.presets import service_at
from tui_host.tap.http.upstream import Upstream

_CLINE = "API Provider «OpenAI Compatible», Base URL: {url}   (cline auth -p openai -k KEY -m MODEL -b {url})"
_COMPATIBLE = "«OpenAI Compatible» in Cline, Continue, opencode, Open WebUI; Qwen Code, SDKs"
_CHERRY = "Settings > Model Provider > the one that you use, API Host: {root}"
_ADMIN = "Admin Panel > Settings > Connections"
_CODEX = (
    'codex -c model_provider=tap -c \'model_providers.tap={{name="tap",base_url="{url}",env_key="OPENAI_API_KEY"}}\''
)
# Where only the variable is set, Gemini CLI chooses a login and then refuses it.
_GEMINI = 'beside that "security": {{"auth": {{"selectedType": "gemini-api-key"}}}} in its settings.json'
_DOCKER = (
    "the same with host.docker.internal for 127.0.0.1; start the tap with --allow-host host.docker.internal"
    " (on Linux only a container with --network host reaches the tap, at 127.0.0.1)"
)
# For upstreams of which dialects ("any" where that is unknown): a host, and where it takes the tap's address.
_HINTS = (
    ("openai", "Cline", _CLINE),
    ("anthropic gemini ollama", "Cline", "API Provider of the upstream's name, Use custom base URL: {root}"),
    ("any", _COMPATIBLE, "OPENAI_BASE_URL={root}/v1"),
    ("openai", "Cherry Studio", "Settings > Model Provider > Add (type OpenAI), API Host: {url}/"),
    ("anthropic gemini ollama any", "Cherry Studio", _CHERRY),
    ("openai", "Continue", "config.yaml, of the model: provider: openai, apiBase: {url}"),
    ("anthropic", "Continue", "config.yaml, of the model: provider: anthropic, apiBase: {root}/v1/"),
    ("ollama", "Continue", "config.yaml, of the model: provider: ollama, apiBase: {root}"),
    ("openai", "Open WebUI", _ADMIN + " > OpenAI API: {url}   (before its first start: OPENAI_API_BASE_URL={url})"),
    ("ollama", "Open WebUI", _ADMIN + " > Ollama API: {root}   (before its first start: OLLAMA_BASE_URL={root})"),
    ("openai", "opencode", "opencode.json, options of the provider: baseURL: {url}"),
    ("openai", "aider", "OPENAI_API_BASE={url}"),
    ("openai", "Qwen Code, SDKs", "OPENAI_BASE_URL={url}"),
    ("openai", "Codex, where the upstream takes Responses", _CODEX),
    ("anthropic any", "Claude Code, Anthropic's SDKs", "ANTHROPIC_BASE_URL={root}"),
    ("gemini any", "Gemini CLI, Google's SDK", "GOOGLE_GEMINI_BASE_URL={root}"),
    ("gemini any", "Gemini CLI, where no login was chosen on its screen", _GEMINI),
    ("ollama any", "ollama, its SDK, «Ollama» in hosts", "OLLAMA_HOST={root}"),
    ("openai ollama any", "Open WebUI in Docker Desktop", _DOCKER),
)
# Endpoints that follow a base URL; many manuals include them in the URL.
_ENDPOINT = re.compile(
    r"/(?:(?:chat/)?completions|responses|messages|embeddings|models(?:/.*)?|api/(?:chat|generate|tags))/?$"
)


def base_url(upstream: Upstream, own: str) -> str:
    """Return the base URL to configure in a host: the upstream's path at the tap, without a version that hosts add."""
    url = own + _ENDPOINT.sub("", upstream.url.path)
    return url if _dialect(upstream) == "openai" else _root(url)


def instructions(upstream: Upstream, own: str) -> Iterator[str]:
    """Yield a line for each well-known host that says where to set the base URL."""
    url = base_url(upstream, own).rstrip("/")
    for dialects, host, words in _HINTS:
        if _dialect(upstream) in dialects.split():
            yield f"  {host}: {words.format(url=url, root=_root(url))}"


def _root(url: str) -> str:
    root = url.rstrip("/")
    return next((root.removesuffix(version) for version in ("/v1", "/v1beta") if root.endswith(version)), url)


def _dialect(upstream: Upstream) -> str:
    """Return what the upstream speaks, judged by its URL; `any` where that tells nothing."""
    service, port, path = service_at(upstream.url.geturl()), upstream.url.port, upstream.url.path
    base = _ENDPOINT.sub("", path).rstrip("/")
    endpoint = path.rstrip("/").removeprefix(base)
    if service == "anthropic" or base.endswith(("/anthropic", "/anthropic/v1")) or endpoint == "/messages":
        return "anthropic"
    if (service == "gemini" and not base.endswith("/openai")) or base.endswith("/v1beta"):
        return "gemini"
    if ((service == "ollama" or port == 11434) and not base.endswith("/v1")) or endpoint.startswith("/api/"):
        return "ollama"
    return "openai" if service or base or endpoint else "any"
