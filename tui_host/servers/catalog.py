"""Plain values for a server's tools, resources and results, free of the SDK's types. All text in them is untrusted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import quote

from tui_host.errors import JSON
from tui_host.settings.schema import ServerSpec

State: TypeAlias = Literal["connecting", "ready", "lost", "failed", "stopped", "disabled"]
"""`lost`: the server went away, and is tried again."""

Turning: TypeAlias = Literal["lost", "back", "given up", "declined"]
"""What the person is told of a server: it went away, it is back, it is tried no more, or all its questions are declined."""

ERAS = {"stateful": "begun with initialize", "stateless": "stateless, begun with server/discover"}  # in words
READ = "resources/read"
"""Name of the pseudo-tool that reads a resource: the MCP method itself, which no real tool may use."""
GET_PROMPT = "prompts/get"
"""The method that fills in a prompt; the person's own requests go the way of calls under this name."""

Hints: TypeAlias = tuple[tuple[str, JSON], ...]
"""A server's annotations (`audience`, `priority`, `readOnlyHint` …) as received."""

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_HINTS = {
    ("readOnlyHint", True): "read-only",
    ("readOnlyHint", False): "may change things",
    ("destructiveHint", True): "may destroy data",
    ("destructiveHint", False): "only adds",
    ("idempotentHint", True): "safe to repeat",
    ("openWorldHint", True): "reaches outside",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource, or a template whose `uri` has variables."""

    uri: str
    name: str = ""
    description: str = ""
    media_type: str = ""
    is_template: bool = False
    size: int | None = None
    annotations: Hints = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """An argument of a prompt, a text."""

    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedPrompt:
    """A prompt as listed by its server."""

    server: str
    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as its server defines it."""

    server: str
    name: str
    title: str = ""
    description: str = ""
    schema: JSON = None
    output_schema: JSON = None
    annotations: Hints = ()
    fingerprint: str = ""  # SHA-256 (hex) over the definition and the server's command or URL; rules are bound to it
    size: int = 0  # bytes of the compact definition
    problem: str | None = None  # why it is not offered to a model
    resources: tuple[Resource, ...] | None = None  # of the pseudo-tool `READ` alone
    page: str = ""  # address (`ui://…`) of its page (MCP Apps), which is never fetched unasked


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentBlock:
    """A block of a tool result or of a resource: a text, or a line about what is not text, whose base64 is `data`."""

    kind: str  # `text`, `image`, `audio`, `resource`, `resource_link`, or the server's own word
    text: str = ""
    media_type: str = ""
    data: str = ""
    uri: str = ""
    size: int | None = None  # of a link as the server claims
    annotations: Hints = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """The result of a call, or of reading a resource; `raw` is as received, `warning` says what is odd about it."""

    content: tuple[ContentBlock, ...]
    is_error: bool = False
    structured: JSON = None
    has_structured: bool = False
    raw: JSON = None
    warning: str = ""
    is_resent: bool = False  # the server no longer knew the session when the call was first sent


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    """A message of a filled-in prompt; its role is `user`, `assistant`, or the server's own word."""

    role: str
    content: ContentBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptOutput:
    """A filled-in prompt."""

    messages: tuple[PromptMessage, ...]
    description: str = ""
    raw: JSON = None
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProgress:
    """A progress notification of a running call."""

    progress: float
    total: float | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A log message of a server: its text, or its value as JSON. The level is one of `LOG_LEVELS`, or the server's own word."""

    level: str
    text: str
    logger: str
    mono_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """Everything known about a configured server now; every change makes a new value. Rows end with the newest."""

    name: str
    state: State
    detail: str = ""  # why the connection failed, what it waits for, how it ended
    connection: str = ""  # its id in the capture
    transport: str = "stdio"
    command: str = ""
    protocol_version: str = ""
    era: str = ""  # `stateful` (initialize) or `stateless` (2026-07-28)
    server_info: str = ""
    instructions: str = ""
    capabilities: JSON = None
    tools: tuple[Tool, ...] = ()
    resources: tuple[Resource, ...] = ()
    templates: tuple[Resource, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    subscriptions: tuple[tuple[str, int], ...] = ()  # resources whose changes are announced to us, and how many were
    frames_out: int = 0
    frames_in: int = 0
    malformed: int = 0
    stderr: tuple[str, ...] = ()
    exit_code: int | None = None
    since_mono_ns: int = 0
    ready_ms: float = 0.0  # from the start until the tools were listed
    notices: tuple[str, ...] = ()
    questions: int = 0  # that the person has not answered
    log: tuple[LogLine, ...] = ()
    log_counts: tuple[tuple[str, int], ...] = ()


def describe(spec: ServerSpec) -> str:
    """Return the command or URL for display: references unresolved, credentials hidden, without a URL's query."""
    if spec.bundled is not None:
        return f"bundled {spec.bundled}"
    if spec.url is not None:
        scheme, _, rest = spec.url.text.partition("://")
        address = rest.partition("?")[0].partition("#")[0]
        host, slash, path = address.partition("/")
        return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
    from tui_host.servers.masked_words import HIDDEN, hide  # late: the first frame needs no search for credentials

    return shlex.join(hide(_words(spec))).replace(f"'{HIDDEN}'", HIDDEN)


def identity(spec: ServerSpec) -> str:
    """Return the command or URL to which a tool's fingerprint is bound."""
    if spec.url is not None:
        return spec.url.text
    return describe(spec) if spec.bundled is not None else shlex.join(_words(spec))


def _words(spec: ServerSpec) -> list[str]:
    return [] if spec.command is None else [spec.command.text, *(argument.text for argument in spec.args)]


def claims_of(tool: Tool) -> str:
    """Describe what a server claims of its tool by hints, in a few words. Source: MCP 2025-11-25, `ToolAnnotations`."""
    given = [(name, value) for name, value in tool.annotations if isinstance(value, bool)]
    if ("readOnlyHint", True) in given:  # what it might destroy or repeat says nothing then
        given = [hint for hint in given if hint[0] in {"readOnlyHint", "openWorldHint"}]
    return ", ".join(_HINTS[hint] for hint in given if hint in _HINTS)


def variables(template: str) -> tuple[str, ...]:
    """Return the names of a template's variables, in order, without repeats."""
    names = (_variable(part) for _, body in _EXPRESSION.findall(template) for part in body.split(","))
    return tuple(dict.fromkeys(filter(None, names)))


def expand(template: str, values: Mapping[str, str]) -> str:
    """Return the URI of a template with these values; empty values are left out. Source: RFC 6570, levels 1 to 3."""

    def fill(match: re.Match[str]) -> str:
        operator = match[1]
        safe = ":/?#[]@!$&'()*+,;=%" if operator in {"+", "#"} else ""
        names = (_variable(part) for part in match[2].split(","))
        given = {name: quote(values[name], safe=safe) for name in names if values.get(name)}
        parts = [f"{name}={text}" if operator in {"?", "&", ";"} else text for name, text in given.items()]
        between = {"": ",", "+": ",", "#": ",", "?": "&"}.get(operator, operator)
        return f"{operator.strip('+')}{between.join(parts)}" if parts else ""

    return _EXPRESSION.sub(fill, template)


def _variable(part: str) -> str:
    return part.strip().rstrip("*").partition(":")[0]
