"""Describe a call as a candidate for frames, with everything known from the model's side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeAlias

from tui_host.infer.call_values import Asked, FrameKey, Line, Says, Sent, Told
from tui_host.infer.same_result import END, HINT, OTHER, denies, fails, gives_up, refuses, tells
from tui_host.infer.tool_aliases import names_server

_TELLING = 20
"""Characters of a text from which on the same text elsewhere is no chance."""
_EVER_NS = 1 << 62
"""When everything is over."""


class Places:
    """The results of an answer's calls that only their order assigns to calls; shared by all of these calls.

    A frame is compared with each result once, not once for each call.

    Args:
        texts: What is told.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(texts)
        self._best: dict[Hashable, int | None] = {}

    def tell(self, frame: Sent, at_ns: int) -> int | None:
        """Return the best grade of the results for a frame's answer; None if some grade is open and no result fits."""
        state = _state(frame, at_ns)
        if state not in self._best:
            grades = {_grade(text, state) for text in self._texts}
            best = max((grade or OTHER for grade in grades), default=OTHER)
            self._best[state] = best if best or None not in grades else None
        return self._best[state]


def places_of(results: Mapping[Asked, Told | None]) -> Mapping[Asked, Places]:
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
    places = {key: Places(several) for key, several in texts.items() if len(several) > 1}
    places_by_call = {call: places.get((call.name, place.by_name)) for call, place in open_ones.items()}
    return {call: several for call, several in places_by_call.items() if several is not None}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A call that frames may carry.

    Attributes:
        asked: The call.
        arguments: Its arguments in the one form that equal arguments have; None if they are no JSON.
        tools: Server and own name of the tools that its name may stand for.
        talk: The first exchange of its conversation.
        agent: Who asked for it, as far as requests tell that apart.
        connections: Those on which its host may have sent it; None for all.
        until_ns: When the conversation went on; None while it has not.
        told: Where the model was told of it first, None if nothing yet.
        places: What it was told of calls of the same answer, this one too, where nothing but the order says what belongs to which; None
            where it is told in its own place.
        is_twin: A call of the same answer asks for the same, is told otherwise, and again nothing but the order says which is which.
        is_timed: It is told when it was asked for, not only behind what.
        is_of_before: It was asked for before anything was recorded; what it was is known from what a request repeats.
        clock: Capture and peer, whose one log tells its times: an import has several in one capture.
        cut_ns: How much later at most things happened to it than is told, as the model's clock leaves out what is smaller.
        boot_ns: When the clock of its tap stood at nothing, None where that is not known.
    """

    asked: Asked
    arguments: str | None
    tools: frozenset[tuple[str, str]]
    talk: tuple[str, str]
    agent: Hashable = None
    connections: frozenset[Line] | None = None
    until_ns: int | None = None
    told: Told | None = None
    places: Places | None = None
    is_twin: bool = False
    is_of_before: bool = False
    is_timed: bool = True
    clock: tuple[str, str] = ("", "")
    cut_ns: int = 0
    boot_ns: int | None = None

    @property
    def answer(self) -> tuple[str, str]:
        """Capture and exchange of the model's answer."""
        return self.asked.capture, self.asked.exchange

    @property
    def alike(self) -> tuple[str, str, str, str]:
        """A key that equal calls of one answer share."""
        return *self.answer, self.asked.name, self.arguments or self.asked.arguments

    def may_be_on(self, frame: Sent) -> bool:
        """Return whether the call's host may have sent a frame, by the hosts' names."""
        return self.connections is None or frame.line in self.connections

    def tells_itself(self, frame: Sent) -> int | None:
        """Grade how the call's own result repeats a frame's answer; None if undecidable."""
        return None if self.told is None else _grade(self.told.text, _state(frame, self.told.at_ns))

    def tells(self, frame: Sent) -> int | None:
        """Grade the call's result as `tells_itself` does; None where results may be swapped within the answer."""
        own = self.tells_itself(frame)
        if self.is_twin and own:
            return None
        return None if own == OTHER != self.tells_beside(frame) else own

    def tells_beside(self, frame: Sent) -> int | None:
        """Return the best grade among all results that may be the call's; None if undecidable."""
        if self.told is None or self.places is None:
            return self.tells_itself(frame)
        return self.places.tell(frame, self.told.at_ns)

    def is_given_up(self, frame: Sent) -> bool:
        """Return whether the frame's answer came too late for the call's result, or never."""
        return not isinstance(_state(frame, _EVER_NS if self.told is None else self.told.at_ns), Says)

    @property
    def may_have_failed(self) -> bool:
        """Whether the call may have got no answer: no result yet, or a failure."""
        return self.told is None or fails(self.told.text)

    @property
    def was_denied(self) -> bool:
        """Whether the result states that a person denied the call, so that no frame carries the call."""
        return self.told is not None and denies(self.told.text)

    def may_be_told_otherwise(self, frame: Sent) -> bool:
        """Return whether the host may have replaced a frame's answer by words of its own."""
        is_other = self.told is None or refuses(self.told.text) or gives_up(self.told.text)
        return not is_other and not self.is_given_up(frame)

    def is_sure_of(self, frame: Sent) -> bool:
        """Return whether a matching result cannot be chance: the name tells the server, or the text is long."""
        return self.is_told_much or names_server(self.asked.name, frame.server, frame.tool)

    @property
    def is_told_much(self) -> bool:
        """Whether the result is too long to match an answer by chance."""
        return self.told is not None and len(self.told.text) >= _TELLING


Possible: TypeAlias = dict[FrameKey, list[Candidate]]
"""The calls that each frame may carry, by the frame's key."""


class _Ended(Enum):
    """How a frame ended whose answer the model did not get in time."""

    WAITED_FOR = auto()
    DROPPED = auto()
    LATE = auto()
    OPEN = auto()


def _state(frame: Sent, at_ns: int) -> _Ended | Says:
    """Return a frame's answer at a time, or how the frame ended without an answer by then."""
    answer = frame.answer
    if frame.dropped:
        return _Ended.WAITED_FOR if frame.dropped[0] > at_ns + frame.within_ns else _Ended.DROPPED
    if answer is None:  # what never came may also have been asked for again where no tap was
        return _Ended.OPEN
    return _Ended.LATE if answer.at_ns > at_ns + frame.within_ns else answer.says


def _grade(text: str, state: _Ended | Says) -> int | None:
    """Grade how a result repeats a frame's answer."""
    match state:
        case _Ended.WAITED_FOR:
            return OTHER
        case _Ended.DROPPED:
            return END if gives_up(text) else None
        case _Ended.LATE if gives_up(text):
            return HINT
        case _Ended.LATE | _Ended.OPEN:
            return OTHER if refuses(text) else None
        case Says():
            return tells(text, state)


def with_twins(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Mark equal calls of one answer whose different results only their order assigns."""
    alike: dict[tuple[str, str, str, str], list[Candidate]] = defaultdict(list)
    for call in candidates:
        if call.told is not None and not call.told.by_id and call.places is not None:
            alike[call.alike].append(call)
    texts = {key: {call.told.text for call in same if call.told is not None} for key, same in alike.items()}
    twins = {call.asked.key for key, same in alike.items() if len(texts[key]) > 1 for call in same}
    return [replace(call, is_twin=True) if call.asked.key in twins else call for call in candidates]
