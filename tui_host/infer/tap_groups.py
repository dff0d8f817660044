"""Group taps into stories: taps that overlap in time, unless the names of hosts or a person's decision keep the taps apart."""

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
    """The taps of a story.

    Attributes:
        taps: Their sessions.
        hosts: The hosts that their records name.
        stated: The names that their programs state, to models and to servers.
        begin_ns: When the first of the taps began.
        end_ns: When the last of the taps ended.
        shared: The taps that other stories have too.
    """

    taps: list[SessionInfo]
    hosts: frozenset[str]
    stated: Mapping[str, frozenset[str]]
    begin_ns: int
    end_ns: int
    shared: set[str] = field(default_factory=set[str])

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the taps."""
        return frozenset(tap.id for tap in self.taps)


def ended_ns(tap: SessionInfo, now_ns: int) -> int:
    """Return the time of a tap's end; `now_ns` while the tap runs."""
    return now_ns if tap.live else tap.updated_ns


def rows_of(taps: Iterable[SessionInfo], links: Links, now_ns: int) -> list[list[SessionInfo]]:
    """Divide taps into rows. Taps in different rows neither overlap in time nor are joined by a person."""
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
        first, second = (row_by_tap.get(tap) for tap in pair)
        if joined and first is not None and second is not None and first is not second:
            first += second
            row_by_tap.update((tap.id, first) for tap in second)
    return list({id(row): row for row in row_by_tap.values()}.values())


def grouped(
    taps: Sequence[SessionInfo], links: Links, facts_of: Callable[[SessionInfo], TapFacts], now_ns: int
) -> list[TapGroup]:
    """Divide the taps of a row into stories, in the order of the stories' first taps.

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
    """Adds taps to stories; see `grouped`."""

    def __init__(self, links: Links, facts_of: Callable[[SessionInfo], TapFacts], now_ns: int) -> None:
        self.groups: list[TapGroup] = []
        self._facts_of = facts_of
        self._now_ns = now_ns
        self._joined: dict[str, set[str]] = {}
        self._parted: dict[str, set[str]] = {}
        for pair, joined in links.items():
            decided = self._joined if joined else self._parted
            for tap, mate in (pair, reversed(pair)):
                decided.setdefault(tap, set()).add(mate)

    def add(self, tap: SessionInfo) -> None:
        """Add a tap to a story, a shared server to several; begin a story where none fits."""
        facts, end_ns = self._facts_of(tap), ended_ns(tap, self._now_ns)
        new = TapGroup(taps=[tap], hosts=facts.hosts, stated=facts.stated, begin_ns=tap.created_ns, end_ns=end_ns)
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
        first, *merged = chosen
        for group in (*merged, new):
            first.taps += group.taps
            first.hosts |= group.hosts
            first.stated = {to: names | group.stated[to] for to, names in first.stated.items()}
            first.begin_ns = min(first.begin_ns, group.begin_ns)
            first.end_ns = max(first.end_ns, group.end_ns)
            first.shared |= group.shared
        for group in merged:
            self.groups.remove(group)

    def _chosen(self, new: TapGroup, fitting: Sequence[TapGroup], *, is_http: bool) -> Sequence[TapGroup]:
        """Choose from the fitting stories; none where different hosts may have the tap."""
        if of_same_host := [group for group in fitting if new.hosts & group.hosts]:
            return of_same_host
        free = [
            group
            for group in fitting
            if not any(self._are_apart(group, rival) for rival in fitting if rival is not group)
        ]
        return free or ([group for group in fitting if not group.hosts] if is_http else [])

    def _are_apart(self, one: TapGroup, two: TapGroup) -> bool:
        """Whether two stories name different hosts, or a person parted the stories."""
        if one.hosts and two.hosts:
            are_different = not one.hosts & two.hosts
        else:
            both = [(names, two.stated[to]) for to, names in one.stated.items() if names and two.stated[to]]
            are_different = any(not mine & theirs for mine, theirs in both)
        if are_different:
            return True
        if not self._parted:
            return False
        ids = two.ids - two.shared
        return any(not self._parted.get(tap, set()).isdisjoint(ids) for tap in one.ids - one.shared)
