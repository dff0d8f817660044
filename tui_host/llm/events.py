"""The events read out of a response by a dialect's reader, and by a tool protocol's.

`start` and `end` are byte offsets in the decoded body.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.errors import JSON
from tui_host.llm.messages import Stop, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """More of the answer."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta:
    """More of the thinking.

    Attributes:
        tag: The name of the tag around the thinking in the text; empty where the server separates thinking.
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
        kind: The kind of part. If the last part is of the other kind, or has ended, an empty part of this kind ends.
        echo: Data to send back to the vendor with the part, None for nothing.
        start: First byte of the event.
        end: One past its last.
        written: The model's own words, if a tool protocol read the text out of them.
    """

    kind: Literal["text", "thinking"]
    start: int
    end: int
    echo: JSON = None
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWasThinking:
    """A closing tag without its opening, which stood in the prompt: all text so far was thinking."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRead:
    """A text read by a tool protocol out of the answer's words: the result inside a tag."""

    text: str
    written: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """The beginning of a call; `index` identifies the call in the response, and orders the calls.

    The same index again completes the call: the id, the name or the data to send back came later.
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
        reason: The fault and its place, in words for the model and for the person.
    """

    reason: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """Words of the model after its call, such as a made-up result: neither shown as answer nor sent back."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked:
    """A question to the person, by means of the tool protocol; its words are sent as text.

    Attributes:
        options: The proposed answers, perhaps none.
    """

    options: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallArguments:
    """More of a call's arguments as written by the model, or all of them with `anew`."""

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
    """The provider's own reason for the end, and ours."""

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
    """More calls were asked for than are taken in; told once, the calls beyond the limit are not."""

    start: int
    end: int


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
)
