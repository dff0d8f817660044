"""What a server offers, in our own neutral values: tools and what they return. Nothing of the SDK."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tui_host.errors import JSON

State: TypeAlias = Literal["connecting", "ready", "failed", "stopped", "disabled"]

READ = "resources/read"
"""What a server's resources are read by: the request's own name, which no tool may bear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource, or a template of some, as its server lists it. Everything in it is the server's claim.

    Attributes:
        uri: The URI, or a template of URIs.
        name: A name for people, may be empty.
        description: What the server says it is.
        media_type: Empty where the server does not say.
        is_template: Whether `uri` is one.
    """

    uri: str
    name: str = ""
    description: str = ""
    media_type: str = ""
    is_template: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as its server defines it. Everything in it is the server's claim.

    Attributes:
        server: The server's configured name.
        name: The tool's own name.
        title: A name for people, may be empty.
        description: What the server says it does.
        schema: The input schema as it came.
        output_schema: The output schema as it came, None if there is none.
        annotations: The server's hints (`readOnlyHint`, …) as they came.
        fingerprint: SHA-256 (hex) over the definition and the server's command or URL; rules are bound to it.
        size: Bytes of its definition on the wire, compact.
        problem: Why it is not offered to a model, None if it is.
        resources: Of what reads a server's resources (`READ`): those that it lists; None for a tool.
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
    """One block of a tool's result, or of a resource.

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
    """What a call gave back.

    Attributes:
        content: The blocks, in order.
        is_error: The server says that the tool failed.
        structured: The structured content as it came, None if none.
        raw: The `CallToolResult`, or `ReadResourceResult`, as received (JSON value).
        warning: What was odd about it (schema not met, malformed), empty if nothing.
    """

    content: tuple[Content, ...]
    is_error: bool = False
    structured: JSON = None
    raw: JSON = None
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """All that is known of one configured server now; a new value at each change.

    Attributes:
        name: The configured name.
        state: Where its connection stands.
        detail: One line: why it failed, what it waits for, how it ended.
        connection: The connection's id in the capture, empty before the first.
        transport: `stdio`, `http` or `sse`.
        command: The command or URL, for people, secrets hidden.
        protocol_version: As negotiated, empty before.
        era: `stateful` (initialize) or `stateless` (2026-07-28), empty before.
        server_info: Name and version the server gives itself.
        instructions: The server's instructions.
        capabilities: As declared.
        tools: The tools as listed, broken ones too (with their problem).
        resources: How many resources, resource templates and prompts it lists.
        frames_out: JSON-RPC lines or messages sent.
        frames_in: And received.
        malformed: Lines that could not be read.
        stderr: The last lines of its standard error, newest last.
        exit_code: How its process ended, None while it runs or has none.
        since_mono_ns: When this state began.
        notices: What a person should know (a tool dropped, a page limit reached, a definition changed).
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
    """A running call's sign of life."""

    progress: float
    total: float | None = None
    message: str = ""
