"""Plain values for a server's tools, resources and results, free of the SDK's types."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tui_host.errors import JSON
from tui_host.settings.schema import ServerSpec


def describe(spec: ServerSpec) -> str:
    """Return the command or URL for display: references stay unresolved, a URL's credentials and query are dropped."""
    if spec.bundled is not None:
        return f"bundled {spec.bundled}"
    if spec.url is not None:
        scheme, _, rest = spec.url.text.partition("://")
        address = rest.partition("?")[0].partition("#")[0]
        host, slash, path = address.partition("/")
        return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
    words = [] if spec.command is None else [spec.command.text, *(argument.text for argument in spec.args)]
    return shlex.join(words)


def identity(spec: ServerSpec) -> str:
    """Return the command or URL to which a tool's fingerprint is bound."""
    if spec.url is not None:
        return spec.url.text
    return describe(spec)


State: TypeAlias = Literal["connecting", "ready", "failed", "stopped", "disabled"]

READ = "resources/read"
"""Name of the pseudo-tool that reads a resource: the MCP method itself, which no real tool may use."""

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
    """A resource or resource template, as listed by its server. All text is untrusted.

    Attributes:
        uri: The URI, or the URI template.
        name: Display name, may be empty.
        description: The server's own description.
        media_type: Empty if the server gives none.
        is_template: Whether `uri` is a template.
    """

    uri: str
    name: str = ""
    description: str = ""
    media_type: str = ""
    is_template: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as its server defines it. All text is untrusted.

    Attributes:
        server: The server's configured name.
        name: The tool's own name.
        title: Display name, may be empty.
        description: The server's own description.
        schema: The input schema as received.
        output_schema: The output schema as received, None if there is none.
        annotations: The server's hints (`readOnlyHint`, …) as received.
        fingerprint: SHA-256 (hex) over the definition and the server's command or URL; rules are bound to it.
        size: Bytes of the compact definition.
        problem: Why the tool is not offered to a model, None if it is.
        resources: The server's resources, on the pseudo-tool `READ` alone; None on a real tool.
    """

    server: str
    name: str
    title: str = ""
    description: str = ""
    schema: JSON = None
    output_schema: JSON = None
    annotations: tuple[tuple[str, JSON], ...] = ()
    fingerprint: str = ""
    size: int = 0
    problem: str | None = None
    resources: tuple[Resource, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A block of a tool result or of a resource.

    Attributes:
        kind: `text`, `image`, `audio`, `resource`, `resource_link`, or the server's own word.
        text: The text, or a one-line description of what is not text.
        media_type: For images, audio and resources.
        data: Base64 of what is not text, empty otherwise.
        uri: For resources and links.
    """

    kind: str
    text: str = ""
    media_type: str = ""
    data: str = ""
    uri: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """The result of a call.

    Attributes:
        content: The blocks, in order.
        is_error: The server says that the tool failed.
        structured: The structured content as it came, None if none.
        raw: The `CallToolResult`, or `ReadResourceResult`, as received (JSON value).
        warning: What is odd about the result (schema not met, malformed), empty if nothing.
    """

    content: tuple[Content, ...]
    is_error: bool = False
    structured: JSON = None
    raw: JSON = None
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """Everything known about a configured server now; every change makes a new value.

    Attributes:
        name: The configured name.
        state: State of the connection.
        detail: One line: why the connection failed, what it waits for, how it ended.
        connection: The connection's id in the capture, empty before the first.
        transport: `stdio`, `http` or `sse`.
        command: The command or URL for display, secrets hidden.
        protocol_version: As negotiated, empty before.
        era: `stateful` (initialize) or `stateless` (2026-07-28), empty before.
        server_info: The server's own name and version.
        instructions: The server's instructions.
        capabilities: As declared.
        tools: The tools as listed, including broken ones (with their problem).
        resources: Numbers of resources, resource templates and prompts.
        frames_out: Number of JSON-RPC lines or messages sent.
        frames_in: Number received.
        malformed: Number of lines that could not be read.
        stderr: The last lines of standard error, newest last.
        exit_code: The process's exit code, None while running or without a process.
        since_mono_ns: When this state began.
        notices: Messages for the user (a tool dropped, a page limit reached, a definition changed).
    """

    name: str
    state: State
    detail: str = ""
    connection: str = ""
    transport: str = "stdio"
    command: str = ""
    protocol_version: str = ""
    era: str = ""
    server_info: str = ""
    instructions: str = ""
    capabilities: JSON = None
    tools: tuple[Tool, ...] = ()
    resources: tuple[int, int, int] = (0, 0, 0)
    frames_out: int = 0
    frames_in: int = 0
    malformed: int = 0
    stderr: tuple[str, ...] = ()
    exit_code: int | None = None
    since_mono_ns: int = 0
    notices: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A progress notification of a running call."""

    progress: float
    total: float | None = None
    message: str = ""


def claims_of(tool: Tool) -> str:
    """Describe the tool's hints in a few words; the hints are the server's claim. Empty without any.

    Whether a tool destroys data or may be repeated matters only if it changes anything. Source: MCP 2025-11-25, `ToolAnnotations`.
    """
    given = [(name, value) for name, value in tool.annotations if isinstance(value, bool)]
    if ("readOnlyHint", True) in given:
        given = [hint for hint in given if hint[0] in {"readOnlyHint", "openWorldHint"}]
    return ", ".join(_HINTS[hint] for hint in given if hint in _HINTS)
