"""The events that a dialect's reader, or a tool protocol's reader, reads out of a response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.errors import JSON
from tui_host.llm.messages import Stop, Usage


# Frozen, an event would take three times as long to make, and thousands of them a second are read.
@dataclass(slots=True, kw_only=True)
class Located:
    """The bytes of an event in the decoded body."""

    start: int
    end: int


@dataclass(slots=True, kw_only=True)
class TextDelta(Located):
    """A piece of the answer's text."""

    text: str


@dataclass(slots=True, kw_only=True)
class ThinkingDelta(Located):
    """A piece of the thinking; `tag` is the tag or label around it in the text, empty without."""

    text: str
    tag: str = ""


@dataclass(slots=True, kw_only=True)
class PartEnded(Located):
    """The end of the part of text or thinking that is open, or an empty part if none is; more text begins a new part."""

    kind: Literal["text", "thinking"]
    echo: JSON = None  # to send back to the vendor with the part
    written: str = ""  # the model's own words, if a tool protocol took the text out of them
    options: tuple[str, ...] = ()  # the answers to choose from, if the text is a question to the user


@dataclass(slots=True, kw_only=True)
class TextWasThinking(Located):
    """A closing tag whose opening stood in the prompt: all text so far was thinking."""


@dataclass(slots=True, kw_only=True)
class CallStarted(Located):
    """The beginning of the answer's call number `index`; the same index again adds its id, name, or data to send back."""

    index: int
    wire_id: str
    name: str
    echo: JSON = None
    written: str = ""


@dataclass(slots=True, kw_only=True)
class CallArguments(Located):
    """More of a call's arguments, as the model wrote them; `anew` replaces the earlier ones."""

    index: int
    text: str
    anew: bool = False


@dataclass(slots=True, kw_only=True)
class CallMalformed(Located):
    """A call too broken to read; its words are sent as text. `reason` is worded for the model and the user."""

    reason: str


@dataclass(slots=True, kw_only=True)
class CutOff(Located):
    """Words of the model after its call, such as a made-up result. Neither shown as the answer nor sent back."""

    text: str


@dataclass(slots=True, kw_only=True)
class UsageReported(Located):
    """The tokens so far; the last report counts."""

    usage: Usage


@dataclass(slots=True, kw_only=True)
class Stopped(Located):
    """The end of the answer, with the provider's reason and ours."""

    stop: Stop
    vendor: str


@dataclass(slots=True, kw_only=True)
class Failed(Located):
    """An error inside the response, in the provider's own words."""

    message: str
    vendor: str


@dataclass(slots=True, kw_only=True)
class Unreadable(Located):
    """An unreadable event; the stream goes on."""

    reason: str


@dataclass(slots=True, kw_only=True)
class Repeated(Located):
    """Something that came twice and counts once; with `restarts` the whole answer began anew, and nothing before counts."""

    restarts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedPage:
    """A page that a built-in tool read, or that the answer cites."""

    url: str
    title: str = ""


@dataclass(slots=True, kw_only=True)
class VendorToolUsed(Located):
    """A run of a vendor's built-in tool, or, without a tool, sources of an answer."""

    tool: str = ""
    asked: str = ""  # a search's words
    sources: tuple[CitedPage, ...] = ()

    @property
    def words(self) -> str:
        """What the vendor did: `ran its own web_search: weather`."""
        return f"ran its own {self.tool}: {self.asked}".removesuffix(": ")


ModelEvent: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | PartEnded
    | TextWasThinking
    | CallStarted
    | CallArguments
    | CallMalformed
    | CutOff
    | UsageReported
    | Stopped
    | Failed
    | Unreadable
    | Repeated
    | VendorToolUsed
)
