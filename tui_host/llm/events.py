"""The events that a dialect's reader, or a tool protocol's reader, reads out of a response.

`start` and `end` are byte offsets in the decoded body.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.errors import JSON
from tui_host.llm.messages import Stop, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta:
    """A piece of the thinking.

    Attributes:
        tag: The tag around the thinking in the text, or the label before the thinking; empty where the server separates thinking.
    """

    text: str
    start: int
    end: int
    tag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingEcho:
    """Data to send back to the vendor with the thinking so far, in the dialect's own form."""

    echo: JSON
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartEnded:
    """The end of the vendor's part of text or thinking; more text begins a new part.

    Attributes:
        kind: The kind of part. If the last part is of another kind or has ended, an empty part of this kind is added.
        echo: Data to send back to the vendor with the part, None for nothing.
        start: First byte of the event.
        end: One past its last.
        written: The model's own words, if a tool protocol extracted the text from them.
    """

    kind: Literal["text", "thinking"]
    start: int
    end: int
    echo: JSON = None
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWasThinking:
    """A closing tag whose opening stood in the prompt: all text so far was thinking."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRead:
    """The text that a tool protocol extracted from the answer's words, such as the result inside a tag."""

    text: str
    written: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """The beginning of a call. The response numbers its calls; `index` is the number.

    The same index again adds to the call: its id, its name, or data to send back.
    """

    index: int
    wire_id: str
    name: str
    start: int
    end: int
    echo: JSON = None
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMalformed:
    """A call too broken to read; its words are sent as text.

    Attributes:
        reason: The fault and its place, worded for the model and the user.
    """

    reason: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """Words of the model after its call, such as a made-up result. Neither shown as the answer nor sent back."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked:
    """A question to the user in the tool protocol's form; its words are sent as text.

    Attributes:
        options: The proposed answers, perhaps none.
    """

    options: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallArguments:
    """More of a call's arguments, as the model wrote them; `anew` replaces the earlier ones."""

    index: int
    text: str
    start: int
    end: int
    anew: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReported:
    """The tokens so far; the last report counts."""

    usage: Usage
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The end of the answer, with the provider's reason and ours."""

    stop: Stop
    vendor: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """An error inside the response, in the provider's own words."""

    message: str
    vendor: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """An unreadable event; the stream goes on."""

    reason: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsLeftOut:
    """The answer has more calls than are accepted. Sent once; the calls beyond the limit get no events."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page that a built-in tool read, or that the answer cites."""

    url: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorToolUsed:
    """A run of a vendor's built-in tool, or sources of an answer.

    Attributes:
        tool: The tool's name, empty for sources alone.
        asked: What the tool was asked for, such as a search's words.
        sources: The sources.
        start: First byte of the event.
        end: One past its last.
    """

    tool: str = ""
    asked: str = ""
    sources: tuple[Source, ...] = ()
    start: int
    end: int

    @property
    def words(self) -> str:
        """What the vendor did: `ran its own web_search: weather`."""
        return f"ran its own {self.tool}{f': {self.asked}' if self.asked else ''}"


ModelEvent: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | ThinkingEcho
    | PartEnded
    | TextWasThinking
    | TextRead
    | CallStarted
    | CallArguments
    | CallMalformed
    | CutOff
    | QuestionAsked
    | UsageReported
    | Stopped
    | Failed
    | Unreadable
    | CallsLeftOut
    | VendorToolUsed
)
