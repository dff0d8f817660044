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
        value: In the form its dialect wants it.
    """

    provider: str
    model: str
    value: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Plain text (an answer's is Markdown).

    Attributes:
        text: May be empty where there is an echo.
        echo: What its vendor wants back with it, None for nothing.
        written: The model's own words where a tool protocol read this out of them, empty where they are the text.
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
        echo: What the vendor demands back verbatim (signatures, encrypted content), in the form its dialect wants it.
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
        data: Base64 of its bytes, and nothing else: it is written as it is.
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
        echo: What its vendor wants back with it, None for nothing.
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
        turn: The turn it belongs to; 0 for what stands before the first.
        source: Who put it there, where that is not plain from the role: `host` for notes of our own.
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
        resources: Of what reads a server's resources: those that it lists; None for a tool.
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
        input_cached: Those of them read from the provider's cache.
        cache_written: Those of them written to it.
        output_total: All output tokens, reasoning included.
        reasoning: Those of them spent on thinking.
        loading: Seconds until the model was in memory.
        reading: Seconds that it spent on the input.
        writing: Seconds that it spent on the output.
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
        extra: Members of the body that the dialect does not know; they win over its own.
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
            why: Options that the API does not have, by their names, and what to say of them.
        """
        missing = {name: reason for name, reason in why.items() if value_of(self.options, name) is not None}
        left_out = [stop for stop in self.options.stop if stop not in stops]
        if left_out and "stop" not in missing:
            texts = text_of(left_out)
            missing["stop"] = f"{texts} left out: this API takes neither white space alone nor more than a few"
        return missing
