"""Find the calls that each frame may carry, by tool, arguments, time and answer, and the offsets of the taps' clocks."""

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
"""The most calls of one kind that are compared for clock offsets."""
_EVER_NS = 1 << 62
"""The uncertainty of times before clock offsets are known."""
_PATIENCE_NS = 3000 * 1_000_000_000
"""How long after a call its frame may be sent if the conversation does not continue; less than a time zone."""
_Kind: TypeAlias = tuple[str, str, str]
"""Server, tool, and arguments in `lean` form."""


class PossiblePairs:
    """Calls and frames by tool and arguments.

    Args:
        candidates: The calls.
        frames: The frames.

    Attributes:
        frames: The frames in the order of time.
        timed: The captures with known clock offsets.
        refused: The calls whose result speaks against a frame, by frame.
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
        for call in candidates:
            for tool in call.tools if call.arguments is not None else ():
                kind = (*tool, _lean(call.arguments or "", defaults.get(tool, ())))
                if kind in self._frames:
                    self._calls[kind].append(call)

    @classmethod
    def on_one_clock(cls, candidates: Sequence[Candidate], frames: Sequence[Sent]) -> PossiblePairs:
        """Build the pairs with the times of all frames on the model's clock."""
        pairs = cls(candidates, frames)
        shifts, timed = pairs.shifts()
        unlikely = {capture: Shift() for capture, shift in shifts.items() if not is_likely(shift)}
        of_one_machine = pairs._of_one_machine()
        sure = unlikely | of_one_machine
        shifts |= sure
        fits: dict[Line, list[Fit]] = defaultdict(list)
        for frame, call in pairs.fitting(shifts):
            if frame.capture in sure or (timed and frame.capture != call.asked.capture):
                continue  # taps run side by side, so a tap without evidence has the clock of the others
            if is_likely((fit := _fit(frame, call)).shift):
                fits[frame.line].append(fit)
        of_line = {frame.line: shifts[frame.capture] for frame in frames}
        found_on: dict[Hashable, set[Line]] = defaultdict(set)
        for line, line_fits in fits.items():
            for fit in agreeing(of_line[line], line_fits):
                found_on[fit.call].add(line)
        for line, line_fits in fits.items():  # calls on another connection are not missing on this one
            of_line[line] = doubted(of_line[line], [fit for fit in line_fits if found_on[fit.call] <= {line}])
        cuts = pairs._rounding()
        moved = cls(
            candidates, [_on_clock(frame, of_line[frame.line].blurred(*cuts[frame.key])) for frame in pairs.frames]
        )
        moved.timed = timed | of_one_machine.keys()
        return moved

    def _rounding(self) -> Mapping[FrameKey, tuple[int, int]]:
        """Return by how much each frame's time may differ because a clock leaves out fractions."""
        cuts: dict[FrameKey, tuple[int, int]] = {}
        for kind, frames in self._frames.items():
            asked = {call.clock: call.cut_ns for call in self._calls.get(kind, ())}
            for frame in frames:
                foreign_cuts = [cut_ns for clock, cut_ns in asked.items() if clock != (frame.capture, frame.server)]
                cuts[frame.key] = max(foreign_cuts, default=0), frame.cut_ns if foreign_cuts else 0
        return cuts

    def shifts(self) -> tuple[dict[str, Shift], set[str]]:
        """Estimate each tap's clock offset from unambiguous pairs, and list the captures with such pairs.

        A tap without unambiguous pairs gets the offset of the other taps.
        """
        telling = {
            frame.key: list(self._fitting_by_content(replace(frame, within_ns=_EVER_NS), kind))
            for kind, frames in self._frames.items()
            for frame in frames
        }
        wanted = Counter(call.asked.key for calls in telling.values() for call in calls)
        bounds: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
        for frames in self._frames.values():
            brought = Counter(_first_text(frame) for frame in frames)
            for frame in frames:
                calls = telling[frame.key]
                is_only = len(calls) == 1 and calls[0].told is not None and wanted[calls[0].asked.key] == 1
                if is_only or (brought[_first_text(frame)] == 1 and _is_told_of_one(calls, frame)):
                    bounds[frame.capture] += _bounds(calls, frame)
        usual = shift_of([bound for frame_bounds in bounds.values() for bound in frame_bounds])
        usual = covering([usual, *(shift_of(own, usual) for own in bounds.values())])
        captures = {frame.capture for frames in self._frames.values() for frame in frames}
        return {capture: shift_of(bounds[capture], usual) for capture in captures}, {
            capture for capture, own in bounds.items() if own
        }

    def _of_one_machine(self) -> dict[str, Shift]:
        """Return the offsets of taps that ran on the same machine as the models' taps."""
        apart: dict[str, set[int | None]] = defaultdict(set)
        for kind, frames in self._frames.items():
            for capture, boot_ns in {(frame.capture, frame.boot_ns) for frame in frames}:
                calls = {(call.asked.capture, call.boot_ns) for call in self._calls.get(kind, ())}
                apart[capture] |= {ns - boot_ns if boot_ns and ns and of != capture else None for of, ns in calls}
        offsets_by_capture = {
            capture: [ns for ns in offsets if ns is not None]
            for capture, offsets in apart.items()
            if None not in offsets
        }
        return {
            capture: covering([Shift(ns) for ns in offsets])
            for capture, offsets in offsets_by_capture.items()
            if offsets and max(map(abs, offsets)) < SECOND_NS
        }

    def fitting(self, shifts: Mapping[str, Shift]) -> Iterator[tuple[Sent, Candidate]]:
        """Yield frames with calls whose results repeat the frame's answer; of many calls the nearest in time."""
        for kind, frames in self._frames.items():
            calls = [call for call in self._calls.get(kind, ()) if call.told is not None and call.is_timed]
            calls.sort(key=_asked_at)
            for frame in frames if calls else ():
                if frame.answer is None or frame.mono_ns is None:
                    continue
                place = bisect_left(calls, frame.at_ns + shifts[frame.capture].ns, key=_asked_at)
                timeless = replace(frame, within_ns=_EVER_NS)
                for call in calls[max(place - _FEW // 2, 0) : place + _FEW // 2]:
                    if call.may_be_on(frame) and call.best_grade(timeless):
                        yield frame, call

    def _fitting_by_content(self, frame: Sent, kind: _Kind) -> Iterator[Candidate]:
        """Yield the calls that a frame may carry by content alone; of many calls only exact matches."""
        calls = [call for call in self._calls.get(kind, ()) if call.may_be_on(frame)]
        if len(calls) > _FEW:
            texts = {text.strip() for text in frame.answer.texts} if frame.answer is not None else set[str]()
            yield from (call for call in calls if call.told is not None and call.told.text.strip() in texts)
            return
        grades = [(call, call.best_grade(frame) if call.is_twin else call.tells(frame)) for call in calls]
        is_sure = len(_first_text(frame)) >= SHORT and any(grade for _, grade in grades)
        for call, grade in grades:
            if grade or (grade is None and not is_sure):  # the result may come later, or stand in another place
                yield call

    def is_repeated(self, call: Candidate) -> bool:
        """Return whether the agent made an equal call before. The host may have kept the earlier result."""
        kinds = [calls for calls in self._calls.values() if call in calls]
        return any(
            call.agent == earlier.agent and earlier.asked.at_ns < call.asked.at_ns and earlier.answer != call.answer
            for calls in kinds
            for earlier in calls
        )

    def possible(self) -> Possible:
        """Return the calls that each frame may carry."""
        calls_by_frame: Possible = {}
        for kind, frames in self._frames.items():
            calls = self._calls.get(kind, [])
            able: list[tuple[Sent, list[Candidate]]] = []
            for frame, alive in _in_time(calls, frames):
                own = [(call, call.tells(frame)) for call in alive if call.may_be_on(frame)]
                able.append((frame, [call for call, grade in own if grade != OTHER]))
                self.refused[frame.key] = [call for call, grade in own if grade == OTHER]
            elsewhere = _possibly_swapped(able)
            brought = Counter(_first_text(frame) for frame in frames)
            for frame, own in able:
                is_only = brought[_first_text(frame)] == 1 and len(_first_text(frame)) >= SHORT
                calls_by_frame[frame.key] = _of_named_server(
                    _without_unreported(own, frame, elsewhere, is_only=is_only), frame
                )
        return calls_by_frame


def _bounds(calls: Sequence[Candidate], frame: Sent) -> Sequence[tuple[int, int | None]]:
    """Return the least and greatest clock offset if a frame carried one of an answer's calls; twice if certain."""
    call, last = calls[0], frame.answer.at_ns if frame.answer is not None else frame.at_ns
    high = None if call.until_ns is None else call.until_ns + call.cut_ns - (frame.at_ns if frame.dropped else last)
    is_sure = call.has_long_result and call.tells(frame) == SAME
    return [(min(call.asked.at_ns for call in calls) - frame.at_ns - frame.cut_ns, high)] * (2 if is_sure else 1)


def _fit(frame: Sent, call: Candidate) -> Fit:
    last = frame.answer.at_ns if frame.answer is not None else frame.at_ns
    until = last if call.until_ns is None else call.until_ns + call.cut_ns
    return Fit(frame.key, call.asked.key, call.asked.at_ns - frame.at_ns - frame.cut_ns, until - last)


def _asked_at(call: Candidate) -> int:
    return call.asked.at_ns


def _first_text(frame: Sent) -> str:
    """Return the text of a frame's answer; empty if there is none."""
    return next(iter(frame.answer.texts), "") if frame.answer is not None else ""


def _is_told_of_one(calls: Sequence[Candidate], frame: Sent) -> bool:
    """Return whether a frame's long answer is a result of some call among equal calls of an answer."""
    timeless = replace(frame, within_ns=_EVER_NS)
    return (
        len(_first_text(frame)) >= SHORT
        and len({call.answer for call in calls}) == 1
        and all(call.is_twin and (call.best_grade(timeless) or OTHER) >= BEGINNING for call in calls)
    )


@lru_cache(maxsize=1 << 12)
def _lean(arguments: str, defaults: tuple[tuple[str, str], ...]) -> str:
    return lean(arguments, dict(defaults))


def _in_time(calls: Sequence[Candidate], frames: Sequence[Sent]) -> Iterator[tuple[Sent, list[Candidate]]]:
    """Yield each frame with the calls made before the frame whose conversations had not continued yet."""
    widest = max((frame.within_ns for frame in frames), default=0)
    coming = sorted(calls, key=lambda call: call.asked.at_ns, reverse=True)
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
        yield frame, [call for call in alive.values() if call.asked.at_ns <= most and least <= _until(call)]


def _until(call: Candidate) -> int:
    return call.asked.at_ns + _PATIENCE_NS if call.until_ns is None else call.until_ns


def _possibly_swapped(able: Iterable[tuple[Sent, Sequence[Candidate]]]) -> Container[str]:
    """Return the calls whose result may stand in another call's place."""
    return {
        call.asked.key
        for frame, calls in able
        for call in calls
        if call.places is not None and not call.is_twin and not call.own_grade(frame) and call.best_grade(frame)
    }


def _without_unreported(
    calls: list[Candidate], frame: Sent, elsewhere: Container[str], *, is_only: bool
) -> list[Candidate]:
    """Remove calls without a result where other calls' results certainly repeat the frame's answer.

    The other calls must have been made before the frame for certain: else their host may have kept the result. If no other
    frame brought the answer, calls for which the answer came too late are removed too.
    """
    with_results = [call for call in calls if call.told is not None and not (is_only and call.gave_up_on(frame))]
    by_ns = frame.at_ns + (SURE_NS if frame.within_ns <= SURE_NS else -frame.within_ns)
    own = [call for call in with_results if call.asked.key not in elsewhere and call.asked.at_ns <= by_ns]
    if len(with_results) < len(calls) and any(call.own_grade(frame) and call.is_sure_of(frame) for call in own):
        return with_results
    return calls


def _of_named_server(calls: list[Candidate], frame: Sent) -> list[Candidate]:
    """Remove calls that do not name the frame's server, if another call of the answer does."""
    if len(calls) < 2:
        return calls
    naming = {call.answer for call in calls if names_server(call.asked.name, frame.server, frame.tool)}
    return [
        call for call in calls if call.answer not in naming or names_server(call.asked.name, frame.server, frame.tool)
    ]


def _on_clock(frame: Sent, shift: Shift) -> Sent:
    """Move a frame and its answer to the model's clock."""
    answer = frame.answer and replace(frame.answer, at_ns=frame.answer.at_ns + shift.ns)
    dropped = frame.dropped and (frame.dropped[0] + shift.ns, frame.dropped[1])
    at_ns, since_ns = frame.at_ns + shift.ns, frame.since_ns + shift.ns
    return replace(frame, at_ns=at_ns, since_ns=since_ns, within_ns=shift.within_ns, dropped=dropped, answer=answer)
