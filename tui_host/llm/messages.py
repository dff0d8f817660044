"""Messages of user, assistant and tools in a neutral form, which dialects and tool protocols translate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tui_host.errors import JSON
from tui_host.settings.model_options import Options
from tui_host.settings.schema import Price

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Stop: TypeAlias = Literal["end", "tools", "length", "refused", "paused", "bad call", "failed", "cut", "stopped"]

_MILLION = 1_000_000  # tokens that a price is for


@dataclass(frozen=True, slots=True, kw_only=True)
class Echo:
    """Data in a dialect's form to send back unchanged with a part, but only to the provider and model that it came from."""

    provider: str
    model: str
    value: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Plain text (an answer's is Markdown), empty for a part with only an echo."""

    text: str
    echo: Echo | None = None
    written: str = ""  # the model's own words, if a tool protocol took the text out of them
    origin: str = ""  # the server's prompt or resource that gave the text, in words


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """The thinking before an answer, sent back only to the provider and model of origin."""

    text: str
    provider: str = ""
    model: str = ""
    echo: JSON = None  # to send back verbatim (signatures, encrypted content), in the dialect's form
    tag: str = ""  # the tag or label around it in the answer's text; empty where the server separates thinking


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image in base64."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's request for a tool; name and arguments stand as the model wrote them, JSON if all is well."""

    id: str  # our own, unique in its session
    wire_id: str  # the vendor's, empty if none
    name: str
    arguments: str
    echo: Echo | None = None
    written: str = ""  # the model's own words, if a tool protocol took the call out of them


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What the model is told about a finished call: a result, an error, or why the call was not run."""

    call: ToolCall
    content: tuple[Text | Image, ...]
    is_error: bool = False


Part: TypeAlias = Text | Thinking | Image | ToolCall | ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of the conversation."""

    role: Role
    parts: tuple[Part, ...]
    stop: Stop | None = None  # why an assistant's message ended
    turn: int = 0  # 0 before the first turn
    source: Literal["", "host"] = ""  # `host` for our own notes, which no role tells


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """A resource or template, described to a model in the server's words."""

    uri: str
    name: str
    description: str
    is_template: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as offered to a model."""

    name: str  # what the model sees: `SERVER__TOOL`, or shortened with a hash
    description: str  # the server's, after the tool's own name if the vendor's rules forced a different name
    schema: JSON  # the server's, unchanged
    server: str
    tool: str  # the tool's own name
    resources: tuple[ResourceSpec, ...] | None = None  # for the tool that reads them; None for a real tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, and seconds of a local server, as reported by the provider; None for «not reported»."""

    input_total: int | None = None  # cached ones included
    input_cached: int | None = None  # read from the provider's cache
    cache_written: int | None = None
    output_total: int | None = None  # reasoning included
    reasoning: int | None = None
    loading: float | None = None  # seconds to load the model into memory
    reading: float | None = None
    writing: float | None = None
    cost: float | None = None  # in the currency of the provider

    def costs(self, price: Price | None) -> tuple[float, float] | None:
        """Return what the input and the output cost by a configured price; None without it, or without tokens."""
        if price is None or self.input_total is None:
            return None
        cached, written = self.input_cached or 0, self.cache_written or 0
        plain = max(self.input_total - cached - written, 0)
        of_cached = price.input if price.cached is None else price.cached
        of_written = price.input if price.cache_written is None else price.cache_written
        of_input = plain * price.input + cached * of_cached + written * of_written
        return of_input / _MILLION, (self.output_total or 0) * price.output / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The content of a model exchange, before a dialect writes the request."""

    model: str
    messages: tuple[Message, ...]  # oldest first; the system message, if any, before all
    tools: tuple[ToolSpec, ...] = ()
    options: Options = field(default_factory=Options)
    extra: tuple[tuple[str, JSON], ...] = ()  # more members for the body, which override the dialect's
    stop_sequences: tuple[str, ...] = ()  # the tool protocol's, besides those in the options
    stream: bool = True
