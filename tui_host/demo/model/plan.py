"""The brain's plan for an answer, and the pieces for streaming the answer."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tui_host.demo.model.token_estimate import estimate
from tui_host.errors import JSON

Stop: TypeAlias = Literal["end", "calls", "length"]
Quirk: TypeAlias = Literal["", "unclosed", "invented", "prose", "fenced", "wrapped", "double"]
"""A form in which a call is written on request: without its end, with a result made up after it, mentioned in prose, among other
lines in a fence, alone in a fence, twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCall:
    """A call asked for by the model; `arguments` is sent unchanged."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An HTTP error instead of an answer.

    Attributes:
        once: Whether the error comes only at the first request with the conversation.
    """

    status: int
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """A response going wrong under the status 200.

    Attributes:
        kind: `error`: an error object in mid-stream; `cut`: the connection ends in mid-stream; `hang`: nothing comes after the
            head; `html`: a page instead of an answer.
    """

    kind: Literal["error", "cut", "hang", "html"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An answer: thinking, then text, then calls; or trouble.

    Attributes:
        stopped_by: The stop sequence of the request that ended the text, which does not have it; empty if none did.
        heeds_stops: Whether stop sequences end the text; not if text after them was asked for.
        quirk: How the calls are to be written; only a protocol in plain text has a use for it.
        trouble: What goes wrong on request; with a `Breakage` of kind `error` or `cut` the text before it is streamed.
    """

    thinking: str = ""
    text: str = ""
    calls: tuple[AskedCall, ...] = ()
    is_cut: bool = False
    stopped_by: str = ""
    quirk: Quirk = ""
    heeds_stops: bool = True
    trouble: Refusal | Breakage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """A piece of thinking."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBegun:
    """The beginning of a call; fragments of arguments follow.

    Attributes:
        index: Counts the calls of this answer from 0.
    """

    index: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """A fragment of a call's arguments."""

    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded:
    """The end of a call, with all arguments for wires without fragments."""

    index: int
    name: str
    arguments: str


Piece: TypeAlias = Thought | Said | CallBegun | Fragment | CallEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The last piece: the reason for the end, and the tokens.

    Attributes:
        tokens: All tokens of the answer: a piece is one, a call's name as many as it is estimated at.
        thinking_tokens: The tokens of thinking among them.
        stopped_by: The stop sequence at the end, empty without one.
    """

    stop: Stop
    tokens: int
    thinking_tokens: int
    stopped_by: str = ""


# Sizes in characters, as uneven as a model's tokens are; fixed, so that the same answer is always cut alike.
_LATIN = (4, 2, 5, 3, 7, 1, 4, 6, 3, 8, 2, 5)
_CJK = (1, 2, 1, 3, 1, 2)
_ARGUMENTS = (3, 7, 2, 5, 9, 4)


def arguments_text(values: Mapping[str, JSON]) -> str:
    """Write arguments as JSON without blanks, with unescaped characters."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def stopped(plan: Plan, sequences: Sequence[str]) -> Plan:
    """Return the plan up to the first stop sequence in its text; calls come after the text and are dropped."""
    places = [(place, sequence) for sequence in sequences if sequence and (place := plan.text.find(sequence)) >= 0]
    if not places or not plan.heeds_stops:
        return plan
    place, sequence = min(places)
    return replace(plan, text=plan.text[:place], calls=(), stopped_by=sequence)


def pieces(plan: Plan, most_tokens: int | None = None) -> Iterator[Piece | Ended]:
    """Yield the plan in pieces, with an `Ended` as the last.

    Args:
        plan: What is to be said.
        most_tokens: The request's limit; everything beyond is cut.
    """
    spent = thinking = 0
    stop: Stop = "length" if plan.is_cut else "calls" if plan.calls else "end"
    for piece in _all_pieces(plan):
        cost = estimate(piece.name) if isinstance(piece, CallBegun) else not isinstance(piece, CallEnded)
        if most_tokens is not None and spent + cost > most_tokens:
            stop = "length"
            break
        spent += cost
        thinking += isinstance(piece, Thought)
        yield piece
    stopped_by = plan.stopped_by if stop == "end" else ""
    yield Ended(stop=stop, tokens=spent, thinking_tokens=thinking, stopped_by=stopped_by)


def _all_pieces(plan: Plan) -> Iterator[Piece]:
    for text in _cut(plan.thinking):
        yield Thought(text=text)
    for text in _cut(plan.text):
        yield Said(text=text)
    for index, call in enumerate(plan.calls):
        yield CallBegun(index=index, name=call.name)
        for text in _cut(call.arguments, _ARGUMENTS):
            yield Fragment(index=index, text=text)
        yield CallEnded(index=index, name=call.name, arguments=call.arguments)


def _cut(text: str, sizes: tuple[int, ...] | None = None) -> Iterator[str]:
    position = 0
    for turn in itertools.count():
        if position >= len(text):
            return
        cycle = sizes or (_LATIN if text[position] < "\u2e80" else _CJK)
        size = cycle[turn % len(cycle)]
        yield text[position : position + size]
        position += size
