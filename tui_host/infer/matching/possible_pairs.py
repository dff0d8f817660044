"""Which calls each frame may carry, by what it says, by when it was sent, and by what came back; and how far taps' clocks are off."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from tui_host.infer.call_values import FrameKey, Line, Sent, lean
from tui_host.infer.clock_offsets import (
    SECOND_NS,
    SURE_NS,
    Fit,
    Shift,
    agreeing,
    covering,
    doubted,
    is_likely,
    shift_of,
)
from tui_host.infer.matching.candidates import Candidate, Possible
from tui_host.infer.same_result import BEGINNING, OTHER, SAME, SHORT
from tui_host.infer.tool_aliases import names_server

_FEW = 32
"""Calls of one kind among which all are looked at to find out how far clocks are off."""
_EVER_NS = 1 << 62
"""How exact times are before it is known how far clocks are off."""
_PATIENCE_NS = 3000 * 1_000_000_000
"""So long after it was asked for may a call be sent whose conversation does not go on; less than a clock's other zone is off."""
_Kind: TypeAlias = tuple[str, str, str]
"""Server, tool, and arguments in the form that those have which may be sent for each other."""


class PossiblePairs:
    """Calls and frames by kind.

    Args:
        candidates: The calls.
        frames: The frames.

    Attributes:
        frames: The frames in the order of time.
        timed: The captures of which is known how far their clocks are off.
        refused: The calls that each frame might carry but for what is told of them, as far as was looked.
    """

    def __init__(self, candidates: Sequence[Candidate], frames: Sequence[Sent]) -> None:
        self.frames = sorted(frames, key=lambda frame: frame.at_ns)
        defaults = {(frame.server, frame.tool): frame.defaults for frame in frames}
        self._frames: dict[_Kind, list[Sent]] = defaultdict(list)
        for frame in self.frames:
            tool = (frame.server, frame.tool)
            self._frames[*tool, _lean(frame.arguments, defaults[tool])].append(frame)
        self.refused: Possible = {}
        self.timed: set[str] = set()
        self._calls: dict[_Kind, list[Candidate]] = defaultdict(list)
        for each in candidates:
            for tool in each.tools if each.arguments is not None else ():
                kind = (*tool, _lean(each.arguments or "", defaults.get(tool, ())))
                if kind in self._frames:
                    self._calls[kind].append(each)

    @classmethod
    def on_one_clock(cls, candidates: Sequence[Candidate], frames: Sequence[Sent]) -> PossiblePairs:
        """The same with the times of all frames on the model's clock."""
        field = cls(candidates, frames)
        shifts, told = field.shifts()
        unlikely = {capture: Shift() for capture, shift in shifts.items() if not is_likely(shift)}
        of_one_machine = field._of_one_machine()
        sure = unlikely | of_one_machine
        shifts |= sure
        fits: dict[Line, list[Fit]] = defaultdict(list)
        for frame, call in field.fitting(shifts):
            if frame.capture in sure or (told and frame.capture != call.asked.capture):
                continue  # taps run beside each other: those of which nothing is told have the clock of the others
            if is_likely((fit := _fit(frame, call)).shift):
                fits[frame.line].append(fit)
        of_line = {frame.line: shifts[frame.capture] for frame in frames}
        found_on: dict[Hashable, set[Line]] = defaultdict(set)
        for line, found in fits.items():
            for each in agreeing(of_line[line], found):
                found_on[each.call].add(line)
        for line, found in fits.items():  # what another connection has is not missing on this one
            of_line[line] = doubted(of_line[line], [each for each in found if found_on[each.call] <= {line}])
        cuts = field._cuts()
        found = cls(candidates, [_on_clock(each, of_line[each.line].blurred(*cuts[each.key])) for each in field.frames])
        found.timed = told | of_one_machine.keys()
        return found

    def _cuts(self) -> Mapping[FrameKey, tuple[int, int]]:
        """How much sooner, and later, each frame may be on the model's clock, as that, or its own, is cut: one clock keeps the order."""
        cuts: dict[FrameKey, tuple[int, int]] = {}
        for kind, frames in self._frames.items():
            asked = {call.clock: call.cut_ns for call in self._calls.get(kind, ())}
            for frame in frames:
                others = [cut_ns for clock, cut_ns in asked.items() if clock != (frame.capture, frame.server)]
                cuts[frame.key] = max(others, default=0), frame.cut_ns if others else 0
        return cuts

    def shifts(self) -> tuple[dict[str, Shift], set[str]]:
        """How far each tap's clock is off, by what can be nothing else, and of which that is told; one of which too little tells is as the others are."""
        telling = {
            frame.key: list(self._telling(replace(frame, within_ns=_EVER_NS), kind))
            for kind, frames in self._frames.items()
            for frame in frames
        }
        wanted = Counter(each.asked.key for found in telling.values() for each in found)
        bounds: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
        for frames in self._frames.values():
            brought = Counter(_first_text(frame) for frame in frames)
            for frame in frames:
                found = telling[frame.key]
                is_only = len(found) == 1 and found[0].told is not None and wanted[found[0].asked.key] == 1
                if is_only or (brought[_first_text(frame)] == 1 and _is_told_of_one(found, frame)):
                    bounds[frame.capture] += _bounds(found, frame)
        usual = shift_of([bound for found in bounds.values() for bound in found])
        usual = covering([usual, *(shift_of(own, usual) for own in bounds.values())])
        captures = {frame.capture for frames in self._frames.values() for frame in frames}
        return {capture: shift_of(bounds[capture], usual) for capture in captures}, {
            capture for capture, own in bounds.items() if own
        }

    def _of_one_machine(self) -> dict[str, Shift]:
        """The shifts of the taps that ran on one machine with those before all models that may have asked for their calls: there is but one clock."""
        apart: dict[str, set[int | None]] = defaultdict(set)
        for kind, frames in self._frames.items():
            for capture, boot_ns in {(frame.capture, frame.boot_ns) for frame in frames}:
                calls = {(call.asked.capture, call.boot_ns) for call in self._calls.get(kind, ())}
                apart[capture] |= {ns - boot_ns if boot_ns and ns and of != capture else None for of, ns in calls}
        known = {
            capture: [ns for ns in found if ns is not None] for capture, found in apart.items() if None not in found
        }
        return {
            capture: covering([Shift(ns) for ns in found])
            for capture, found in known.items()
            if found and max(map(abs, found)) < SECOND_NS
        }

    def fitting(self, shifts: Mapping[str, Shift]) -> Iterator[tuple[Sent, Candidate]]:
        """The frames with the calls that are told what they brought, of many those that were asked for next to when they were sent."""
        for kind, frames in self._frames.items():
            told = [each for each in self._calls.get(kind, ()) if each.told is not None and each.is_timed]
            told.sort(key=_asked_at)
            for frame in frames if told else ():
                if frame.answer is None or frame.mono_ns is None:
                    continue
                place = bisect_left(told, frame.at_ns + shifts[frame.capture].ns, key=_asked_at)
                timeless = replace(frame, within_ns=_EVER_NS)
                for call in told[max(place - _FEW // 2, 0) : place + _FEW // 2]:
                    if call.may_be_on(frame) and call.tells_beside(timeless):
                        yield frame, call

    def _telling(self, frame: Sent, kind: _Kind) -> Iterator[Candidate]:
        """The calls that a frame seems to carry by what it says alone; of many of its kind, those that are told just that."""
        calls = [each for each in self._calls.get(kind, ()) if each.may_be_on(frame)]
        if len(calls) > _FEW:
            texts = {text.strip() for text in frame.answer.texts} if frame.answer is not None else set[str]()
            yield from (each for each in calls if each.told is not None and each.told.text.strip() in texts)
            return
        grades = [(each, each.tells_beside(frame) if each.is_twin else each.tells(frame)) for each in calls]
        is_sure = len(_first_text(frame)) >= SHORT and any(grade for _, grade in grades)
        for each, grade in grades:
            if grade or (grade is None and not is_sure):  # it may be told nothing yet, or in another's place
                yield each

    def is_repeated(self, call: Candidate) -> bool:
        """Whether who asks for a call asked for the same before: its host may have kept the result."""
        kinds = [calls for calls in self._calls.values() if call in calls]
        return any(
            call.agent == other.agent and other.asked.at_ns < call.asked.at_ns and other.answer != call.answer
            for calls in kinds
            for other in calls
        )

    def possible(self) -> Possible:
        """The calls that each frame may carry."""
        found: Possible = {}
        for kind, frames in self._frames.items():
            calls = self._calls.get(kind, [])
            able: list[tuple[Sent, list[Candidate]]] = []
            for frame, alive in _in_time(calls, frames):
                own = [(each, each.tells(frame)) for each in alive if each.may_be_on(frame)]
                able.append((frame, [each for each, grade in own if grade != OTHER]))
                self.refused[frame.key] = [each for each, grade in own if grade == OTHER]
            elsewhere = _elsewhere(able)
            brought = Counter(_first_text(frame) for frame in frames)
            for frame, own in able:
                is_only = brought[_first_text(frame)] == 1 and len(_first_text(frame)) >= SHORT
                found[frame.key] = _naming(_told(own, frame, elsewhere, is_only=is_only), frame)
        return found


def _bounds(calls: Sequence[Candidate], frame: Sent) -> Sequence[tuple[int, int | None]]:
    """By how much a frame's times must be moved at least, and at most, if it carried one of the calls of an answer; twice if that is sure."""
    call, last = calls[0], frame.answer.at_ns if frame.answer is not None else frame.at_ns
    high = None if call.until_ns is None else call.until_ns + call.cut_ns - (frame.at_ns if frame.dropped else last)
    is_sure = call.is_told_much and call.tells(frame) == SAME
    return [(min(each.asked.at_ns for each in calls) - frame.at_ns - frame.cut_ns, high)] * (2 if is_sure else 1)


def _fit(frame: Sent, call: Candidate) -> Fit:
    last = frame.answer.at_ns if frame.answer is not None else frame.at_ns
    until = last if call.until_ns is None else call.until_ns + call.cut_ns
    return Fit(frame.key, call.asked.key, call.asked.at_ns - frame.at_ns - frame.cut_ns, until - last)


def _asked_at(call: Candidate) -> int:
    return call.asked.at_ns


def _first_text(frame: Sent) -> str:
    """What a frame brought; empty for nothing, or no text."""
    return next(iter(frame.answer.texts), "") if frame.answer is not None else ""


def _is_told_of_one(calls: Sequence[Candidate], frame: Sent) -> bool:
    """Whether what a frame brought is told of one of alike calls of an answer, nobody knows of which, and so long that it is no chance."""
    timeless = replace(frame, within_ns=_EVER_NS)
    return (
        len(_first_text(frame)) >= SHORT
        and len({call.answer for call in calls}) == 1
        and all(call.is_twin and (call.tells_beside(timeless) or OTHER) >= BEGINNING for call in calls)
    )


@lru_cache(maxsize=1 << 12)
def _lean(arguments: str, defaults: tuple[tuple[str, str], ...]) -> str:
    return lean(arguments, dict(defaults))


def _in_time(calls: Sequence[Candidate], frames: Sequence[Sent]) -> Iterator[tuple[Sent, list[Candidate]]]:
    """Each frame with the calls that were asked for before it, and whose conversations had not gone on yet."""
    widest = max((frame.within_ns for frame in frames), default=0)
    coming = sorted(calls, key=lambda each: each.asked.at_ns, reverse=True)
    alive: dict[str, Candidate] = {}
    ends: list[tuple[int, str]] = []
    for frame in frames:
        while coming and coming[-1].asked.at_ns - widest <= frame.at_ns:
            call = coming.pop()
            alive[call.asked.key] = call
            heapq.heappush(ends, (_until(call) + widest, call.asked.key))
        while ends and ends[0][0] < frame.at_ns:
            alive.pop(heapq.heappop(ends)[1], None)
        least, most = frame.at_ns - frame.within_ns, frame.at_ns + frame.within_ns
        yield frame, [each for each in alive.values() if each.asked.at_ns <= most and least <= _until(each)]


def _until(call: Candidate) -> int:
    return call.asked.at_ns + _PATIENCE_NS if call.until_ns is None else call.until_ns


def _elsewhere(able: Iterable[tuple[Sent, Sequence[Candidate]]]) -> Container[str]:
    """The calls that may have brought what stands in another's place among the results: what stands in their own may then be another's."""
    return {
        each.asked.key
        for frame, calls in able
        for each in calls
        if each.places is not None and not each.is_twin and not each.tells_itself(frame) and each.tells_beside(frame)
    }


def _told(calls: list[Candidate], frame: Sent, elsewhere: Container[str], *, is_only: bool) -> list[Candidate]:
    """Without those that are told nothing, where others are told just what a frame brought: of these each had a frame that did.

    That is where they were asked for by then without a doubt: else what they are told may be what their host knew before. If it is
    the only frame that brought that, those are told nothing either for which it came too late.
    """
    told = [each for each in calls if each.told is not None and not (is_only and each.is_given_up(frame))]
    by_ns = frame.at_ns + (SURE_NS if frame.within_ns <= SURE_NS else -frame.within_ns)
    own = [each for each in told if each.asked.key not in elsewhere and each.asked.at_ns <= by_ns]
    if len(told) < len(calls) and any(each.tells_itself(frame) and each.is_sure_of(frame) for each in own):
        return told
    return calls


def _naming(calls: list[Candidate], frame: Sent) -> list[Candidate]:
    """Without those that name another server than one of the same answer does: that server has no tap."""
    if len(calls) < 2:
        return calls
    naming = {each.answer for each in calls if names_server(each.asked.name, frame.server, frame.tool)}
    return [
        each for each in calls if each.answer not in naming or names_server(each.asked.name, frame.server, frame.tool)
    ]


def _on_clock(frame: Sent, shift: Shift) -> Sent:
    """A frame and its answer on the model's clock."""
    answer = frame.answer and replace(frame.answer, at_ns=frame.answer.at_ns + shift.ns)
    dropped = frame.dropped and (frame.dropped[0] + shift.ns, frame.dropped[1])
    at_ns, since_ns = frame.at_ns + shift.ns, frame.since_ns + shift.ns
    return replace(frame, at_ns=at_ns, since_ns=since_ns, within_ns=shift.within_ns, dropped=dropped, answer=answer)
