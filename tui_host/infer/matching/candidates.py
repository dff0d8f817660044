"""A call that some frame may carry, with what is known of it from the model's side."""

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
    """What is told of calls of an answer where nothing but the order says what belongs to which: one value for all of these calls.

    Each frame is held against it once, not once for each call.

    Args:
        texts: What is told.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(texts)
        self._best: dict[Hashable, int | None] = {}

    def tell(self, frame: Sent, at_ns: int) -> int | None:
        """How best one of them, told then, tells what a frame brought; None if that cannot be said of one, and of none that it does."""
        state = _state(frame, at_ns)
        if state not in self._best:
            grades = {_grade(text, state) for text in self._texts}
            best = max((grade or OTHER for grade in grades), default=OTHER)
            self._best[state] = best if best or None not in grades else None
        return self._best[state]


def places_of(told: Mapping[Asked, Told | None]) -> Mapping[Asked, Places]:
    """The places that a call's result may have, where there are others than its own: neither ids nor names say what is told there.

    Args:
        told: Where the model is told of each call of an answer.
    """
    open_ones = {call: place for call, place in told.items() if place is not None and not place.by_id}
    named: dict[str, set[str]] = defaultdict(set)
    for call, place in open_ones.items():
        named[call.name].add(place.text)
    unnamed = {place.text for place in open_ones.values() if not place.by_name}
    texts = {
        (call.name, place.by_name): named[call.name] | (set[str]() if place.by_name else unnamed)
        for call, place in open_ones.items()
    }
    places = {key: Places(several) for key, several in texts.items() if len(several) > 1}
    found = {call: places.get((call.name, place.by_name)) for call, place in open_ones.items()}
    return {call: several for call, several in found.items() if several is not None}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A call that some frame may carry.

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
        """The answer that asked for it."""
        return self.asked.capture, self.asked.exchange

    @property
    def alike(self) -> tuple[str, str, str, str]:
        """The same for calls of one answer that ask for the same."""
        return *self.answer, self.asked.name, self.arguments or self.asked.arguments

    def may_be_on(self, frame: Sent) -> bool:
        """Whether its host may have sent a frame, as hosts call themselves."""
        return self.connections is None or frame.line in self.connections

    def tells_itself(self, frame: Sent) -> int | None:
        """Whether what stands in the call's place among the results is what a frame brought; None if that cannot be said."""
        return None if self.told is None else _grade(self.told.text, _state(frame, self.told.at_ns))

    def tells(self, frame: Sent) -> int | None:
        """The same, where what stands in another's place may be its own: then it cannot be said."""
        own = self.tells_itself(frame)
        if self.is_twin and own:
            return None
        return None if own == OTHER != self.tells_beside(frame) else own

    def tells_beside(self, frame: Sent) -> int | None:
        """How best what stands in its place, or in another's, tells what a frame brought; None if that cannot be said of one."""
        if self.told is None or self.places is None:
            return self.tells_itself(frame)
        return self.places.tell(frame, self.told.at_ns)

    def is_given_up(self, frame: Sent) -> bool:
        """Whether nothing that a frame brought can have been told of it: no answer came, or none in time."""
        return not isinstance(_state(frame, _EVER_NS if self.told is None else self.told.at_ns), Says)

    @property
    def may_have_failed(self) -> bool:
        """Whether no answer may have come to what it was sent with: nothing is told of it yet, or that it failed."""
        return self.told is None or fails(self.told.text)

    @property
    def was_denied(self) -> bool:
        """Whether the model was told that a person denied it: so it was not sent."""
        return self.told is not None and denies(self.told.text)

    def may_be_told_otherwise(self, frame: Sent) -> bool:
        """Whether a host may tell something else than what a frame brought in time: and not that it did not send it."""
        is_other = self.told is None or refuses(self.told.text) or gives_up(self.told.text)
        return not is_other and not self.is_given_up(frame)

    def is_sure_of(self, frame: Sent) -> bool:
        """Whether that what is told is what a frame brought is no chance: its server is named, or the text is long."""
        return self.is_told_much or names_server(self.asked.name, frame.server, frame.tool)

    @property
    def is_told_much(self) -> bool:
        """Whether what is told is so long that the same elsewhere is no chance."""
        return self.told is not None and len(self.told.text) >= _TELLING


Possible: TypeAlias = dict[FrameKey, list[Candidate]]
"""The calls that each frame may carry, by the frame's key."""


class _Ended(Enum):
    """How a frame ended of which a model is told something else than what a server answered."""

    WAITED_FOR = auto()
    DROPPED = auto()
    LATE = auto()
    OPEN = auto()


def _state(frame: Sent, at_ns: int) -> _Ended | Says:
    """What is to be held against what is told then of a frame: the same for all that end alike."""
    answer = frame.answer
    if frame.dropped:
        return _Ended.WAITED_FOR if frame.dropped[0] > at_ns + frame.within_ns else _Ended.DROPPED
    if answer is None:  # what never came may also have been asked for again where no tap was
        return _Ended.OPEN
    return _Ended.LATE if answer.at_ns > at_ns + frame.within_ns else answer.says


def _grade(text: str, state: _Ended | Says) -> int | None:
    """Whether what is told is what a frame brought."""
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
    """The same, where those are marked that their places among the results do not tell apart."""
    alike: dict[tuple[str, str, str, str], list[Candidate]] = defaultdict(list)
    for each in candidates:
        if each.told is not None and not each.told.by_id and each.places is not None:
            alike[each.alike].append(each)
    texts = {key: {each.told.text for each in same if each.told is not None} for key, same in alike.items()}
    twins = {each.asked.key for key, same in alike.items() if len(texts[key]) > 1 for each in same}
    return [replace(each, is_twin=True) if each.asked.key in twins else each for each in candidates]
