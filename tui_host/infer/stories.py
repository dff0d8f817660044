"""List, find, join and part stories: the traffic of a host with models and servers, recorded by several taps."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from operator import attrgetter
from typing import TypeAlias

from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.notes_of_people import save_tap_links, tap_links
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError
from tui_host.infer.conversations import host_names
from tui_host.infer.conversations.host_names import hosts_of, in_words, is_host
from tui_host.infer.tap_facts import TapFacts

NEAR_NS = 5_000_000_000  # how long after the end of one tap another may begin and still count as overlapping
_stated_in = lru_cache(1 << 10)(TapFacts)
_order = attrgetter("created_ns", "id")
Links: TypeAlias = Mapping[tuple[str, str], bool]
"""What a person decided of pairs of taps, the smaller id first: True if both are one story."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapStory(SessionInfo):
    """The taps of a story as one session, or a single tap: the half of a story named by a tap's id."""

    taps: Sequence[SessionInfo]  # in the order in which they began
    halves: Sequence[TapStory]  # each tap of several, by itself
    hosts: Sequence[str]  # their stated names
    label: str  # the taps and their hosts, for a line below the story: `tap stdio math (Cline)`

    @property
    def size(self) -> str:
        """The number of taps, and the number of running taps if some have ended: `3 taps`, `2 of 3 taps`."""
        live, count = sum(tap.live for tap in self.taps), len(self.taps)
        return f"{f'{live:,} of ' if 0 < live < count else ''}{count:,} tap{'s' * (count != 1)}"

    @property
    def end_ns(self) -> int:
        """When the last tap ended: now, while one runs."""
        return time.time_ns() if self.live else self.updated_ns


def story_of(taps: Sequence[SessionInfo], name: str = "") -> TapStory:
    """Return taps as a story with the id `name`, or a tap as the half of one."""
    first, stated = taps[0], [_stated_in(tap.facts) for tap in taps]
    speakers = list(dict.fromkeys(speaker for facts in stated for speaker in facts.speakers))
    hosts = hosts_of(speakers, [client for facts in stated for client in facts.clients])
    # `Cline: What is 6 × 5? (tap llm api.deepseek.com, tap stdio math)`
    names = (f"tap {facts.kind} {tap.title}".replace("  ", " ") for facts, tap in zip(stated, taps, strict=True))
    tapped = first.title if first.imported else ", ".join(dict.fromkeys(names))
    words, question = in_words(hosts), next((facts.question for facts in stated if facts.question), "")
    title = ": ".join(filter(None, (words, f"{question} ({tapped})" if question else tapped)))
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
        label=f"{tapped} ({words})" if words else tapped,
    )


@dataclass(frozen=True, slots=True)
class Stories:
    """The stories in a store. All methods block on the disk; a name that is nothing's, or several', raises `TuiHostError`."""

    _store: Store

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
        stories = self.with_tap(f"{head}{dash}{letters[1:]}") if letters.startswith("s") else ()
        return next((story for story in stories if story.id == name), stories[0] if stories else None)

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
                return self.with_tap(info.id)[0]
        return story_of([info]) if info.is_story and not isinstance(info, TapStory) else info

    def join(self, one: str, two: str) -> TapStory:
        """Join two different stories recorded here, each named by its id or that of one of its taps. Return the joined story."""
        named = [self._recorded_here(name) for name in (one, two)]
        # A tap's id stands for the first of its stories.
        whole = [story if story.halves else self.with_tap(story.taps[0].id)[0] for story in named]
        first, second = ([tap.id for tap in story.taps] for story in whole)
        if len({*first, *second}) < 2:
            raise TuiHostError("both are the same tap", f"{one} {two}", "name two stories of `tui-host sessions list`")
        save_tap_links(self._store, (pair for pair in product(first, second) if pair[0] != pair[1]), joined=True)
        return self.with_tap(first[0])[0]

    def part(self, name: str, story: str = "") -> TapStory:
        """Part a tap from the other taps of all stories, or only of the story with the id `story`. Return the tap's story."""
        taps = [tap.id for tap in self._recorded_here(name).taps]
        if len(taps) > 1:
            remedy = f"name the tap to part: {', '.join(taps)}"
            raise TuiHostError("this is a story of several taps", name, remedy)
        mates = {mate.id for whole in self.with_tap(taps[0]) if story in {"", whole.id} for mate in whole.taps} - {
            *taps
        }
        if not mates:
            raise TuiHostError("this tap is a story by itself already", name, "look at `tui-host sessions list`")
        save_tap_links(self._store, product(taps, mates), joined=False)
        return self.with_tap(taps[0])[0]

    def _recorded_here(self, name: str) -> TapStory:
        named = self.find(name)
        if isinstance(named, TapStory) and not named.imported:
            return named
        remedy = "name a story or a tap of `tui-host sessions list`"
        raise TuiHostError("this is no tap that was recorded here", name, remedy)

    def with_tap(self, tap: str) -> Sequence[TapStory]:
        """Return the stories with a tap: several for a shared server, none for an unknown id."""
        stories = self._stories(info for info in self._store.sessions.list() if not info.imported)
        return [story for story in stories if any(mate.id == tap for mate in story.taps)]

    def _stories(self, sessions: Iterable[SessionInfo]) -> Sequence[TapStory]:
        taps = [story_of([info]) for info in sessions if info.is_story]
        stories = [tap for tap in taps if tap.imported]
        groups = grouped((tap for tap in taps if not tap.imported), tap_links(self._store))
        for group in groups:
            head, dash, letters = group.own[0].id.rpartition("-")
            stories.append(story_of([tap.taps[0] for tap in group.own], f"{head}{dash}s{letters}"))
        return stories


# Grouping: taps that overlap in time are one story, unless the names of hosts or a person keep them apart.


@dataclass(slots=True, eq=False)
class TapGroup:
    """The taps of a story."""

    own: list[TapStory]
    hosts: set[str]  # the names of known hosts; those of SDKs do not count: many hosts use an SDK


def grouped(taps: Iterable[TapStory], links: Links) -> Sequence[TapGroup]:
    """Divide taps into stories, in the order of the stories' first taps.

    Taps are one story if they overlap in time and do not name different hosts. A tap that names no host and overlaps stories of
    different hosts is of none of these.
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
        for tap in row:
            new = TapGroup([tap], set(filter(is_host, tap.hosts)))
            chosen = groups if tap.id in by_hand else []
            chosen = [group for group in chosen if _is_decided(group, new, links, joined=True)]
            if not chosen:
                since_ns, until_ns = tap.created_ns - NEAR_NS, tap.end_ns + NEAR_NS
                near = [group for group in groups[-len(row) :] if group.own[0].created_ns <= until_ns]
                near = [group for group in near if max(mate.end_ns for mate in group.own) >= since_ns]
                near = [group for group in near if not _are_apart(group, new, links)]
                # Of none where different hosts may have the tap.
                free = [group for group in near if not any(_are_apart(group, rival, links) for rival in near)]
                chosen = [group for group in near if new.hosts & group.hosts] or free
            for group in chosen:
                new.own += group.own
                new.hosts |= group.hosts
            new.own.sort(key=_order)
            groups = [*(group for group in groups if group not in chosen), new]
    return sorted(groups, key=lambda group: _order(group.own[0]))


def _are_apart(one: TapGroup, two: TapGroup, links: Links) -> bool:
    """Return whether two stories name different hosts, or a person parted them."""
    are_different = bool(one.hosts and two.hosts) and not one.hosts & two.hosts
    return one is not two and (are_different or _is_decided(one, two, links, joined=False))


def _is_decided(one: TapGroup, two: TapGroup, links: Links, *, joined: bool) -> bool:
    pairs = product(one.own, two.own) if links else ()
    return any(links.get((min(tap.id, mate.id), max(tap.id, mate.id))) is joined for tap, mate in pairs)
