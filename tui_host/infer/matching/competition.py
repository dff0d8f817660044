"""Resolve groups of competing calls and frames: by results and by necessity."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from tui_host.infer.call_values import Attempts, CallFrame, FrameKey
from tui_host.infer.matching.assignment import necessary_pairs
from tui_host.infer.matching.candidates import Candidate, Possible
from tui_host.infer.matching.resent_calls import Resending
from tui_host.infer.same_result import END, OTHER


def competing(attempts: Iterable[Attempts], possible: Possible) -> list[tuple[list[Attempts], list[Candidate]]]:
    """Divide frames and calls into groups that compete only among themselves."""
    of_call: dict[str, tuple[list[Attempts], dict[str, Candidate]]] = {}
    for frame in attempts:
        whole: tuple[list[Attempts], dict[str, Candidate]] = ([frame], {})
        touching = {id(group): group for call in possible[frame.key] if (group := of_call.get(call.key))}
        for members, calls in touching.values():
            whole[0].extend(members)
            whole[1].update(calls)
        whole[1].update((call.key, call) for call in possible[frame.key])
        of_call.update(dict.fromkeys(whole[1], whole))
    groups = {id(group): group for group in of_call.values()}
    return [(members, list(calls.values())) for members, calls in groups.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubts:
    """What else the calls and frames of a group may belong to.

    Attributes:
        tries: Decides which frames may be first tries of others.
        unasked: Server and name of tools that are also called without a captured model.
        otherwise: Frames that may carry a call whose host reports a different result.
        timed: The captures with known clock offsets; None for all.
        kept: Pairs of a frame with a call whose result the host may have kept from an earlier call.
    """

    tries: Resending
    unasked: Container[tuple[str, str]] = ()
    otherwise: Container[FrameKey] = ()
    timed: Container[str] | None = None
    kept: Container[tuple[FrameKey, str]] = ()


class Competition:
    """One group of competing calls and frames.

    Args:
        attempts: The frames.
        calls: The calls.
        possible: The calls that each frame may carry.
        doubts: What else the frames and calls may belong to.
    """

    def __init__(
        self, attempts: Sequence[Attempts], calls: Sequence[Candidate], possible: Possible, doubts: Doubts
    ) -> None:
        self._attempts = {frame.key: frame for frame in attempts}
        self._calls = {call.key: call for call in calls}
        self._doubts = doubts
        self._joined: dict[str, tuple[CallFrame, ...]] = {}
        self._before: set[FrameKey] = set()  # unanswered frames that may be first tries of a call with another frame
        self._left = {frame.key: dict.fromkeys(call.key for call in possible[frame.key]) for frame in attempts}
        self._frames: dict[str, dict[FrameKey, None]] = defaultdict(dict)
        self._grades: dict[tuple[FrameKey, str], int | None] = {}
        # pairs whose result may still arrive, or stands in another place
        self._doubtful = set[tuple[FrameKey, str]]()
        for frame in attempts:
            for call in possible[frame.key]:
                pair = frame.key, call.key
                self._frames[call.key][frame.key] = None
                self._grades[pair] = grade = call.tells(frame.last)
                if call.result is None or (grade is None and call.best_grade(frame.last)) or pair in doubts.kept:
                    self._doubtful.add(pair)

    def joined(self) -> dict[str, tuple[CallFrame, ...]]:
        """Return the frames of the calls that are certain."""
        while self._take_told() or self._take_necessary():
            pass
        return self._joined

    def _take(self, key: FrameKey, call: str) -> None:
        for rival in self._left.pop(key):
            del self._frames[rival][key]
        self._joined[call] = self._attempts[key].frames
        for rival in self._frames.pop(call):
            del self._left[rival][call]
            before = self._attempts[rival]
            if self._calls[call].gave_up_on(before.last) and before.sent < self._attempts[key].sent:
                self._before.add(rival)

    def _take_told(self) -> bool:
        """Take each frame whose answer is the result of exactly one call, and that call's result of no other frame.

        Pairs stay where another call may still get the answer as a result, and where only the end of a result repeats the answer and
        another call's result is in words of the host's own.
        """
        telling = {key: [call for call in calls if self._grades[key, call]] for key, calls in self._left.items()}
        often = Counter(call for calls in telling.values() for call in calls)
        pairs = [
            (key, calls[0])
            for key, calls in telling.items()
            if len(calls) == often[calls[0] if calls else ""] == 1
            and not any((key, call) in self._doubtful for call in self._left[key])
            and self._is_told_enough(key, calls[0])
        ]
        return self._take_some(pair for pair in pairs if self._is_only_outcome(*pair))

    def _is_told_enough(self, key: FrameKey, call: str) -> bool:
        """Return whether more than the end of a result repeats an answer, or no rival's result is in words of the host's own."""
        grades = self._grades
        return (grades[key, call] or OTHER) > END or all(grades[key, rival] is not None for rival in self._left[key])

    def _take_some(self, pairs: Iterable[tuple[FrameKey, str]]) -> bool:
        before = len(self._joined)
        for key, call in pairs:
            self._take(key, call)
        return len(self._joined) > before

    def _take_necessary(self) -> bool:
        """Take the pairs that every largest assignment contains.

        A pair counts only if certain both with and without frames that may be failed first tries.
        """
        with_tries = necessary_pairs({key: list(calls) for key, calls in self._left.items()})
        without = necessary_pairs(
            {key: [call for call in calls if self._may_be_left(key, call)] for key, calls in self._left.items()}
        )
        return self._take_some(
            (key, call) for key, call in without.items() if with_tries.get(key) == call and self._is_asked(key, call)
        )

    def _is_asked(self, key: FrameKey, call: str) -> bool:
        """Return whether the call's result speaks for the pair, or nothing else explains the frame."""
        frame, doubts = self._attempts[key].last, self._doubts
        if (key, call) in doubts.kept:
            return False
        if self._calls[call].result is not None:
            is_timed = doubts.timed is None or frame.capture in doubts.timed
            return bool(self._grades[key, call]) or (
                is_timed and not any(self._grades[key, rival] for rival in self._left[key])
            )
        is_anyones = key in self._before or key in doubts.otherwise
        return not (is_anyones or (frame.server, frame.tool) in doubts.unasked)

    def _is_only_outcome(self, key: FrameKey, call: str) -> bool:
        """Return whether a frame's outcome can only be the call's: an answer in time, or an end nobody else shares."""
        frame = self._attempts[key].last
        if not self._calls[call].gave_up_on(frame):
            return True
        are_given_up = all(self._calls[name].gave_up_on(frame) for name in self._left[key])
        is_told_beside = any((rival, call) in self._doubtful for rival in self._frames[call])
        return are_given_up and self._is_of_no_other(key, call) and not is_told_beside

    def _is_of_no_other(self, key: FrameKey, call: str) -> bool:
        """Return whether a frame was answered in time, or cannot be the first try of another call."""
        frame = self._attempts[key]
        return not self._calls[call].gave_up_on(frame.last) or not self._doubts.tries.may_be_of_another_call(
            frame, call, self._joined
        )

    def _may_be_left(self, key: FrameKey, call: str) -> bool:
        """Return whether a call may take the last frame left: a frame without an answer needs a failed call."""
        gave_up_on = self._calls[call].gave_up_on(self._attempts[key].last)
        return not gave_up_on or (self._calls[call].may_have_failed and self._is_of_no_other(key, call))
