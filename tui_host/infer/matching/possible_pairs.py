"""Find the calls that each frame may carry, by tool, arguments, time and answer, and the offsets of the taps' clocks."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from tui_host.infer.call_values import CallFrame, lean
from tui_host.infer.clock_offsets import DOUBTFUL_NS, SECOND_NS, SURE_NS, Shift, covering, is_likely, shift_of
from tui_host.infer.matching.candidates import Candidate, Possible
from tui_host.infer.same_result import OTHER, SAME, SHORT

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

    def __init__(self, candidates: Sequence[Candidate], frames: Sequence[CallFrame]) -> None:
        self.frames = sorted(frames, key=lambda frame: frame.at_ns)
        defaults = {(frame.server, frame.tool): frame.defaults for frame in frames}
        self._frames: dict[_Kind, list[CallFrame]] = defaultdict(list)
        for frame in self.frames:
            tool = (frame.server, frame.tool)
            self._frames[*tool, _lean(frame.arguments, defaults[tool])].append(frame)
        self.refused: Possible = {}
        self.timed: set[str] = set()
        self._calls: dict[_Kind, list[Candidate]] = defaultdict(list)
        self._opened = {call.call.capture for call in candidates} & {frame.capture for frame in frames}
        self._first: dict[tuple[Hashable, ...], Candidate] = {}
        for call in sorted(candidates, key=lambda call: call.at_ns):
            self._first.setdefault((call.agent[1:], call.arguments, call.tools), call)
            for tool in call.tools if call.arguments is not None else ():
                kind = (*tool, _lean(call.arguments or "", defaults.get(tool, ())))
                if kind in self._frames:
                    self._calls[kind].append(call)

    @classmethod
    def on_one_clock(cls, candidates: Sequence[Candidate], frames: Sequence[CallFrame]) -> PossiblePairs:
        """Build the pairs with the times of all frames on the model's clock."""
        pairs = cls(candidates, frames)
        shifts, timed = pairs.shifts()
        of_one_machine = pairs._of_one_machine()
        unlikely = {capture: Shift() for capture, shift in shifts.items() if not is_likely(shift)}
        shifts |= unlikely | of_one_machine
        # Logs opened together may be of two machines: where no call tells, their clocks may differ.
        opened = pairs._opened.intersection(shifts) - timed - unlikely.keys()
        shifts |= {
            capture: Shift(shifts[capture].ns, max(shifts[capture].within_ns, DOUBTFUL_NS)) for capture in opened
        }
        on_clock = [_on_clock(frame, shifts[frame.capture]) for frame in pairs.frames]
        moved = cls(candidates, on_clock)
        moved.timed = timed | of_one_machine.keys()
        return moved

    def shifts(self) -> tuple[dict[str, Shift], set[str]]:
        """Estimate each tap's clock offset from unambiguous pairs, and list the captures with such pairs.

        A tap without unambiguous pairs gets the offset of the other taps.
        """
        telling = {
            frame.key: list(self._fitting_by_content(replace(frame, within_ns=_EVER_NS), kind))
            for kind, frames in self._frames.items()
            for frame in frames
        }
        wanted = Counter(call.key for calls in telling.values() for call in calls)
        bounds: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
        for frames in self._frames.values():
            for frame in frames:
                calls = telling[frame.key]
                if len(calls) == 1 and calls[0].result is not None and wanted[calls[0].key] == 1:
                    bounds[frame.capture] += _bounds(calls[0], frame)
        for capture in self._opened - bounds.keys():
            bounds[capture] += self._bounds_in_order(capture)
        usual = shift_of([bound for frame_bounds in bounds.values() for bound in frame_bounds])
        usual = covering([usual, *(shift_of(own, usual) for own in bounds.values())])
        captures = {frame.capture for frames in self._frames.values() for frame in frames}
        return {capture: shift_of(bounds[capture], usual) for capture in captures}, {
            capture for capture, own in bounds.items() if own
        }

    def _bounds_in_order(self, capture: str) -> Iterator[tuple[int, int | None]]:
        """Yield the bounds by results that as many calls have as frames: the first call's frame is then the first of them."""
        for kind, frames in self._frames.items():
            frames_by_text: dict[str, list[CallFrame]] = defaultdict(list)
            calls_by_text: dict[str, list[Candidate]] = defaultdict(list)
            for frame in frames:
                if frame.capture == capture and frame.answer is not None:
                    frames_by_text[_first_text(frame)].append(frame)
            for call in self._calls.get(kind, ()):
                if call.result is not None:
                    calls_by_text[call.result.text.strip()].append(call)
            for text, of_text in frames_by_text.items():
                calls = calls_by_text.get(text, [])
                if text and len(calls) == len(of_text):
                    for call, frame in zip(calls, of_text, strict=True):
                        yield from _bounds(call, frame)

    def _of_one_machine(self) -> dict[str, Shift]:
        """Return the offsets of taps that ran on the same machine as the models' taps."""
        apart: dict[str, set[int | None]] = defaultdict(set)
        for kind, frames in self._frames.items():
            for capture, boot_ns in {(frame.capture, frame.boot_ns) for frame in frames}:
                calls = {(call.call.capture, call.boot_ns) for call in self._calls.get(kind, ())}
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

    def _fitting_by_content(self, frame: CallFrame, kind: _Kind) -> Iterator[Candidate]:
        """Yield the calls that a frame may carry by content alone; of many calls only exact matches."""
        calls = self._calls.get(kind, ())
        if len(calls) > _FEW:
            texts = {text.strip() for text in frame.answer.texts} if frame.answer is not None else set[str]()
            yield from (call for call in calls if call.result is not None and call.result.text.strip() in texts)
            return
        grades = [(call, call.best_grade(frame) if call.is_twin else call.tells(frame)) for call in calls]
        is_sure = len(_first_text(frame)) >= SHORT and any(grade for _, grade in grades)
        for call, grade in grades:
            if grade or (grade is None and not is_sure):  # the result may come later, or stand in another place
                yield call

    def is_repeated(self, call: Candidate) -> bool:
        """Return whether the agent made an equal call before, through any tap. The host may have kept the earlier result."""
        first = self._first.get((call.agent[1:], call.arguments, call.tools), call)
        return first.at_ns < call.at_ns and first.answer != call.answer

    def may_be_cached(self, call: Candidate, frame: CallFrame) -> bool:
        """Return whether a call's result may be an earlier one, and the frame that of an equal call whose result was reworded."""
        return self.is_repeated(call) and any(rival.may_be_reworded(frame) for rival in self.refused[frame.key])

    def possible(self) -> Possible:
        """Return the calls that each frame may carry."""
        calls_by_frame: Possible = {}
        for kind, frames in self._frames.items():
            calls = self._calls.get(kind, [])
            able: list[tuple[CallFrame, list[Candidate]]] = []
            for frame, alive in _in_time(calls, frames):
                own = [(call, call.tells(frame)) for call in alive]
                able.append((frame, [call for call, grade in own if grade != OTHER]))
                self.refused[frame.key] = [call for call, grade in own if grade == OTHER]
            brought = Counter(_first_text(frame) for frame in frames)
            for frame, own in able:
                is_only = brought[_first_text(frame)] == 1 and len(_first_text(frame)) >= SHORT
                calls_by_frame[frame.key] = _reported(own, frame, is_only=is_only)
        return calls_by_frame


def _bounds(call: Candidate, frame: CallFrame) -> Sequence[tuple[int, int | None]]:
    """Return the least and greatest clock offset if a frame carried a call; twice if certain."""
    last = frame.answer.at_ns if frame.answer is not None else frame.at_ns
    high = None if call.until_ns is None else call.until_ns - (frame.at_ns if frame.dropped else last)
    is_sure = call.has_long_result and call.tells(frame) == SAME
    return [(call.at_ns - frame.at_ns, high)] * (2 if is_sure else 1)


def _first_text(frame: CallFrame) -> str:
    """Return the text of a frame's answer; empty if there is none."""
    return next(iter(frame.answer.texts), "") if frame.answer is not None else ""


@lru_cache(maxsize=1 << 12)
def _lean(arguments: str, defaults: tuple[tuple[str, str], ...]) -> str:
    return lean(arguments, dict(defaults))


def _in_time(calls: Sequence[Candidate], frames: Sequence[CallFrame]) -> Iterator[tuple[CallFrame, list[Candidate]]]:
    """Yield each frame with the calls made before the frame whose conversations had not continued yet."""
    widest = max((frame.within_ns for frame in frames), default=0)
    coming = sorted(calls, key=lambda call: call.at_ns, reverse=True)
    alive: dict[str, Candidate] = {}
    ends: list[tuple[int, str]] = []
    for frame in frames:
        while coming and coming[-1].call.at_ns - widest <= frame.at_ns:
            call = coming.pop()
            alive[call.key] = call
            heapq.heappush(ends, (_until(call) + widest, call.key))
        while ends and ends[0][0] < frame.at_ns:
            alive.pop(heapq.heappop(ends)[1], None)
        least, most = frame.at_ns - frame.within_ns, frame.at_ns + frame.within_ns
        yield frame, [call for call in alive.values() if call.at_ns <= most and least <= _until(call)]


def _until(call: Candidate) -> int:
    return call.at_ns + _PATIENCE_NS if call.until_ns is None else call.until_ns


def _reported(calls: list[Candidate], frame: CallFrame, *, is_only: bool) -> list[Candidate]:
    """Remove calls without a result where other calls' results certainly repeat the frame's answer.

    The other calls must have been made before the frame for certain: else their host may have kept the result. If no other
    frame brought the answer, calls for which the answer came too late are removed too.
    """
    with_results = [call for call in calls if call.result is not None and not (is_only and call.gave_up_on(frame))]
    by_ns = frame.at_ns + (SURE_NS if frame.within_ns <= SURE_NS else -frame.within_ns)
    own = [call for call in with_results if call.at_ns <= by_ns]
    if len(with_results) < len(calls) and any(call.own_grade(frame) and call.is_sure_of(frame) for call in own):
        return with_results
    return calls


def _on_clock(frame: CallFrame, shift: Shift) -> CallFrame:
    """Move a frame and its answer to the model's clock."""
    answer = frame.answer and replace(frame.answer, at_ns=frame.answer.at_ns + shift.ns)
    dropped = frame.dropped and (frame.dropped[0] + shift.ns, frame.dropped[1])
    at_ns, since_ns = frame.at_ns + shift.ns, frame.since_ns + shift.ns
    return replace(frame, at_ns=at_ns, since_ns=since_ns, within_ns=shift.within_ns, dropped=dropped, answer=answer)
