"""Describe a call as a candidate for frames, with everything known from the model's side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeAlias

from tui_host.infer.call_values import AnswerContent, Call, CallFrame, FrameKey, Result
from tui_host.infer.same_result import END, HINT, OTHER, denies, fails, gives_up, refuses, tells
from tui_host.infer.tool_aliases import names_server

_TELLING = 20
"""The length from which two equal texts are no chance."""
_EVER_NS = 1 << 62
"""When everything is over."""


class PossibleResults:
    """The results of an answer's calls where only the order assigns results to calls.

    All of these calls share one object, so that a frame is compared with each result only once.

    Args:
        texts: The texts of the results.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(texts)
        self._best: dict[Hashable, int | None] = {}

    def tell(self, frame: CallFrame, at_ns: int) -> int | None:
        """Return the best grade of the results for a frame's answer; None if some grade is open and no result fits."""
        state = _outcome(frame, at_ns)
        if state not in self._best:
            grades = {_grade(text, state) for text in self._texts}
            best = max((grade or OTHER for grade in grades), default=OTHER)
            self._best[state] = best if best or None not in grades else None
        return self._best[state]


def places_of(results: Mapping[Call, Result | None]) -> Mapping[Call, PossibleResults]:
    """Return the possible results of each call whose result neither id nor name determines.

    Args:
        results: The result of each call of an answer.
    """
    open_ones = {call: place for call, place in results.items() if place is not None and not place.by_id}
    named: dict[str, set[str]] = defaultdict(set)
    for call, place in open_ones.items():
        named[call.name].add(place.text)
    unnamed = {place.text for place in open_ones.values() if not place.by_name}
    texts = {
        (call.name, place.by_name): named[call.name] | (set[str]() if place.by_name else unnamed)
        for call, place in open_ones.items()
    }
    places = {key: PossibleResults(several) for key, several in texts.items() if len(several) > 1}
    places_by_call = {call: places.get((call.name, place.by_name)) for call, place in open_ones.items()}
    return {call: several for call, several in places_by_call.items() if several is not None}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A call that frames may carry.

    Attributes:
        call: The call.
        arguments: The arguments in canonical form; None if not JSON.
        tools: Server and own name of the tools that the call's name may stand for.
        conversation: The key of the conversation's first exchange.
        agent: The agent that made the call, as far as requests tell agents apart: capture, host and headers.
        until_ns: When the conversation continued; None while waiting.
        result: The first result, None if there is none yet.
        places: The results that may be the call's, where only the order assigns results; None where the call's own result
            is known.
        is_twin: Whether an equal call of the answer has a different result and only the order tells the calls apart.
        is_timed: Whether the time of the call was recorded; else only the order is known.
        boot_ns: The zero of the tap's monotonic clock; None if unknown.
    """

    call: Call
    arguments: str | None
    tools: frozenset[tuple[str, str]]
    conversation: tuple[str, str]
    agent: tuple[Hashable, ...] = ()
    until_ns: int | None = None
    result: Result | None = None
    places: PossibleResults | None = None
    is_twin: bool = False
    is_timed: bool = True
    boot_ns: int | None = None

    @property
    def key(self) -> str:
        """The call's key."""
        return self.call.key

    @property
    def at_ns(self) -> int:
        """When the call was made."""
        return self.call.at_ns

    @property
    def answer(self) -> tuple[str, str]:
        """Capture and exchange of the model's answer."""
        return self.call.capture, self.call.exchange

    @property
    def alike(self) -> tuple[str, str, str, str]:
        """A key shared by equal calls of one answer."""
        return *self.answer, self.call.name, self.arguments or self.call.arguments

    def own_grade(self, frame: CallFrame) -> int | None:
        """Grade how the call's own result repeats a frame's answer; None if undecidable."""
        return None if self.result is None else _grade(self.result.text, _outcome(frame, self.result.at_ns))

    def tells(self, frame: CallFrame) -> int | None:
        """Grade the call's result as `own_grade` does; None where results may be swapped within the answer."""
        own = self.own_grade(frame)
        if self.is_twin and own:
            return None
        return None if own == OTHER != self.best_grade(frame) else own

    def best_grade(self, frame: CallFrame) -> int | None:
        """Return the best grade among all results that may be the call's; None if undecidable."""
        if self.result is None or self.places is None:
            return self.own_grade(frame)
        return self.places.tell(frame, self.result.at_ns)

    def gave_up_on(self, frame: CallFrame) -> bool:
        """Return whether the frame's answer came too late for the call's result, or never."""
        return not isinstance(_outcome(frame, _EVER_NS if self.result is None else self.result.at_ns), AnswerContent)

    @property
    def may_have_failed(self) -> bool:
        """Whether the call may have got no answer: no result yet, or a failure."""
        return self.result is None or fails(self.result.text)

    @property
    def was_denied(self) -> bool:
        """Whether the result states that a person denied the call. No frame carries such a call."""
        return self.result is not None and denies(self.result.text)

    def may_be_reworded(self, frame: CallFrame) -> bool:
        """Return whether the host may have replaced a frame's answer by words of its own."""
        is_other = self.result is None or refuses(self.result.text) or gives_up(self.result.text)
        return not is_other and not self.gave_up_on(frame)

    def is_sure_of(self, frame: CallFrame) -> bool:
        """Return whether a matching result cannot be chance: the name tells the server, or the text is long."""
        return self.has_long_result or names_server(self.call.name, frame.server, frame.tool)

    @property
    def has_long_result(self) -> bool:
        """Whether the result is too long to match an answer by chance."""
        return self.result is not None and len(self.result.text) >= _TELLING


Possible: TypeAlias = dict[FrameKey, list[Candidate]]
"""The calls that each frame may carry, by the frame's key."""


class _Outcome(Enum):
    """How a frame ended whose answer the model did not get in time."""

    WAITED_FOR = auto()
    DROPPED = auto()
    LATE = auto()
    OPEN = auto()


def _outcome(frame: CallFrame, at_ns: int) -> _Outcome | AnswerContent:
    """Return a frame's answer at a time, or how the frame ended without an answer by then."""
    answer = frame.answer
    if frame.dropped:
        return _Outcome.WAITED_FOR if frame.dropped[0] > at_ns + frame.within_ns else _Outcome.DROPPED
    if answer is None:  # a lost frame may also have been repeated where no tap was
        return _Outcome.OPEN
    return _Outcome.LATE if answer.at_ns > at_ns + frame.within_ns else answer.says


def _grade(text: str, state: _Outcome | AnswerContent) -> int | None:
    """Grade how a result repeats a frame's answer."""
    match state:
        case _Outcome.WAITED_FOR:
            return OTHER
        case _Outcome.DROPPED:
            return END if gives_up(text) else None
        case _Outcome.LATE if gives_up(text):
            return HINT
        case _Outcome.LATE | _Outcome.OPEN:
            return OTHER if refuses(text) else None
        case AnswerContent():
            return tells(text, state)


def with_twins(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Mark equal calls of one answer with different results, where only the order assigns results to calls."""
    alike: dict[tuple[str, str, str, str], list[Candidate]] = defaultdict(list)
    for call in candidates:
        if call.result is not None and not call.result.by_id and call.places is not None:
            alike[call.alike].append(call)
    texts = {key: {call.result.text for call in same if call.result is not None} for key, same in alike.items()}
    twins = {call.key for key, same in alike.items() if len(texts[key]) > 1 for call in same}
    return [replace(call, is_twin=True) if call.key in twins else call for call in candidates]
