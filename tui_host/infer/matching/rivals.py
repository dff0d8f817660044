"""The calls that frames compete for, counted as they are taken away: what is certain is found without a look at all of them each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from tui_host.infer.call_values import Carried, FrameKey
from tui_host.infer.matching.candidates import Candidate
from tui_host.infer.same_result import BEGINNING, END, HINT, SAME

Possible: TypeAlias = dict[FrameKey, list[Candidate]]
"""The calls that each frame may carry, by the frame's key."""
GRADES = (SAME, BEGINNING, END, HINT)


class Rivals:
    """Frames that compete, and which calls each may still carry.

    Args:
        carried: The frames.
        possible: Which may carry which: what each call tells of each frame is asked for once.

    Attributes:
        calls: The keys of the calls that are left for each frame that is nobody's yet.
        often: For how many frames each call is left, if for any.
    """

    def __init__(self, carried: Iterable[Carried], possible: Possible) -> None:
        self.calls: dict[FrameKey, dict[str, None]] = {}
        self.often = Counter[str]()
        self._telling = {least: _Telling() for least in GRADES}
        self._doubts = Counter[
            FrameKey
        ]()  # calls that may still be told what a frame brought, or were so in another's place
        self._doubtful: set[tuple[FrameKey, str]] = set()
        self._beside = Counter[
            str
        ]()  # the same by call: frames that brought what it may still be told, or was in another's place
        for each in carried:
            self.calls[each.key] = dict.fromkeys(call.asked.key for call in possible[each.key])
            self.often.update(self.calls[each.key].keys())
            for call in possible[each.key]:
                self._add(each, call)

    def _add(self, each: Carried, call: Candidate) -> None:
        grade = call.tells(each.last)
        for least, telling in self._telling.items():
            if (grade or 0) >= least:
                telling.add(each.key, call.asked.key)
        if call.told is None or (grade is None and call.tells_beside(each.last)):
            self._doubtful.add((each.key, call.asked.key))
            self._doubts[each.key] += 1
            self._beside[call.asked.key] += 1

    def told(self, least: int) -> Iterator[tuple[FrameKey, str]]:
        """Frames that brought what was told so of one call alone, which no other brought, and no call may still be told."""
        return (pair for pair in self._telling[least].alone() if not self._doubts[pair[0]])

    def is_told_beside(self, call: str) -> bool:
        """Whether a frame that is left may have brought what a call is told, be it in another's place, or not told yet."""
        return self._beside[call] > 0

    def alone(self) -> Iterator[tuple[FrameKey, str]]:
        """Frames that only one call is left for, and no other frame for that call."""
        for key, calls in self.calls.items():
            if len(calls) == 1 and self.often[call := next(iter(calls))] == 1:
                yield key, call

    def left(self) -> Mapping[FrameKey, Sequence[str]]:
        """The frames that some call may have, with these, if there are as many calls; else none."""
        left = {key: calls for key, calls in self.calls.items() if calls}
        return {key: list(calls) for key, calls in left.items()} if len(left) == len(self.often) else {}

    def take(self, key: FrameKey, call: str) -> Sequence[FrameKey]:
        """A frame is a call's: no other is, and no other call has it. Gives those that might have been."""
        for other in self.calls.pop(key):
            self._leave(key, other)
        others = [other for other, calls in self.calls.items() if call in calls]
        for other in others:
            del self.calls[other][call]
            self._leave(other, call)
        return others

    def _leave(self, key: FrameKey, call: str) -> None:
        self.often[call] -= 1
        if not self.often[call]:
            del self.often[call]
        for telling in self._telling.values():
            telling.leave(key, call)
        if (key, call) in self._doubtful:
            self._doubts[key] -= 1
            self._beside[call] -= 1


class _Telling:
    """The calls of which was told what frames brought."""

    def __init__(self) -> None:
        self._calls: dict[FrameKey, dict[str, None]] = {}
        self._often = Counter[str]()

    def add(self, key: FrameKey, call: str) -> None:
        self._calls.setdefault(key, {})[call] = None
        self._often[call] += 1

    def leave(self, key: FrameKey, call: str) -> None:
        calls = self._calls.get(key, {})
        if call in calls:
            self._often[call] -= 1
            del calls[call]
            if not calls:
                del self._calls[key]

    def alone(self) -> Iterator[tuple[FrameKey, str]]:
        for key, calls in self._calls.items():
            if len(calls) == 1 and self._often[call := next(iter(calls))] == 1:
                yield key, call
