"""The neutral form of the messages of user, assistant and tools, translated by dialects and tool protocols."""

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
    """Data to send back verbatim with a part, but only to the provider and model of origin.

    Attributes:
        provider: The provider's name.
        model: The model's name.
        value: The data in the dialect's form.
    """

    provider: str
    model: str
    value: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Plain text (an answer's is Markdown).

    Attributes:
        text: The text, empty for a part with only an echo.
        echo: The data to send back to the vendor, None for nothing.
        written: The model's own words, if a tool protocol read the text out of them.
    """

    text: str
    echo: Echo | None = None
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """The thinking before an answer, sent back only to the provider and model of origin.

    Attributes:
        text: The readable thinking, may be empty.
        provider: The provider's name.
        model: The model's name.
        echo: The data to send back verbatim (signatures, encrypted content), in the dialect's form.
    """

    text: str
    provider: str = ""
    model: str = ""
    echo: JSON = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image.

    Attributes:
        media_type: As its source says.
        data: The image's bytes in base64, sent unchanged.
    """

    media_type: str
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's request for a tool.

    Attributes:
        id: Our own id, unique in its session.
        wire_id: The id that the vendor's API gave it, empty if none.
        name: The name as the model wrote it (`SERVER__TOOL`).
        arguments: The arguments exactly as the model wrote them; JSON text if all is well.
        echo: The data to send back to the vendor, None for nothing.
        written: The model's own words where a tool protocol read the call out of its text, else empty.
    """

    id: str
    wire_id: str
    name: str
    arguments: str
    echo: Echo | None = None
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The model's view of a finished call: a result, an error, or why the call was not run."""

    call: ToolCall
    content: tuple[Text | Image, ...]
    is_error: bool = False


Part: TypeAlias = Text | Thinking | Image | ToolCall | ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of the conversation.

    Attributes:
        role: Who said it.
        parts: What was said, in order.
        stop: Why an assistant message ended; None for others.
        turn: The message's turn; 0 before the first turn.
        source: The origin if the role does not tell: `host` for our own notes.
    """

    role: Role
    parts: tuple[Part, ...]
    stop: Stop | None = None
    turn: int = 0
    source: Literal["", "host"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """A resource or a template, as described to a model in the server's words."""

    uri: str
    name: str
    description: str
    is_template: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as offered to a model.

    Attributes:
        name: What the model sees: `SERVER__TOOL`, or shortened with a hash.
        description: The server's description, as it is.
        schema: The server's input schema, untouched.
        server: The server's name.
        tool: The tool's own name.
        resources: The resources listed by a server, if the spec is for reading them; None for a tool.
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
        reasoning: Output tokens spent on thinking.
        loading: Seconds until the model was in memory.
        reading: Seconds spent on the input.
        writing: Seconds spent on the output.
    """

    input_total: int | None = None
    input_cached: int | None = None
    cache_written: int | None = None
    output_total: int | None = None
    reasoning: int | None = None
    loading: float | None = None
    reading: float | None = None
    writing: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The content of a model exchange, before a dialect writes the request.

    Attributes:
        model: The model's id at its provider.
        messages: The conversation, oldest first; the system message, if any, first.
        tools: What is offered.
        options: Sampling and other options.
        extra: More members for the body, which win over the dialect's.
        stop_sequences: What a tool protocol wants the answer to end at, beside the options' own.
        stream: Whether to ask for a stream.
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
        """The stop sequences: the tool protocol's first, for vendors take only a few."""
        return tuple(dict.fromkeys((*self.stop_sequences, *self.options.stop)))

    def unsent(self, stops: Sequence[str], **why: str) -> dict[str, str]:
        """Return the options set but not sent, each with the reason.

        Args:
            stops: The stops that are sent.
            why: The reasons for options missing from the API, by name.
        """
        missing = {name: reason for name, reason in why.items() if value_of(self.options, name) is not None}
        left_out = [stop for stop in self.options.stop if stop not in stops]
        if left_out and "stop" not in missing:
            texts = text_of(left_out)
            missing["stop"] = f"{texts} left out: this API takes neither white space alone nor more than a few"
        return missing
