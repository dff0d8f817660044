"""Learn in which order hosts send the calls of one answer, from calls that are matched without the order.

A host is known by its connections: connections that carried calls of one conversation belong to one host.
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
"""How many orders must have been possible before an order counts as a habit and not as chance."""
_AT_ONCE_NS = 250_000_000
"""The pause within which no person decides on the next call."""


@dataclass(slots=True)
class _SeenOrder:
    """The order in which a host has sent calls.

    Attributes:
        chances: How many orders were possible in total, where each time the order of the answer was used.
        at_once: The same for calls sent before the earlier calls were answered.
        is_otherwise: Whether the host has used another order.
    """

    chances: int = 1
    at_once: int = 1
    is_otherwise: bool = False

    def add(self, shown: _SeenOrder) -> None:
        """Add the order shown on another connection."""
        self.chances *= shown.chances
        self.at_once *= shown.at_once
        self.is_otherwise |= shown.is_otherwise


class Orders:
    """The order that hosts have shown in calls matched without the order.

    Args:
        candidates: The calls.
        joined: The frames of the matched calls.
    """

    def __init__(self, candidates: Iterable[Candidate], joined: Mapping[str, tuple[Sent, ...]]) -> None:
        self._of_line: dict[Line, _SeenOrder] = defaultdict(_SeenOrder)
        sent: dict[tuple[object, Line], list[tuple[int, Carried]]] = defaultdict(list)
        for call, carried in _joined_calls(candidates, joined):
            if _was_there(carried.frames[0], call):
                sent[call.answer, carried.first_line].append((call.asked.number, carried))
        for (_, line), batch in sent.items():
            self._learn(self._of_line[line], sorted(batch, key=lambda numbered: numbered[1].frames[0].seq))
        self.know(candidates, joined)

    def know(self, candidates: Iterable[Candidate], joined: Mapping[str, tuple[Sent, ...]]) -> None:
        """Learn which connections belong to one host, from the calls joined so far."""
        joined_calls = list(_joined_calls(candidates, joined))
        self._line_of = {call.talk: carried.first_line for call, carried in joined_calls}
        self._hosts = _hosts([(call.talk, line) for call, carried in joined_calls for line in carried.lines])
        self._shown: dict[Line, _SeenOrder] = defaultdict(_SeenOrder)
        for line, shown in self._of_line.items():
            self._shown[self._hosts[line]].add(shown)

    @staticmethod
    def _learn(shown: _SeenOrder, batch: Sequence[tuple[int, Carried]]) -> None:
        numbers, carried = [number for number, _ in batch], [frame for _, frame in batch]
        if numbers != sorted(numbers):
            shown.is_otherwise = True
        elif follow_at_once(carried):
            shown.chances *= factorial(len(batch))
            shown.at_once *= factorial(len(batch)) if all(map(_is_beside, carried, carried[1:])) else 1

    def are_shown(self, call: Candidate, carried: Sequence[Carried]) -> bool:
        """Return whether the host is known to send calls in the answer's order, and sent these frames at once."""
        own = self._line_of.get(
            call.talk, carried[0].first_line
        )  # the host of the call, which may have other connections
        lines = {own, *(frame.first_line for frame in carried)}
        shown = [self._shown[host] for host in {self._hosts.get(line, line) for line in lines} if host in self._shown]
        is_any_beside = any(map(_is_beside, carried, carried[1:]))
        chances = prod(
            host_orders.at_once if is_any_beside else host_orders.chances for host_orders in shown
        )  # all belong to the host
        return (
            chances >= SURE and not any(host_orders.is_otherwise for host_orders in shown) and follow_at_once(carried)
        )


def _was_there(frame: Sent, call: Candidate) -> bool:
    """Return whether the connection certainly existed when the call was made.

    Otherwise the call may have been sent before on a connection that died.
    """
    return frame.since_ns + frame.within_ns <= call.asked.at_ns


def _joined_calls(
    candidates: Iterable[Candidate], joined: Mapping[str, tuple[Sent, ...]]
) -> Iterator[tuple[Candidate, Carried]]:
    return ((call, Carried(joined[call.asked.key])) for call in candidates if call.asked.key in joined)


def follow_at_once(carried: Sequence[Carried]) -> bool:
    """Return whether each frame follows the frame before at once; else a person may have chosen the order."""
    if any(frame.mono_ns is None or frame.cut_ns for frames in carried for frame in frames.frames):
        return False  # no time is told, or not how soon
    for before, after in pairwise(carried):
        passed = [before.over[0], *(frame.at_ns for frame in before.frames)]
        if min(abs(after.sent[0] - at_ns) for at_ns in passed) > _AT_ONCE_NS:
            return False
    return True


def _is_beside(before: Carried, after: Carried) -> bool:
    """Return whether a call was sent before the call before was answered."""
    return before.last.over is None or after.sent < before.over


def _hosts(carrying: Iterable[tuple[object, Line]]) -> dict[Line, Line]:
    """Map each connection to a connection that stands for the host."""
    of_talk: dict[object, set[Line]] = defaultdict(set)
    for talk, line in carrying:
        of_talk[talk].add(line)
    whole: dict[Line, set[Line]] = {}
    for lines in of_talk.values():
        together = lines.union(*(whole[line] for line in lines if line in whole))
        whole.update(dict.fromkeys(together, together))
    return {line: min(lines) for line, lines in whole.items()}


def crossing(candidates: Iterable[Candidate], joined: Mapping[str, Sequence[Sent]]) -> set[str]:
    """Return the calls whose frames contradict the order of the conversations on a connection.

    A call contradicts a later call if its conversation had continued when the later call was made, although its frame was sent
    after the later call's frame. Calls with an id in the frame are certain.
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
                crossed |= {call.asked.key for sent, call in both if call.asked.wire_id not in sent.ids}
            if newest is None or call.asked.at_ns > newest[1].asked.at_ns:
                newest = frame, call
    return crossed
