"""Group taps into stories: taps that overlap in time, unless the names of hosts or a person's decision keep the taps apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

from tui_host.capture.session_summary import SessionInfo
from tui_host.infer.tap_facts import TapFacts

NEAR_NS = 5_000_000_000
"""How long after the end of one tap another may begin and still count as overlapping."""
Links: TypeAlias = Mapping[tuple[str, str], bool]
"""What a person decided of pairs of taps, the smaller id first: True if both are one story."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTap:
    """A tap's session with its facts, and the time of its end: now, while it runs."""

    info: SessionInfo
    facts: TapFacts
    ended_ns: int

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def order(self) -> tuple[int, str]:
        return self.info.created_ns, self.info.id


@dataclass(slots=True, eq=False)
class TapGroup:
    """The taps of a story; `shared` are the ids of taps that other stories have too."""

    taps: list[KnownTap]
    shared: set[str] = field(default_factory=set[str])

    @property
    def own(self) -> Sequence[KnownTap]:
        return [tap for tap in self.taps if tap.id not in self.shared]

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts that the records of its own taps name."""
        return frozenset[str]().union(*(tap.facts.hosts for tap in self.own))


def grouped(taps: Iterable[KnownTap], links: Links) -> Sequence[TapGroup]:
    """Divide taps into stories, in the order of the stories' first taps.

    Taps are one story if they overlap in time and do not name different hosts. A tap that names no host and overlaps stories of
    different hosts is of none of these. A server over HTTP that the hosts of several stories use is in each of these.
    """
    groups: list[TapGroup] = []
    for row in _rows(taps, links):
        grouping = _Grouping(links)
        # Servers over HTTP last: a shared server is no reason to join the stories that share it.
        for tap in sorted(row, key=lambda tap: (tap.facts.kind == "http", tap.order)):
            grouping.add(tap)
        groups += grouping.groups
    for group in groups:
        group.taps.sort(key=lambda tap: tap.order)
    return sorted(groups, key=lambda group: (group.own or group.taps)[0].order)


def _rows(taps: Iterable[KnownTap], links: Links) -> Sequence[Sequence[KnownTap]]:
    """Divide taps into rows. Taps in different rows neither overlap in time nor are joined by a person."""
    rows: list[list[KnownTap]] = []
    end_ns = 0
    for tap in sorted(taps, key=lambda tap: tap.order):
        if not rows or tap.info.created_ns > end_ns + NEAR_NS:
            rows.append([])
        rows[-1].append(tap)
        end_ns = max(end_ns, tap.ended_ns)
    for pair in (pair for pair, is_joined in links.items() if is_joined):
        ends = [row for row in rows if any(tap.id in pair for tap in row)]
        if len(ends) > 1:
            rows = [row for row in rows if row not in ends] + [ends[0] + ends[1]]
    return rows


class _Grouping:
    def __init__(self, links: Links) -> None:
        self.groups: list[TapGroup] = []
        self._links = links

    def add(self, tap: KnownTap) -> None:
        """Add a tap to a story, a shared server to several; begin a story where none fits."""
        new = TapGroup([tap])
        joined = [group for group in self.groups if self._is_decided(group, new, joined=True)]
        chosen = joined or self._fitting(new)
        if tap.facts.kind == "http" and not joined and any(self._are_apart(*pair) for pair in combinations(chosen, 2)):
            for group in chosen:
                group.taps.append(tap)
                group.shared.add(tap.id)
            return
        for group in chosen:
            new.taps = [*group.taps, *new.taps]
            new.shared |= group.shared
        self.groups = [*(group for group in self.groups if group not in chosen), new]

    def _fitting(self, new: TapGroup) -> Sequence[TapGroup]:
        """Return the stories that a tap may belong to; none where different hosts may have the tap."""
        (tap,) = new.taps
        near = [group for group in self.groups if _is_near(group.own, tap) and not self._are_apart(group, new)]
        of_same_host = [group for group in near if new.hosts & group.hosts]
        free = [group for group in near if not any(self._are_apart(group, rival) for rival in near)]
        nameless = [group for group in near if tap.facts.kind == "http" and not group.hosts]
        return of_same_host or free or nameless

    def _are_apart(self, one: TapGroup, two: TapGroup) -> bool:
        """Return whether two stories name different hosts, or a person parted them."""
        are_different = bool(one.hosts and two.hosts) and not one.hosts & two.hosts
        return one is not two and (are_different or self._is_decided(one, two, joined=False))

    def _is_decided(self, one: TapGroup, two: TapGroup, *, joined: bool) -> bool:
        pairs = ((tap.id, mate.id) for tap in one.own for mate in two.own) if self._links else ()
        return any(self._links.get((min(pair), max(pair))) is joined for pair in pairs)


def _is_near(own: Sequence[KnownTap], tap: KnownTap) -> bool:
    """Return whether a tap overlaps these in time."""
    begin_ns = min((mate.info.created_ns for mate in own), default=tap.ended_ns + 2 * NEAR_NS)
    end_ns = max((mate.ended_ns for mate in own), default=0)
    return tap.info.created_ns <= end_ns + NEAR_NS and tap.ended_ns + NEAR_NS >= begin_ns
