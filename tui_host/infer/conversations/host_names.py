"""Recognise a tapped host and its model by user agent, system prompt and `clientInfo`, and name the hosts of a story."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from tui_host.capture.json.spans import spans
from tui_host.infer.conversations.request_messages import NATIVE
from tui_host.settings.urls import parts_of

OWN = "tui-host"
"""The client name of tui-host."""
_CLAUDE = r"\A(?:x-anthropic.*\n)?\W*You are Claude Code\b(?!['’]s)"
_CONTINUE = r"^You are an agent in the Continue CLI\b|<important_rules>\s+You are in \w+ mode"
_HOSTS: Mapping[str, tuple[str, str, str]] = {
    "Claude Code": (r"claude-cli/|claude-code", _CLAUDE, r"claude-code"),
    "Claude Desktop": (r"Claude/[\d.]+ .*Electron", r"", r"claude-ai|claude-desktop"),
    "Cline": (r"^Cline\b", r"^You are Cline\b", r"cline|@cline/core"),
    "Roo Code": (r"RooCode|roo-?cline", r"^You are Roo\b", r"roo[- ]?code"),
    "Kilo Code": (r"^Kilo-Code/", r"^You are Kilo Code\b", r"kilo[- ]?code"),
    "Cherry Studio": (r"CherryStudio", r"", r"cherry[- ]?studio"),
    "Cursor": (r"Cursor/", r"(?m)^[^\n\"“]*operat(?:e|ing) in Cursor\b", r"cursor(?:-vscode)?"),
    "VS Code Copilot": (r"GitHubCopilotChat|vscode/", r"your name is .GitHub Copilot", r"visual studio code.*"),
    "Qwen Code": (r"QwenCode/", r"^You are Qwen Code\b", r"qwen-cli.*"),
    "opencode": (r"^opencode/", r"^You are opencode\b", r"opencode"),
    "Gemini CLI": (r"GeminiCLI", r"^You are Gemini CLI\b|interactive CLI agent", r"gemini-cli.*"),
    "Continue": (r"^Continue\b|continue\.dev", _CONTINUE, r"continue-[\w-]*client"),
    "Aider": (r"^aider\b", r"^Act as an expert (?:software developer|code analyst|architect engineer)\b", r"aider"),
    "Open WebUI": (r"open[- ]?webui", r'(?m)^MCP server "[^"\n]+" instructions:$', r"open[- ]?webui"),
    "ollmcp": (r"ollmcp|mcp-client-for-ollama", r"", r"ollmcp|mcp-client-for-ollama"),
    "Codex": (r"codex_(?:cli|exec|vscode)", r"running in the Codex CLI", r"codex-mcp-client"),
    "fast-agent": (r"", r"", r"fast-agent(?:-mcp)?"),
    "Zed": (r"^Zed/", r"", r"zed"),
    "LM Studio": (r"^LM ?Studio", r"", r"lmstudio.*|lm-studio.*"),
    "LibreChat": (r"", r"", r"@librechat/api-client"),
    "Goose": (r"", r"", r"goose(?:-cli|-desktop)?"),
    "5ire": (r"", r"", r"5ire"),
    "DeepChat": (r"", r"", r"deepchat"),
    "Dify": (r"", r"", r"dify"),
    "Jan": (r"", r"", r"jan (?:streamable|sse) client"),
    "n8n": (r"", r"", r"@n8n/n8n-nodes-langchain\.mcpclient.*"),
    "MCP Inspector": (r"(?!)", r"", r"(?:mcp-)?inspector.*"),  # it asks no model
    OWN: (r"^tui-host(?:/|$)", r"", r"tui-host"),
}
"""Patterns for the user agent, the system prompt and the client's whole name; empty where a host states nothing."""
_LIBRARIES: Mapping[str, tuple[str, str]] = {
    "the OpenAI SDK for Python": (r"^(?:Async)?OpenAI/Python", r""),
    "the OpenAI SDK for JavaScript": (r"^(?:OpenAI|[\w-]*ai-sdk/openai)/?(?:JS|[\d.])", r""),
    "the Anthropic SDK for Python": (r"^(?:Async)?Anthropic/Python", r""),
    "the Anthropic SDK for JavaScript": (r"^Anthropic/JS", r""),
    "the Google Gen AI SDK": (r"google-genai-sdk|genai-js", r""),
    "the AI SDK": (r"\bai-sdk/", r""),
    "the Ollama SDK for Python": (r"^ollama-python/", r""),
    "the Ollama SDK for JavaScript": (r"^ollama-js/", r""),
    "aiohttp": (r" aiohttp/", r""),
    "the MCP SDK for Python": (r"", r"mcp"),
    "the MCP SDK for TypeScript": (r"", r"mcp-typescript-client|example-client"),
}
"""SDKs by user agent and whole client name, for hosts that state no more."""
_OF_BROWSERS = re.compile("Mozilla|AppleWebKit|Gecko|Mobile|Version|Chrome|Chromium|Safari|Electron|Firefox|Edg")
_PROMPT = 4000  # characters of a system prompt in which a host names itself
_IN_PATH = re.compile(r"/models/([^/:]+):\w+$")


class Speaker(NamedTuple):
    """The host, model and protocol of one exchange; `agent` and `title` are what the headers state of the host, `peer` who is asked."""

    host: str = ""
    agent: str = ""
    title: str = ""
    peer: str = ""
    model: str = ""
    protocol: str = ""
    has_tools: bool = False


def host_asking(headers: Iterable[tuple[str, str]], system: str) -> tuple[str, str, str]:
    """Return host, agent and title of a request; the host's SDK where that is all that its headers and system prompt state, or nothing."""
    values = {name.lower(): value for name, value in headers}
    agent = f"{values.get('user-agent', '')} {values.get('x-client-name', '')}".strip()
    title = values.get("x-title", "").strip()  # which hosts send to routers
    return _host_by_traits(agent, title, system[:_PROMPT]), agent, title


@lru_cache(maxsize=64)
def _host_by_traits(agent: str, title: str, system: str) -> str:
    titled = next((name for name in _HOSTS if name.lower() == title.lower()), title[:40])
    named = _first(_HOSTS, 0, "(?i:{})", agent) or _first(_HOSTS, 1, "{}", system) or titled
    # Of programs in a browser's window, the one that is no browser's.
    products = [part.partition("/")[0][:40] for part in re.sub(r"\([^()]*\)", " ", agent).split()]
    product = next((name for name in products if not _OF_BROWSERS.fullmatch(name)), "a browser" if products else "")
    return named or _first(_LIBRARIES, 0, "{}", agent) or product


@lru_cache(maxsize=64)
def host_named(client: str) -> str:
    """Return the host for a client's name, or the name itself if no host is known."""
    return _first(_HOSTS, 2, r"\A(?i:{})\Z", client) or _first(_LIBRARIES, 1, r"\A(?:{})\Z", client) or client[:40]


def _first(table: Mapping[str, tuple[str, ...]], column: int, form: str, text: str) -> str:
    signs = ((name, patterns[column]) for name, patterns in table.items() if patterns[column])
    return next((name for name, sign in signs if re.search(form.format(sign), text)), "")


def is_host(name: str) -> bool:
    """Return whether a name is a host's, not an SDK's."""
    return name in _HOSTS


def model_asked(url: str, body: bytes) -> str:
    """Return the model of a request, from its body or path."""
    if (in_path := _IN_PATH.search(parts_of(url).path)) is not None:
        return in_path[1]
    root = spans(body, depth=1)
    node = None if root is None else root.get("model")
    return "" if node is None else node.text(body)[:100]


def hosts_of(speakers: Collection[Speaker], clients: Iterable[str]) -> list[str]:
    """Return the hosts in order of appearance, model requests before server connections; `clients` are names of clients."""
    calling = list(map(host_named, clients))
    asking = hosts_by_speaker(speakers, calling).values()
    if any(map(is_host, (*asking, *calling))):
        calling = list(filter(is_host, calling))
    return list(dict.fromkeys(filter(None, (*asking, *calling))))


def hosts_by_speaker(speakers: Collection[Speaker], calling: Collection[str]) -> Mapping[Speaker, str]:
    """Return the host of each speaker; empty where unknown.

    An SDK stands for a host that its agent named elsewhere. Where no agent names a host, it stands for the one host among the
    servers' clients (`calling`), if that never names itself to models: beside other hosts an unnamed agent is another program.
    """
    quiet = set(filter(is_host, calling))
    if len(quiet) > 1 or any(any(_HOSTS[host][:2]) for host in quiet):
        quiet.clear()
    named = [speaker for speaker in speakers if is_host(speaker.host)]
    hosts: dict[Speaker, str] = {}
    for speaker in speakers:
        like = {other.host for other in named if other[1:3] == speaker[1:3]} if named else quiet  # agent and title
        hosts[speaker] = next(iter(like)) if len(like) == 1 and not is_host(speaker.host) else speaker.host
    return hosts


def protocols_in_words(speakers: Collection[Speaker]) -> str:
    """Join the tool protocols in order of first use; requests without any tools do not count beside a protocol of text."""
    protocols = dict.fromkeys(speaker.protocol for speaker in speakers if speaker.protocol)
    if len(protocols) > 1 and not any(speaker.has_tools for speaker in speakers):
        protocols.pop(NATIVE, None)
    return in_words(list(protocols))


def in_words(names: Sequence[str]) -> str:
    """Join names: `Cline and Zed`, `Cline, Zed +3 more`."""
    return " and ".join(names) if len(names) <= 2 else f"{names[0]}, {names[1]} +{len(names) - 2} more"


def models_in_words(speakers: Iterable[Speaker]) -> str:
    """Join the models in order of first use, naming each provider once: `demo/gpt-x and gpt-y`; empty for none."""
    models = list(dict.fromkeys((speaker.peer, speaker.model) for speaker in speakers))
    asked = [pair for pair in models if pair[1]] or models
    names = ["/".join(filter(None, pair)) for pair in asked[:1]]
    names += [model if peer == before else f"{peer}/{model}" for (before, _), (peer, model) in pairwise(asked)]
    return in_words(names)
