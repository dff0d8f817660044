"""`tap llm`: a relay in front of a model's API, and where hosts want its address."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_host.capture.http.observer import Observer
from tui_host.capture.recorder_protocol import Recording
from tui_host.settings.presets import service_at
from tui_host.tap.http.upstream import Upstream
from tui_host.tap.message_heads import RequestHead, ResponseHead

PORT = 8321
"""The default port to listen on."""
ANSWER_LIMIT = 16 << 20
"""Largest number of bytes of an answer to record, more than models send: recording takes longer than passing on."""

Hints = dict[str, str]
_DOCKER: Hints = {
    "Open WebUI in Docker Desktop": "the same with host.docker.internal for 127.0.0.1; start the tap with --allow-host"
    " host.docker.internal (on Linux only a container with --network host reaches the tap, at 127.0.0.1)"
}
# Where only the variable is set, Gemini CLI chooses a login and then refuses it.
_LOGIN: Hints = {
    "Gemini CLI, where no login was chosen on its screen": 'beside that "security": {{"auth": {{"selectedType":'
    ' "gemini-api-key"}}}} in its settings.json'
}
_CLINE = "API Provider «%s», Use custom base URL: {root}"
_CHERRY = "Settings > Model Provider > %s, API Host: {root}"
_WEBUI = "Admin Panel > Settings > Connections > %s API: {%s}   (before its first start: %s_BASE_URL={%s})"
_OPENAI_LIKE: Hints = {
    "Cline": "API Provider «OpenAI Compatible», Base URL: {url}   (cline auth -p openai -k KEY -m MODEL -b {url})",
    "Cherry Studio": "Settings > Model Provider > Add (type OpenAI), API Host: {url}/",
    "Continue": "config.yaml, of the model: provider: openai, apiBase: {url}",
    "Open WebUI": _WEBUI % ("OpenAI", "url", "OPENAI_API", "url"),
    **_DOCKER,
    "opencode": "opencode.json, options of the provider: baseURL: {url}",
    "aider": "OPENAI_API_BASE={url}",
    "Qwen Code, SDKs": "OPENAI_BASE_URL={url}",
    "Codex, where the upstream takes Responses": "codex -c model_provider=tap"
    """ -c 'model_providers.tap={{name="tap",base_url="{url}",env_key="OPENAI_API_KEY"}}'""",
}
_ANTHROPIC: Hints = {
    "Cline": _CLINE % "Anthropic",
    "Cherry Studio": _CHERRY % "Anthropic",
    "Continue": "config.yaml, of the model: provider: anthropic, apiBase: {root}/v1/",
    "SDKs, Claude Code": "ANTHROPIC_BASE_URL={root}",
}
_GEMINI: Hints = {
    "Cline": _CLINE % "Google Gemini",
    "Cherry Studio": _CHERRY % "Gemini",
    "SDK, Gemini CLI": "GOOGLE_GEMINI_BASE_URL={root}",
    **_LOGIN,
}
_OLLAMA: Hints = {
    "Cline": _CLINE % "Ollama",
    "Cherry Studio": _CHERRY % "Ollama",
    "Continue": "config.yaml, of the model: provider: ollama, apiBase: {root}",
    "Open WebUI": _WEBUI % ("Ollama", "root", "OLLAMA", "root"),
    **_DOCKER,
    "ollama, its SDK": "OLLAMA_HOST={root}",
}
_ANY: Hints = {
    "«OpenAI Compatible» in Cline, Continue, opencode, Open WebUI; Qwen Code, SDKs": "OPENAI_BASE_URL={root}/v1",
    "Cherry Studio": _CHERRY % "the one that you use",
    "Claude Code, Anthropic's SDKs": "ANTHROPIC_BASE_URL={root}",
    "Gemini CLI, Google's SDK": "GOOGLE_GEMINI_BASE_URL={root}",
    **_LOGIN,
    "ollama, its SDK, «Ollama» in hosts": "OLLAMA_HOST={root}",
    **_DOCKER,
}
# Endpoints that follow a base URL; many manuals include them in the URL.
_ENDPOINT = re.compile(
    r"/(?:(?:chat/)?completions|responses|messages|embeddings|models(?:/.*)?|api/(?:chat|generate|tags))/?$"
)


def base_url(upstream: Upstream, own: str) -> str:
    """Return the base URL to configure in a host: the upstream's path at the tap, without a version that hosts add."""
    url = own + _ENDPOINT.sub("", upstream.url.path)
    return url if _for_hosts(upstream) is _OPENAI_LIKE else _root(url)


def instructions(upstream: Upstream, own: str) -> Iterator[str]:
    """Yield a line for each well-known host that says where to set the base URL."""
    url = base_url(upstream, own).rstrip("/")
    for host, words in _for_hosts(upstream).items():
        yield f"  {host}: {words.format(url=url, root=_root(url))}"


def peer(upstream: Upstream) -> str:
    """Return the provider's name for records: the preset's name, or host and port."""
    return service_at(upstream.url.geturl()) or upstream.name


def _root(url: str) -> str:
    root = url.rstrip("/")
    return next((root.removesuffix(version) for version in ("/v1", "/v1beta") if root.endswith(version)), url)


def _for_hosts(upstream: Upstream) -> Hints:
    service, port, path = service_at(upstream.url.geturl()), upstream.url.port, upstream.url.path
    base = _ENDPOINT.sub("", path).rstrip("/")
    endpoint = path.rstrip("/").removeprefix(base)
    if service == "anthropic" or base.endswith(("/anthropic", "/anthropic/v1")) or endpoint == "/messages":
        return _ANTHROPIC
    if (service == "gemini" and not base.endswith("/openai")) or base.endswith("/v1beta"):
        return _GEMINI
    if ((service == "ollama" or port == 11434) and not base.endswith("/v1")) or endpoint.startswith("/api/"):
        return _OLLAMA
    return _OPENAI_LIKE if service or base or endpoint else _ANY


class OneObserver:
    """Treats all traffic as one client's traffic with one provider."""

    def __init__(self, recorder: Recording, peer: str) -> None:
        self._observer = Observer(recorder, wire="llm", peer=peer, logins="some")

    def observer_of(self, head: RequestHead, body: bytes) -> Observer:
        """Return the observer of a request."""
        del head, body
        return self._observer

    def answered(self, observer: Observer, head: RequestHead, response: ResponseHead) -> None:
        """Do nothing: answers of a model's API identify no connection."""

    def announced(self, observer: Observer, url: str) -> None:
        """Do nothing: a model's API announces no endpoint."""
