"""The plan of an answer, made by the rules, and the pieces in which it is streamed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tui_host.errors import JSON

Stop: TypeAlias = Literal["end", "calls", "length"]
Quirk: TypeAlias = Literal["", "unclosed", "invented", "prose", "fenced", "wrapped", "double"]
"""A form in which a call is written on request: without its end, with a result made up after it, mentioned in prose, among other
lines in a fence, alone in a fence, twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCall:
    """A call that the model asks for. `arguments` is sent unchanged."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """An error that the user asked for.

    Attributes:
        kind: `status`: an HTTP error. With status 200: `error`: an error object within the stream; `cut`: the
            connection breaks off; `hang`: nothing follows the head; `html`: a page instead of an answer.
        once: Whether the error comes only with the conversation's first request.
    """

    kind: Literal["status", "error", "cut", "hang", "html"]
    status: int = 200
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An answer: thinking, then text, then calls; or an error.

    Attributes:
        stopped_by: The stop sequence of the request that ended the text, and is not part of it; empty if none did.
        heeds_stops: Whether stop sequences end the text; False if the user asked for text after them.
        quirk: How to write the calls wrongly; used only for tool protocols in plain text.
        trouble: The error to make on request; before an `error` or a `cut` the text is streamed.
    """

    thinking: str = ""
    text: str = ""
    calls: tuple[AskedCall, ...] = ()
    is_cut: bool = False
    stopped_by: str = ""
    quirk: Quirk = ""
    heeds_stops: bool = True
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """A piece of the thinking."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBegun:
    """The beginning of a call; fragments of its arguments follow.

    Attributes:
        index: Number of the call in this answer, from 0.
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
    """The end of a call, with all its arguments for wires that do not stream fragments."""

    index: int
    name: str
    arguments: str


Piece: TypeAlias = Thought | Said | CallBegun | Fragment | CallEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end of an answer: the reason, and the number of tokens.

    Attributes:
        tokens: All tokens of the answer. A piece counts as one; a call's name as many as estimated.
        thinking_tokens: How many of the tokens are thinking.
        stopped_by: The stop sequence that ended the text, empty if none did.
    """

    stop: Stop
    tokens: int
    thinking_tokens: int
    stopped_by: str = ""


# Sizes in characters, as uneven as a model's tokens; fixed, so that the same answer is always cut in the same way.
_LATIN = (4, 2, 5, 3, 7, 1, 4, 6, 3, 8, 2, 5)
_CJK = (1, 2, 1, 3, 1, 2)
_ARGUMENTS = (3, 7, 2, 5, 9, 4)


def arguments_text(values: Mapping[str, JSON]) -> str:
    """Format arguments as JSON without spaces, without escaping characters."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def estimate(text: str) -> int:
    """Estimate the number of tokens in a text: one for four ASCII characters or three other bytes, rounded up."""
    ascii_size = len(text.encode("ascii", "ignore"))
    other_size = len(text.encode("utf-8", "surrogatepass")) - ascii_size
    return -(-ascii_size // 4) + -(-other_size // 3)


def stopped(plan: Plan, sequences: Sequence[str]) -> Plan:
    """Return the plan up to the first stop sequence in its text; calls, which come after the text, are dropped."""
    places = [(place, sequence) for sequence in sequences if sequence and (place := plan.text.find(sequence)) >= 0]
    if not places or not plan.heeds_stops:
        return plan
    place, sequence = min(places)
    return replace(plan, text=plan.text[:place], calls=(), stopped_by=sequence)


def pieces(plan: Plan, most_tokens: int | None = None) -> tuple[list[Piece], Ended]:
    """Cut the plan into pieces to stream, up to a limit of tokens."""
    spent = thinking = 0
    stop: Stop = "length" if plan.is_cut else "calls" if plan.calls else "end"
    within: list[Piece] = []
    for piece in _all_pieces(plan):
        cost = estimate(piece.name) if isinstance(piece, CallBegun) else not isinstance(piece, CallEnded)
        if most_tokens is not None and spent + cost > most_tokens:
            stop = "length"
            break
        spent += cost
        thinking += isinstance(piece, Thought)
        within.append(piece)
    stopped_by = plan.stopped_by if stop == "end" else ""
    return within, Ended(stop=stop, tokens=spent, thinking_tokens=thinking, stopped_by=stopped_by)


def gathered(pieces: Sequence[Piece]) -> Plan:
    """Join the pieces of an answer into a plan; a call that was cut has the arguments sent so far."""
    arguments: dict[int, list[str]] = {}
    for piece in pieces:
        if isinstance(piece, Fragment):
            arguments.setdefault(piece.index, []).append(piece.text)
    calls = [piece for piece in pieces if isinstance(piece, CallBegun)]
    return Plan(
        thinking="".join(piece.text for piece in pieces if isinstance(piece, Thought)),
        text="".join(piece.text for piece in pieces if isinstance(piece, Said)),
        calls=tuple(AskedCall(name=call.name, arguments="".join(arguments.get(call.index, []))) for call in calls),
    )


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
