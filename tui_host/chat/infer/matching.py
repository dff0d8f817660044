"""Which `tools/call` frame carries which call. What is doubtful is joined to nothing.

A frame may carry a call if its name may stand for the frame's tool, the arguments are equal, it was sent after the call was asked
for and before the conversation went on, and what the model was told of the call is what the server answered. Where several are
possible on either side, only what leaves no other reading is taken.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from tui_host.chat.infer.clocks import LEAST, Shift, shift_of
from tui_host.chat.infer.values import Answer, Asked, Sent, canonical, canonical_text

_SHORT = 24
"""Characters from which on a text that stands within another says that it is the same."""
_BEGINNING = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A call that some frame may carry.

    Attributes:
        asked: The call.
        arguments: Its arguments in the one form that equal arguments have; None if they are no JSON.
        tools: Server and own name of the tools that its name may stand for.
        until_ns: When the conversation went on; None while it has not.
        told: What the model was told of it, None if nothing yet.
        told_place: The place of that among what was told with it, -1 if nothing was.
    """

    asked: Asked
    arguments: str | None
    tools: frozenset[tuple[str, str]]
    until_ns: int | None = None
    told: str | None = None
    told_place: int = -1

    @property
    def answer(self) -> tuple[str, str]:
        """The answer that asked for it."""
        return self.asked.capture, self.asked.exchange


@dataclass(frozen=True, slots=True)
class _Carried:
    """A frame, with those before it that carried the same because no answer came."""

    frames: tuple[Sent, ...]

    @property
    def last(self) -> Sent:
        return self.frames[-1]

    @property
    def key(self) -> tuple[str, int]:
        return self.last.key

    @property
    def line(self) -> tuple[str, str]:
        """The connection."""
        return self.last.capture, self.last.connection


_Possible: TypeAlias = dict[tuple[str, int], list[Candidate]]
"""The calls that each frame may carry, by the frame's key."""


def match(candidates: Sequence[Candidate], frames: Sequence[Sent]) -> dict[str, tuple[Sent, ...]]:
    """The frames of each call that has any, by the call's key; several where it was sent again because no answer came."""
    by_arguments: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        if candidate.arguments is not None:
            by_arguments[candidate.arguments].append(candidate)
    possible: _Possible = {}
    for frame in frames:
        found = [each for each in by_arguments[frame.arguments] if (frame.server, frame.tool) in each.tools]
        possible[frame.key] = [each for each in found if _may_tell(each, frame) is not False]
    shifts = _shifts(possible, frames)
    for frame in frames:
        shift = shifts[frame.capture]
        possible[frame.key] = [each for each in possible[frame.key] if _is_in_time(each, frame, shift)]
    joined: dict[str, tuple[Sent, ...]] = {}
    for group, members in _groups(list(_carried(possible, frames, shifts)), possible):
        joined.update(_Group(group, members, possible).joined())
    return joined


def _carried(possible: _Possible, frames: Sequence[Sent], shifts: Mapping[str, Shift]) -> Iterator[_Carried]:
    """The frames; one that was not answered with the next of its kind on another connection, if one call may have both."""
    ordered = sorted(frames, key=lambda frame: frame.at_ns + shifts[frame.capture].ns)
    open_ones: dict[tuple[str, str, str], list[_Carried]] = defaultdict(list)
    whole: dict[tuple[str, int], _Carried] = {}
    for frame in ordered:
        waiting = open_ones[frame.server, frame.tool, frame.arguments]
        now = _Carried((frame,))
        for before in waiting:
            both = [each for each in possible[before.key] if each in possible[frame.key]]
            if before.line != now.line and both:
                waiting.remove(before)
                del whole[before.key]
                possible[frame.key] = both
                now = _Carried((*before.frames, frame))
                break
        whole[now.key] = now
        if frame.answer is None:
            waiting.append(now)
    yield from whole.values()


def _shifts(possible: _Possible, frames: Sequence[Sent]) -> dict[str, Shift]:
    """How far each tap's clock is off, by what can be nothing else; a tap of which too little tells is as the others are."""
    telling = {
        frame.key: [each for each in possible[frame.key] if _may_tell(each, frame)] or possible[frame.key]
        for frame in frames
    }
    wanted = Counter(each.asked.key for found in telling.values() for each in found)
    bounds: dict[str, list[tuple[int, int | None]]] = {frame.capture: [] for frame in frames}
    for frame in frames:
        found = telling[frame.key]
        if len(found) == 1 and wanted[found[0].asked.key] == 1:
            call, last = found[0], frame.answer.at_ns if frame.answer is not None else frame.at_ns
            high = None if call.until_ns is None else call.until_ns - last
            bounds[frame.capture].append((call.asked.at_ns - frame.at_ns, high))
    usual = shift_of([bound for found in bounds.values() for bound in found])
    return {capture: shift_of(found) if len(found) >= LEAST else usual for capture, found in bounds.items()}


def _is_in_time(call: Candidate, frame: Sent, shift: Shift) -> bool:
    at = frame.at_ns + shift.ns
    return call.asked.at_ns - shift.within_ns <= at and (call.until_ns is None or at <= call.until_ns + shift.within_ns)


def _may_tell(call: Candidate, frame: Sent) -> bool | None:
    """Whether what was told of a call is what came back on a frame; None if that cannot be said."""
    if call.told is None:
        return None
    answer = frame.answer
    if answer is None:
        return None
    if not answer.texts:
        return None
    return _tells(call.told, answer)


@lru_cache(maxsize=1 << 15)
def _tells(told: str, answer: Answer) -> bool:
    told = told.strip()
    inner = {told, canonical_text(told) or told}
    for text in answer.texts:
        wanted = text.strip()
        if wanted in inner or (not wanted and not told):
            return True
        escaped = json.dumps(wanted, ensure_ascii=False)[1:-1]
        if f'"{escaped}"' in told or canonical(wanted) in told:
            return True
        if f"\n{wanted}\n" in f"\n{told}\n" or f"\\n{escaped}\\n" in told:  # framed by the host: lines of its own
            return True
        if len(wanted) >= _SHORT and (wanted[:_BEGINNING] in told or escaped[:_BEGINNING] in told):
            return True
    return any(told.removeprefix("Error").lstrip(":\n ") == text.strip() for text in answer.texts if answer.is_error)


def _groups(carried: Iterable[_Carried], possible: _Possible) -> list[tuple[list[_Carried], list[Candidate]]]:
    """Frames and calls that compete with each other, apart from all others."""
    of_call: dict[str, tuple[list[_Carried], dict[str, Candidate]]] = {}
    for each in carried:
        whole: tuple[list[_Carried], dict[str, Candidate]] = ([each], {})
        touching = {id(group): group for call in possible[each.key] if (group := of_call.get(call.asked.key))}
        for members, calls in touching.values():
            whole[0].extend(members)
            whole[1].update(calls)
        whole[1].update((call.asked.key, call) for call in possible[each.key])
        of_call.update(dict.fromkeys(whole[1], whole))
    groups = {id(group): group for group in of_call.values()}
    return [(members, list(calls.values())) for members, calls in groups.values()]


class _Group:
    """Calls and frames that compete: what is certain is taken away, until nothing more is."""

    def __init__(self, carried: list[_Carried], calls: list[Candidate], possible: _Possible) -> None:
        self._carried = {each.key: each for each in carried}
        self._calls = {call.asked.key: call for call in calls}
        self._possible = {each.key: [call.asked.key for call in possible[each.key]] for each in carried}
        self._joined: dict[str, tuple[Sent, ...]] = {}

    def joined(self) -> dict[str, tuple[Sent, ...]]:
        """What is certain."""
        while self._by_text() or self._alone() or self._in_order() or self._twins():
            pass
        return self._joined

    def _take(self, call: str, key: tuple[str, int]) -> bool:
        self._joined[call] = self._carried[key].frames
        del self._possible[key]
        for calls in self._possible.values():
            if call in calls:
                calls.remove(call)
        return True

    def _frames_of(self, call: str) -> list[tuple[str, int]]:
        return [key for key, calls in self._possible.items() if call in calls]

    def _by_text(self) -> bool:
        """A frame that brought what was told of one call alone, which no other brought, and no call may still be told."""
        telling = {
            key: [call for call in calls if _may_tell(self._calls[call], self._carried[key].last)]
            for key, calls in self._possible.items()
            if calls
        }
        for key, calls in telling.items():
            is_alone = len(calls) == 1 and sum(calls[0] in others for others in telling.values()) == 1
            if is_alone and all(self._calls[other].told is not None for other in self._possible[key]):
                return self._take(calls[0], key)
        return False

    def _alone(self) -> bool:
        """A frame that only one call is left for, and no other frame for that call."""
        for key, calls in self._possible.items():
            if len(calls) == 1 and len(self._frames_of(calls[0])) == 1:
                return self._take(calls[0], key)
        return False

    def _in_order(self) -> bool:
        """As many frames on one connection as calls, each asked for after the conversation had gone on from the one before."""
        calls = sorted({call for found in self._possible.values() for call in found}, key=self._asked_at)
        keys = sorted((key for key, found in self._possible.items() if found), key=lambda key: key[1])
        lasting = [self._calls[call].until_ns for call in calls[:-1]]
        is_settled = (
            len(calls) == len(keys) > 1
            and self._is_one_line(keys)
            and all(call in self._possible[key] for call, key in zip(calls, keys, strict=True))
            and all(
                until is not None and until <= self._asked_at(after)
                for until, after in zip(lasting, calls[1:], strict=True)
            )
        )
        for call, key in zip(calls, keys, strict=True) if is_settled else ():
            self._take(call, key)
        return is_settled

    def _twins(self) -> bool:
        """As many frames on one connection as calls of one answer, all alike, told in the order in which they were asked."""
        alike = defaultdict[frozenset[str], list[tuple[str, int]]](list)
        for key, calls in self._possible.items():
            alike[frozenset(calls)].append(key)
        for names, keys in alike.items():
            calls = sorted((self._calls[name] for name in names), key=lambda each: each.asked.number)
            places = [call.told_place for call in calls]
            is_settled = (
                len(calls) == len(keys) > 1
                and len({call.answer for call in calls}) == 1
                and self._is_one_line(keys)
                and all(self._frames_of(name) == keys for name in names)
                and min(places) >= 0
                and places == sorted(places)
            )
            for call, key in zip(calls, sorted(keys), strict=True) if is_settled else ():
                self._take(call.asked.key, key)
            if is_settled:
                return True
        return False

    def _is_one_line(self, keys: Iterable[tuple[str, int]]) -> bool:
        return len({self._carried[key].line for key in keys}) == 1

    def _asked_at(self, call: str) -> int:
        return self._calls[call].asked.at_ns
