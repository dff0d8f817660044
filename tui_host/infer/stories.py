"""List, find, join and part stories: the traffic of a host with models and servers, recorded by several taps."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product
from typing import TypeAlias

from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.notes_of_people import save_tap_links, tap_links
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError
from tui_host.infer.conversations import host_names
from tui_host.infer.conversations.host_names import host_named, hosts_of, in_words, is_host
from tui_host.infer.tap_facts import TapFacts

NEAR_NS = 5_000_000_000  # how long after the end of one tap another may begin and still count as overlapping
_SHORT = 12  # characters of hosts' names before what was asked: a list of 80 columns has about twice as many for both
_stated_in = lru_cache(1 << 10)(TapFacts)
Links: TypeAlias = Mapping[tuple[str, str], bool]
"""What a person decided of pairs of taps, the smaller id first: True if both are one story."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapStory(SessionInfo):
    """The taps of a story as one session, or a single tap: the half of a story named by a tap's id."""

    taps: Sequence[SessionInfo]  # in the order in which they began
    halves: Sequence[TapStory]  # each tap of several, by itself
    hosts: Sequence[str]  # their stated names, without hosts of other stories on a shared server
    other_hosts: Mapping[str, frozenset[str]]  # for each tap shared with other stories, the hosts of those
    label: str  # the taps and their hosts, for a line below the story: `tap stdio math (Cline)`
    is_http: bool  # the first tap is before a server over HTTP

    @property
    def size(self) -> str:
        """The number of taps, and the number of running taps if some have ended: `3 taps`, `2 of 3 taps`."""
        live, count = sum(tap.live for tap in self.taps), len(self.taps)
        return f"{f'{live:,} of ' if 0 < live < count else ''}{count:,} tap{'s' * (count != 1)}"

    @property
    def end_ns(self) -> int:
        """When the last tap ended: now, while one runs."""
        return time.time_ns() if self.live else self.updated_ns


def story_of(
    taps: Sequence[SessionInfo], name: str = "", other_hosts: Mapping[str, frozenset[str]] | None = None
) -> TapStory:
    """Return taps as a story, or a tap as the half of one. `name` is the story's id, `other_hosts` are those of other stories by tap."""
    first, stated, shared = taps[0], [_stated_in(tap.facts) for tap in taps], other_hosts or {}
    speakers = list(dict.fromkeys(speaker for facts in stated for speaker in facts.speakers))
    foreign = frozenset[str]().union(*shared.values())
    hosts = hosts_of(speakers, [name for facts in stated for name in facts.clients if host_named(name) not in foreign])
    # `Cline: What is 6 × 5? (tap llm api.deepseek.com, tap stdio math)`
    names = (f"tap {facts.kind} {tap.title}".replace("  ", " ") for facts, tap in zip(stated, taps, strict=True))
    tapped = first.title if first.imported else ", ".join(dict.fromkeys(names))
    words, question = in_words(hosts), next((facts.question for facts in stated if facts.question), "")
    title = ": ".join(filter(None, (words, f"{question} ({tapped})" if question else tapped)))
    if question and len(words) > _SHORT:  # the hosts' names would leave the question no room
        title = f"{question} ({words}: {tapped})"
    return TapStory(
        id=name or first.id,
        title=tapped if first.imported and first.source == "tap" else title,  # as it was exported
        source=first.source,
        created_ns=first.created_ns,
        updated_ns=max(tap.updated_ns for tap in taps),
        turns=first.turns,
        model=host_names.models_in_words(speaker for speaker in speakers if speaker.model) or first.model,
        protocol=host_names.protocols_in_words(speakers) or first.protocol,
        live=any(tap.live for tap in taps),
        imported=first.imported,
        taps=taps,
        halves=[story_of([tap]) for tap in taps] if len(taps) > 1 else (),
        hosts=hosts,
        other_hosts=shared,
        label=f"{tapped} ({words})" if words else tapped,
        is_http=stated[0].kind == "http",
    )


class Stories:
    """The stories in a store. All methods block on the disk; a name that is nothing's, or several', raises `TuiHostError`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def listed(self) -> Sequence[SessionInfo]:
        """List sessions and stories, the last changed first."""
        sessions = self._store.sessions.list()
        lines = [*(info for info in sessions if not info.is_story), *self._stories(sessions)]
        return sorted(lines, key=lambda line: line.updated_ns, reverse=True)

    def get(self, name: str) -> TapStory | None:
        """Return the story or the single tap with an id, also the story that it was joined to; None if nothing has the id."""
        info = self._store.sessions.get(name)
        if info is not None:
            return story_of([info]) if info.is_foreign else None
        head, dash, letters = name.rpartition("-")
        stories = self._with(f"{head}{dash}{letters[1:]}") if letters.startswith("s") else ()
        return next((story for story in stories if story.id == name), stories[0] if stories else None)

    def around(self, tap: str) -> Sequence[SessionInfo]:
        """Return all taps of a tap's stories."""
        return list({info.id: info for story in self._with(tap) for info in story.taps}.values())

    def find(self, name: str) -> SessionInfo:
        """Find a session, a story or a tap by id, by the beginning of an id, where a story comes before its taps, or as `last`."""
        info = self._store.sessions.get(name) or self.get(name)
        if info is None:
            matches = [line for line in self.listed() if name and line.id.startswith(name)]
            if len(matches) > 1:
                ids = ", ".join(match.id for match in matches[:5])
                raise TuiHostError(f"{len(matches)} sessions begin with this: {ids}", name, "type more of the id")
            if matches:
                return matches[0]
            info = self._store.sessions.find(name)  # names the nearest ids where there is none
            if name == "last" and info.is_story and not info.imported:
                return self._with(info.id)[0]
        return story_of([info]) if info.is_story and not isinstance(info, TapStory) else info

    def join(self, one: str, two: str) -> TapStory:
        """Join two different stories recorded here, each named by its id or that of one of its taps. Return the joined story."""
        named = [self._recorded_here(name) for name in (one, two)]
        # A tap's id stands for the first of its stories.
        whole = [story if story.halves else self._with(story.taps[0].id)[0] for story in named]
        first, second = ([tap.id for tap in story.taps] for story in whole)
        if len({*first, *second}) < 2:
            raise TuiHostError("both are the same tap", f"{one} {two}", "name two stories of `tui-host sessions list`")
        save_tap_links(self._store, (pair for pair in product(first, second) if pair[0] != pair[1]), joined=True)
        return self._with(first[0])[0]

    def part(self, name: str, story: str = "") -> TapStory:
        """Part a tap from the other taps of all stories, or only of the story with the id `story`. Return the tap's story."""
        taps = [tap.id for tap in self._recorded_here(name).taps]
        if len(taps) > 1:
            remedy = f"name the tap to part: {', '.join(taps)}"
            raise TuiHostError("this is a story of several taps", name, remedy)
        mates = {mate.id for whole in self._with(taps[0]) if story in {"", whole.id} for mate in whole.taps} - {*taps}
        if not mates:
            raise TuiHostError("this tap is a story by itself already", name, "look at `tui-host sessions list`")
        save_tap_links(self._store, product(taps, mates), joined=False)
        return self._with(taps[0])[0]

    def _recorded_here(self, name: str) -> TapStory:
        named = self.find(name)
        if isinstance(named, TapStory) and not named.imported:
            return named
        remedy = "name a story or a tap of `tui-host sessions list`"
        raise TuiHostError("this is no tap that was recorded here", name, remedy)

    def _with(self, tap: str) -> Sequence[TapStory]:
        """Return the stories with a tap: several for a shared server, none for an unknown id."""
        stories = self._stories(info for info in self._store.sessions.list() if not info.imported)
        return [story for story in stories if any(mate.id == tap for mate in story.taps)]

    def _stories(self, sessions: Iterable[SessionInfo]) -> Sequence[TapStory]:
        taps = [story_of([info]) for info in sessions if info.is_story]
        stories = [tap for tap in taps if tap.imported]
        groups = grouped((tap for tap in taps if not tap.imported), tap_links(self._store))
        for group in groups:
            other_hosts = {
                tap.id: frozenset(host for rival in groups if tap in rival.shared for host in rival.hosts - group.hosts)
                for tap in group.shared
            }
            head, dash, letters = group.own[0].id.rpartition("-")
            mates = sorted((tap.taps[0] for tap in (*group.own, *group.shared)), key=_order)
            stories.append(story_of(mates, f"{head}{dash}s{letters}", other_hosts))
        return stories


# Grouping: taps that overlap in time are one story, unless the names of hosts or a person keep them apart.


@dataclass(slots=True, eq=False)
class TapGroup:
    """The taps of a story: its own, and servers over HTTP that other stories have too."""

    own: list[TapStory]
    shared: list[TapStory] = field(default_factory=list[TapStory])

    @property
    def hosts(self) -> frozenset[str]:
        """The names of known hosts. Names of SDKs do not count: many hosts use an SDK."""
        return frozenset(filter(is_host, (host for tap in self.own for host in tap.hosts)))


def grouped(taps: Iterable[TapStory], links: Links) -> Sequence[TapGroup]:
    """Divide taps into stories, in the order of the stories' first taps.

    Taps are one story if they overlap in time and do not name different hosts. A tap that names no host and overlaps stories of
    different hosts is of none of these. A server over HTTP that the hosts of several stories use is in each of these.
    """
    rows: list[list[TapStory]] = []  # taps in different rows do not overlap
    end_ns = 0
    for tap in sorted(taps, key=_order):
        if not rows or tap.created_ns > end_ns + NEAR_NS:
            rows.append([])
        rows[-1].append(tap)
        end_ns = max(end_ns, tap.end_ns)
    groups: list[TapGroup] = []
    by_hand = {tap for pair, is_joined in links.items() if is_joined for tap in pair}
    for row in rows:
        # Servers over HTTP last: a shared server is no reason to join the stories that share it.
        for tap in sorted(row, key=lambda tap: tap.is_http):
            new = TapGroup([tap])
            joined = chosen = [
                group for group in groups if tap.id in by_hand and _is_decided(group, new, links, joined=True)
            ]
            if not joined:
                near = [
                    group for group in groups[-len(row) :] if _is_near(group, tap) and not _are_apart(group, new, links)
                ]
                # Of none where different hosts may have the tap.
                free = [group for group in near if not any(_are_apart(group, rival, links) for rival in near)]
                chosen = [group for group in near if new.hosts & group.hosts] or free
            if tap.is_http and not joined and any(_are_apart(*pair, links) for pair in combinations(chosen, 2)):
                for group in chosen:
                    group.shared.append(tap)
                continue
            for group in chosen:
                new.own += group.own
                new.shared += [tap for tap in group.shared if tap not in new.shared]
            new.own.sort(key=_order)
            groups = [*(group for group in groups if group not in chosen), new]
    return sorted(groups, key=lambda group: _order(group.own[0]))


def _order(tap: SessionInfo) -> tuple[int, str]:
    return tap.created_ns, tap.id


def _is_near(group: TapGroup, tap: TapStory) -> bool:
    begin_ns, end_ns = group.own[0].created_ns - NEAR_NS, max(mate.end_ns for mate in group.own) + NEAR_NS
    return tap.created_ns <= end_ns and tap.end_ns >= begin_ns


def _are_apart(one: TapGroup, two: TapGroup, links: Links) -> bool:
    """Return whether two stories name different hosts, or a person parted them."""
    are_different = bool(one.hosts and two.hosts) and not one.hosts & two.hosts
    return one is not two and (are_different or _is_decided(one, two, links, joined=False))


def _is_decided(one: TapGroup, two: TapGroup, links: Links, *, joined: bool) -> bool:
    pairs = product(one.own, two.own) if links else ()
    return any(links.get((min(tap.id, mate.id), max(tap.id, mate.id))) is joined for tap, mate in pairs)
