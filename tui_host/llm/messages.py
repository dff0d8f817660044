"""Messages of user, assistant and tools in a neutral form, which dialects and tool protocols translate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tui_host.errors import JSON
from tui_host.settings.model_options import Options, text_of, value_of

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Stop: TypeAlias = Literal["end", "tools", "length", "refused", "paused", "bad call", "failed", "cut", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Echo:
    """Data in a dialect's form to send back unchanged with a part, but only to the provider and model that it came from."""

    provider: str
    model: str
    value: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Plain text (an answer's is Markdown), empty for a part with only an echo.

    Attributes:
        written: The model's own words, if a tool protocol extracted the text from them.
        origin: The server's prompt or resource that gave the text, in words; empty for all other texts.
    """

    text: str
    echo: Echo | None = None
    written: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """The thinking before an answer, sent back only to the provider and model of origin.

    Attributes:
        echo: The data to send back verbatim (signatures, encrypted content), in the dialect's form.
        tag: The tag or label around the thinking in the answer's text; empty where the server separates thinking.
    """

    text: str
    provider: str = ""
    model: str = ""
    echo: JSON = None
    tag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image in base64."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's request for a tool.

    Attributes:
        id: Our own id, unique in its session.
        wire_id: The id given by the vendor's API, empty if none.
        name: The name as the model wrote it (`SERVER__TOOL`).
        arguments: The arguments exactly as the model wrote them; JSON text if all is well.
        written: The model's own words, if a tool protocol extracted the call from them; else empty.
    """

    id: str
    wire_id: str
    name: str
    arguments: str
    echo: Echo | None = None
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What the model is told about a finished call: a result, an error, or why the call was not run."""

    call: ToolCall
    content: tuple[Text | Image, ...]
    is_error: bool = False


Part: TypeAlias = Text | Thinking | Image | ToolCall | ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of the conversation.

    Attributes:
        stop: Why an assistant message ended; None for others.
        turn: The message's turn; 0 before the first turn.
        source: The origin, if the role does not tell: `host` for our own notes.
    """

    role: Role
    parts: tuple[Part, ...]
    stop: Stop | None = None
    turn: int = 0
    source: Literal["", "host"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """A resource or template, described to a model in the server's words."""

    uri: str
    name: str
    description: str
    is_template: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as offered to a model.

    Attributes:
        name: What the model sees: `SERVER__TOOL`, or shortened with a hash.
        description: The server's description, after the tool's own name if the vendor's rules forced a different name.
        schema: The server's input schema, unchanged.
        tool: The tool's own name.
        resources: The server's listed resources, for the tool that reads them; None for a real tool.
    """

    name: str
    description: str
    schema: JSON
    server: str
    tool: str
    resources: tuple[ResourceSpec, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as reported by the provider; None for «not reported».

    Attributes:
        input_total: All input tokens, cached ones included.
        input_cached: Input tokens read from the provider's cache.
        cache_written: Input tokens written to the provider's cache.
        output_total: All output tokens, reasoning included.
        loading: Seconds to load the model into memory.
        reading: Seconds spent on the input.
        writing: Seconds spent on the output.
        cost: The price of the exchange, in the currency of the provider.
    """

    input_total: int | None = None
    input_cached: int | None = None
    cache_written: int | None = None
    output_total: int | None = None
    reasoning: int | None = None
    loading: float | None = None
    reading: float | None = None
    writing: float | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The content of a model exchange, before a dialect writes the request.

    Attributes:
        messages: The conversation, oldest first; the system message, if any, first.
        extra: More members for the body, which override the dialect's.
        stop_sequences: The tool protocol's stop sequences, in addition to those in the options.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: Options = field(default_factory=Options)
    extra: tuple[tuple[str, JSON], ...] = ()
    stop_sequences: tuple[str, ...] = ()
    stream: bool = True

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop sequences, the tool protocol's first, because vendors accept only a few."""
        return tuple(dict.fromkeys((*self.stop_sequences, *self.options.stop)))

    def unsent(self, stops: Sequence[str], **why: str) -> dict[str, str]:
        """Return the options that are set but not sent, each with the reason.

        `stops` are the stops that are sent; `why` has the reasons for options missing from the API, by name.
        """
        missing = {name: reason for name, reason in why.items() if value_of(self.options, name) is not None}
        left_out = [stop for stop in self.options.stop if stop not in stops]
        if left_out and "stop" not in missing:
            texts = text_of(left_out)
            missing["stop"] = f"{texts} left out: this API takes neither white space alone nor more than a few"
        return missing
