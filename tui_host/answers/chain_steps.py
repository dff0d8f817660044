"""The steps of a call as values, and why steps are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row

Happened: TypeAlias = Literal["asked", "decided", "sent", "during", "answered", "told", "said", "again"]
ORDER: tuple[Happened, ...] = ("asked", "decided", "sent", "answered", "told", "said")
"""The steps of a call that took its usual way."""
UNSENT = frozenset(("rejected", "invalid", "stopped"))
"""The decisions with which a call is not sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPiece:
    """Bytes that a step refers to.

    Attributes:
        part: What the bytes are: `name`, `arguments`, `text`, or `cut` for text that was left out; empty for the whole of a step.
    """

    start: int  # first byte, in the decoded body or in the frame
    end: int  # one past the last byte
    text: str  # the bytes as text, secrets masked; of more than 64 KB the beginning
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStep:
    """A step in the life of a call.

    Attributes:
        target: The row, by capture and number of its first record; None if the step is missing.
    """

    happened: Happened
    milliseconds: float | None = None  # time since the turn began; None if unknown, or if the step is missing
    row: str = ""  # the name of its row: `LLM 2`, `lab #4`; empty if the step is missing
    target: tuple[str, int] | None = None
    place: str = ""  # where in the row: `events 14-20`, `messages[4]`
    value: str = ""  # what was said, or why the step is missing
    state: str = ""  # whether the value is the same as in the step before
    repeats: tuple[str, ...] = ()  # values that come again, or that came from an earlier result
    pieces: tuple[StepPiece, ...] = ()  # the bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChain:
    """The steps of a call in order of time, missing ones among them."""

    call: str
    server: str
    tool: str
    row: str  # the name of the call's frame: `lab #4`; empty if none was sent
    connection: int  # the number of the connection to the server; 0 without one
    milliseconds: float  # from the first step to the last
    waited: float  # how much of it the person took to decide
    steps: tuple[CallStep, ...]


def why_missing(rows: Iterable[Row], sent: Row | None, verdict: str) -> Mapping[Happened, str]:
    """Return why each step would be missing; `sent` is the last request to the server."""
    refused = f"not sent: {verdict}" if verdict in UNSENT else ""
    return {
        "asked": "not asked by the model here: the response was not recorded, or a person made the call",
        "decided": "not decided so far" if sent is None else "no decision was recorded",
        "sent": refused or ("nothing was recorded" if verdict else "not sent yet"),
        "answered": _unanswered(rows, sent),
        "told": "not told yet",
        "said": "nothing yet",
    }


def with_missing(steps: Sequence[CallStep], why: Mapping[Happened, str]) -> Iterator[CallStep]:
    """Yield the steps, and in place of missing ones before them, and of the next one, why they are missing."""
    present = {step.happened for step in steps}
    was_sent = "sent" in present
    for step in steps:
        for earlier in ORDER[: ORDER.index(step.happened)] if step.happened in ORDER else ():
            if earlier not in present and (earlier != "answered" or was_sent):
                present.add(earlier)
                yield CallStep(happened=earlier, value=why[earlier])
        yield step
    last = max((ORDER.index(name) for name in present if name in ORDER), default=-1)
    if 0 <= last < len(ORDER) - 1:
        yield CallStep(happened=ORDER[last + 1], value=why[ORDER[last + 1]])


def _unanswered(rows: Iterable[Row], sent: Row | None) -> str:
    if sent is None:
        return "no answer: nothing was sent"
    now = next((row for row in rows if row.number == sent.number), sent)
    if now.state == "open":
        return "no answer yet"
    return f"no answer: {now.ending}" if now.ending else "no answer"
