"""In which order a host sends the calls of one answer by itself, as far as it has shown it by calls that can be told apart.

A host is known by its connections; those are of one host that carried calls of one conversation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import factorial, prod

from tui_host.infer.call_values import Carried, Line, Sent
from tui_host.infer.matching.candidates import Candidate

SURE = 1000
"""A host that sends in any order sends all that tells as the answer has it once in so many times: then it is no chance."""
_AT_ONCE_NS = 250_000_000
"""Within this no person decides on the next call: what follows sooner follows by itself."""


@dataclass(slots=True)
class _Shown:
    """What one host has shown.

    Attributes:
        chances: Of how many orders that there might have been it was each time that of the answer.
        at_once: The same of calls that were sent before those before them were answered.
        is_otherwise: It has sent some in another order.
    """

    chances: int = 1
    at_once: int = 1
    is_otherwise: bool = False

    def add(self, other: _Shown) -> None:
        """What it has shown elsewhere."""
        self.chances *= other.chances
        self.at_once *= other.at_once
        self.is_otherwise |= other.is_otherwise


class Orders:
    """What hosts have shown by the calls that are joined without a look at their order.

    Args:
        candidates: The calls.
        joined: The frames of those that have any.
    """

    def __init__(self, candidates: Iterable[Candidate], joined: Mapping[str, tuple[Sent, ...]]) -> None:
        self._of_line: dict[Line, _Shown] = defaultdict(_Shown)
        sent: dict[tuple[object, Line], list[tuple[int, Carried]]] = defaultdict(list)
        for each, carried in _known(candidates, joined):
            if _was_there(carried.frames[0], each):
                sent[each.answer, carried.first_line].append((each.asked.number, carried))
        for (_, line), batch in sent.items():
            self._learn(self._of_line[line], sorted(batch, key=lambda each: each[1].frames[0].seq))
        self.know(candidates, joined)

    def know(self, candidates: Iterable[Candidate], joined: Mapping[str, tuple[Sent, ...]]) -> None:
        """Learn which connections are of one host, by all that is joined by now."""
        known = list(_known(candidates, joined))
        self._line_of = {each.talk: carried.first_line for each, carried in known}
        self._hosts = _hosts([(each.talk, line) for each, carried in known for line in carried.lines])
        self._shown: dict[Line, _Shown] = defaultdict(_Shown)
        for line, shown in self._of_line.items():
            self._shown[self._hosts[line]].add(shown)

    @staticmethod
    def _learn(shown: _Shown, batch: Sequence[tuple[int, Carried]]) -> None:
        numbers, carried = [number for number, _ in batch], [each for _, each in batch]
        if numbers != sorted(numbers):
            shown.is_otherwise = True
        elif follow_at_once(carried):
            shown.chances *= factorial(len(batch))
            shown.at_once *= factorial(len(batch)) if all(map(_is_beside, carried, carried[1:])) else 1

    def are_shown(self, call: Candidate, carried: Sequence[Carried]) -> bool:
        """Whether frames in the order in which they were sent are in that of an answer, of which this is a call."""
        own = self._line_of.get(call.talk, carried[0].first_line)  # of its host, which may have others
        lines = {own, *(each.first_line for each in carried)}
        shown = [self._shown[host] for host in {self._hosts.get(line, line) for line in lines} if host in self._shown]
        is_any_beside = any(map(_is_beside, carried, carried[1:]))
        chances = prod(each.at_once if is_any_beside else each.chances for each in shown)  # all are of its host
        return chances >= SURE and not any(each.is_otherwise for each in shown) and follow_at_once(carried)


def _was_there(frame: Sent, call: Candidate) -> bool:
    """Whether a connection had begun for sure when a call was asked for: else it may have been sent on another before, which died."""
    return frame.since_ns + frame.within_ns <= call.asked.at_ns


def _known(
    candidates: Iterable[Candidate], joined: Mapping[str, tuple[Sent, ...]]
) -> Iterator[tuple[Candidate, Carried]]:
    return ((each, Carried(joined[each.asked.key])) for each in candidates if each.asked.key in joined)


def follow_at_once(carried: Sequence[Carried]) -> bool:
    """Whether each came right behind the one before it, or behind its end: else a person may have chosen the order."""
    if any(frame.mono_ns is None or frame.cut_ns for each in carried for frame in each.frames):
        return False  # no time is told, or not how soon
    for before, after in pairwise(carried):
        passed = [before.over[0], *(each.at_ns for each in before.frames)]
        if min(abs(after.sent[0] - each) for each in passed) > _AT_ONCE_NS:
            return False
    return True


def _is_beside(before: Carried, after: Carried) -> bool:
    """Whether a call was sent while the one before it was waited for."""
    return before.last.over is None or after.sent < before.over


def _hosts(carrying: Iterable[tuple[object, Line]]) -> dict[Line, Line]:
    """One connection that stands for all of its host, by each of them; for conversations and the connections that carried their calls."""
    of_talk: dict[object, set[Line]] = defaultdict(set)
    for talk, line in carrying:
        of_talk[talk].add(line)
    whole: dict[Line, set[Line]] = {}
    for lines in of_talk.values():
        together = lines.union(*(whole[line] for line in lines if line in whole))
        whole.update(dict.fromkeys(together, together))
    return {line: min(lines) for line, lines in whole.items()}


def crossing(candidates: Iterable[Candidate], joined: Mapping[str, Sequence[Sent]]) -> set[str]:
    """Return the calls whose frames contradict the order of their conversations, on one connection: not both can be right.

    A call contradicts another one if it was over when that was asked for, and its frame was sent later. What names its call is sure.
    """
    of_line: dict[Line, list[tuple[Sent, Candidate]]] = defaultdict(list)
    for call in candidates:
        for frame in joined.get(call.asked.key, ())[-1:]:
            of_line[frame.line].append((frame, call))
    crossed = set[str]()
    for pairs in of_line.values():
        newest: tuple[Sent, Candidate] | None = None
        for frame, call in sorted(pairs, key=lambda pair: pair[0].key):
            if newest is not None and call.until_ns is not None and call.until_ns < newest[1].asked.at_ns:
                both = (newest, (frame, call))
                crossed |= {each.asked.key for sent, each in both if each.asked.wire_id not in sent.ids}
            if newest is None or call.asked.at_ns > newest[1].asked.at_ns:
                newest = frame, call
    return crossed
