"""Decide which taps are one story: those that overlap in time, unless their hosts' names or a person's decision keep them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

from tui_host.capture.session_summary import SessionInfo
from tui_host.infer.tap_facts import TapFacts

NEAR_NS = 5_000_000_000
"""How long after the end of one tap another may begin and still count as overlapping."""

Links: TypeAlias = Mapping[tuple[str, str], bool]
"""What a person decided of pairs of taps, the smaller id first: True if both are one story."""


@dataclass(slots=True, eq=False)
class TapGroup:
    """Taps that are one story.

    Attributes:
        taps: Their sessions.
        hosts: The hosts that their records name.
        begin_ns: When the first of the taps began.
        end_ns: When the last of the taps ended.
        shared: The taps that other stories have too.
    """

    taps: list[SessionInfo]
    hosts: frozenset[str]
    begin_ns: int
    end_ns: int
    shared: set[str] = field(default_factory=set[str])

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the taps."""
        return frozenset(tap.id for tap in self.taps)


def ended_ns(tap: SessionInfo, now_ns: int) -> int:
    """Return when a tap ended; `now_ns` while it runs."""
    return now_ns if tap.live else tap.updated_ns


def rows_of(taps: Iterable[SessionInfo], links: Links, now_ns: int) -> list[list[SessionInfo]]:
    """Divide taps so that no two of different rows overlap in time or are joined by a person."""
    rows: list[list[SessionInfo]] = []
    end_ns = 0
    for tap in sorted(taps, key=_order):
        if not rows or tap.created_ns > end_ns + NEAR_NS:
            rows.append([])
            end_ns = 0
        rows[-1].append(tap)
        end_ns = max(end_ns, ended_ns(tap, now_ns))
    row_by_tap = {tap.id: row for row in rows for tap in row}
    for pair, joined in links.items():
        one, two = (row_by_tap.get(tap) for tap in pair)
        if joined and one is not None and two is not None and one is not two:
            one += two
            row_by_tap.update((tap.id, one) for tap in two)
    return list({id(row): row for row in row_by_tap.values()}.values())


def grouped(
    taps: Sequence[SessionInfo], links: Links, facts_of: Callable[[SessionInfo], TapFacts], now_ns: int
) -> list[TapGroup]:
    """Divide the taps of one row into stories, in the order of their first taps.

    Taps are one story if they overlap in time and do not name different hosts. A tap that names no host and overlaps stories of
    different hosts is of none of these. A server over HTTP that the hosts of several stories use is in each of these.
    """
    grouping = _Grouping(links, facts_of, now_ns)
    ordered = sorted(taps, key=_order)
    are_http = [facts_of(tap).kind == "http" for tap in ordered]
    for only_http in (False, True):  # a shared server is no reason to join the stories that share it
        for tap, is_http in zip(ordered, are_http, strict=True):
            if is_http is only_http:
                grouping.add(tap)
    for group in grouping.groups:
        group.taps.sort(key=_order)
    return sorted(grouping.groups, key=_first_own)


def _order(tap: SessionInfo) -> tuple[int, str]:
    return tap.created_ns, tap.id


def _first_own(group: TapGroup) -> tuple[int, str]:
    own = [tap for tap in group.taps if tap.id not in group.shared]
    return _order((own or group.taps)[0])


class _Grouping:
    """Adds one tap after the other to stories; see `grouped`."""

    def __init__(self, links: Links, facts_of: Callable[[SessionInfo], TapFacts], now_ns: int) -> None:
        self.groups: list[TapGroup] = []
        self._facts_of = facts_of
        self._now_ns = now_ns
        self._joined: dict[str, set[str]] = {}
        self._parted: dict[str, set[str]] = {}
        for (one, two), joined in links.items():
            decided = self._joined if joined else self._parted
            decided.setdefault(one, set()).add(two)
            decided.setdefault(two, set()).add(one)

    def add(self, tap: SessionInfo) -> None:
        """Put a tap into the stories that it is of: into one, but for a shared server."""
        facts, end_ns = self._facts_of(tap), ended_ns(tap, self._now_ns)
        new = TapGroup(taps=[tap], hosts=facts.hosts, begin_ns=tap.created_ns, end_ns=end_ns)
        joined = self._joined.get(tap.id, set())
        chosen = [group for group in self.groups if not joined.isdisjoint(group.ids)] if joined else []
        if not chosen:
            fitting = [
                group
                for group in self.groups
                if tap.created_ns <= group.end_ns + NEAR_NS
                and end_ns + NEAR_NS >= group.begin_ns
                and not self._are_apart(group, new)
            ]
            chosen = self._chosen(new, fitting, is_http=facts.kind == "http")
        if facts.kind == "http" and not joined and any(self._are_apart(*pair) for pair in combinations(chosen, 2)):
            for group in chosen:
                group.taps.append(tap)
                group.shared.add(tap.id)
            return
        if not chosen:
            self.groups.append(new)
            return
        first, *others = chosen
        for other in (*others, new):
            first.taps += other.taps
            first.hosts |= other.hosts
            first.begin_ns = min(first.begin_ns, other.begin_ns)
            first.end_ns = max(first.end_ns, other.end_ns)
            first.shared |= other.shared
        for other in others:
            self.groups.remove(other)

    def _chosen(self, new: TapGroup, fitting: Sequence[TapGroup], *, is_http: bool) -> Sequence[TapGroup]:
        """Of the stories that a tap fits those that it is of."""
        if of_same_host := [group for group in fitting if new.hosts & group.hosts]:
            return of_same_host
        free = [
            group
            for group in fitting
            if not any(self._are_apart(group, other) for other in fitting if other is not group)
        ]
        return free or ([group for group in fitting if not group.hosts] if is_http else [])

    def _are_apart(self, one: TapGroup, two: TapGroup) -> bool:
        """Whether two stories name different hosts, or a person parted them."""
        if one.hosts and two.hosts and not one.hosts & two.hosts:
            return True
        if not self._parted:
            return False
        ids = two.ids - two.shared
        return any(not self._parted.get(tap, set()).isdisjoint(ids) for tap in one.ids - one.shared)
