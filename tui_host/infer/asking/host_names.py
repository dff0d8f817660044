"""Recognise a tapped host and its model by user agent, system prompt and `clientInfo`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from tui_host.capture.json.spans import spans
from tui_host.settings.urls import parts_of

_CONTINUE = r"^You are an agent in the Continue CLI\b|<important_rules>\s+You are in \w+ mode"
OWN = "tui-host"
"""The client name of tui-host."""
HOSTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Claude Code": (
            r"claude-cli/|claude-code",
            r"\A(?:x-anthropic-[^\n]*\n)?\W*You are Claude Code\b(?!['’]s)",
            r"claude-code",
        ),
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
        "MCP Inspector": (r"", r"", r"(?:mcp-)?inspector.*"),
        OWN: (r"^tui-host(?:/|$)", r"", r"tui-host"),
    }
)
"""Patterns for the user agent, the system prompt and the client's whole name; empty where a host states nothing."""

_WITHOUT_MODEL = "MCP Inspector"

TASKS: Mapping[str, str] = MappingProxyType(
    {"Open WebUI": r"(?s)\A### Task:\n(?:.*\n<chat_history>\n|Respond to the user query using the provided context\b)"}
)
"""First user messages of title and tag requests from hosts that name themselves nowhere else."""

LIBRARIES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
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
)
"""SDKs by user agent and whole client name, for hosts that state no more."""
_ANY = re.compile(r"[^\s/();,]{1,40}")
_PRODUCT = re.compile(r"([^\s/();,]{1,40})/\S")
_COMMENT = re.compile(r"\([^()]*\)")
_BROWSER = "Mozilla"
_OF_EVERY_BROWSER = frozenset({_BROWSER, "AppleWebKit", "Gecko", "Mobile", "Version"})
"""Words that all browsers state, for servers that ask for them."""
_ENGINES = ("Electron", "Chrome", "HeadlessChrome", "Chromium", "Safari")
"""Engines that browsers state before their own name; an engine counts only if no other name is stated."""
_SHORT: Mapping[str, str] = MappingProxyType({"Edg": "Edge", "OPR": "Opera", "HeadlessChrome": "Chrome"})
_LOOKED_AT = 4000
_IN_PATH = re.compile(r"/models/([^/:]+):\w+$")


def host_asking(headers: Iterable[tuple[str, str]], system: str, opening: str = "") -> str:
    """Return the name of the host that sent a request; empty if unknown.

    Args:
        headers: The request's headers, including those that hosts send to routers.
        system: The system prompt.
        opening: The first user message of the conversation.
    """
    agent, title = agent_of(headers)
    return _host_by_traits(agent, system[:_LOOKED_AT], opening[:_LOOKED_AT], title)


def agent_of(headers: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Return the user agent with the client name, and the title, from a request's headers."""
    values = {name.lower(): value for name, value in headers}
    agent = " ".join(filter(None, (values.get("user-agent", ""), values.get("x-client-name", ""))))
    return agent, values.get("x-title", "").strip()


@lru_cache(maxsize=64)
def _host_by_traits(agent: str, system: str, opening: str, title: str) -> str:
    for name, (sign, _, _) in HOSTS.items():
        if sign and re.search(sign, agent, re.IGNORECASE):
            return name
    for name, (_, prompt, _) in HOSTS.items():
        if prompt and re.search(prompt, system):
            return name
    for name, task in TASKS.items():
        if re.search(task, opening):
            return name
    if title:
        return next((name for name in HOSTS if name.lower() == title.lower()), title[:40])
    library = next((name for name, (sign, _) in LIBRARIES.items() if sign and re.search(sign, agent)), "")
    return library or _product(agent)


def _product(agent: str) -> str:
    """Return the program's name from a user agent; for browsers the first name that only one browser has."""
    named = _ANY.search(agent)
    if named is None or named[0] != _BROWSER:
        return named[0] if named is not None else ""
    products = [name for name in _PRODUCT.findall(_COMMENT.sub(" ", agent)) if name not in _OF_EVERY_BROWSER]
    own = next((name for name in products if name not in _ENGINES), "")
    product = own or next((name for name in _ENGINES if name in products), _BROWSER)
    return _SHORT.get(product, product)


@lru_cache(maxsize=64)
def host_named(client: str) -> str:
    """Return the host for a client's name, or the name itself if no host is known."""
    for name, (_, _, sign) in HOSTS.items():
        if sign and re.fullmatch(sign, client, re.IGNORECASE):
            return name
    library = next((name for name, (_, sign) in LIBRARIES.items() if sign and re.fullmatch(sign, client)), "")
    return library or client[:40]


def is_host(name: str) -> bool:
    """Return whether a name is a host's, not an SDK's."""
    return name in HOSTS


def is_named_by_clients_alone(name: str) -> bool:
    """Return whether a host never names itself to models, only to servers."""
    return is_host(name) and not any(HOSTS[name][:2]) and name not in TASKS


def asks_no_model(name: str) -> bool:
    """Return whether a host lets a person call tools without any model."""
    return name == _WITHOUT_MODEL


def model_asked(url: str, body: bytes) -> str:
    """Return the model of a request, from its body or path."""
    in_path = _IN_PATH.search(parts_of(url).path)
    if in_path:
        return in_path[1]
    root = spans(body)
    node = root.get("model") if root is not None else None
    return node.text(body)[:100] if node is not None else ""
