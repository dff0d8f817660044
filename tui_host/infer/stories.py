"""List, find, join and part stories: the traffic of a host with models and servers, recorded by several taps."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.notes_of_people import save_tap_links, tap_links
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError
from tui_host.infer.conversations import host_names
from tui_host.infer.conversations.host_names import Speaker, in_words
from tui_host.infer.tap_facts import TapFacts

NEAR_NS = 5_000_000_000  # how long after the end of one tap another may begin and still count as overlapping
_SHORT = 12  # characters of hosts' names before what was asked: a list of 80 columns has about twice as many for both
_READ = 500  # how many records of each capture tell the facts of a session whose recorder did not write any
Links: TypeAlias = Mapping[tuple[str, str], bool]
"""What a person decided of pairs of taps, the smaller id first: True if both are one story."""


def story_id(tap: str) -> str:
    """Return a story's id, made from the id of the first tap: `20261124-153000-s4f2k9` for `20261124-153000-4f2k9`."""
    head, dash, letters = tap.rpartition("-")
    return f"{head}{dash}s{letters}"


class KnownTap(NamedTuple):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TapStory:
    """The taps of a story, or a single tap: the half of a story named by a tap's id."""

    id: str  # which stays the same when another tap joins
    known: Sequence[KnownTap]  # in the order in which they began
    # For each tap shared with other stories, the hosts of those stories.
    other_hosts: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    @property
    def taps(self) -> Sequence[SessionInfo]:
        """The taps' sessions."""
        return [tap.info for tap in self.known]

    @property
    def is_imported(self) -> bool:
        """Whether the story came from a file, and is a session by itself."""
        return self.known[0].info.imported

    @property
    def info(self) -> SessionInfo:
        """The story as a session."""
        first, models = self.known[0].info, [pair for pair in host_names.models_of(self._speakers) if pair[1]]
        own = replace(first, id=self.id, title=self.title, updated_ns=self.updated_ns, live=self.live)
        protocol = in_words(host_names.protocols_of(self._speakers)) or first.protocol
        return replace(own, model=host_names.models_in_words(models) or first.model, protocol=protocol)

    @property
    def halves(self) -> Sequence[TapStory]:
        """Each tap of a story of several, by itself."""
        return [TapStory(id=tap.id, known=[tap]) for tap in self.known] if len(self.known) > 1 else ()

    @property
    def hosts(self) -> Sequence[str]:
        """The stated names of the story's hosts, without hosts of other stories on a shared server."""
        foreign = frozenset[str]().union(*self.other_hosts.values())
        clients = [client for tap in self.known for client in tap.facts.clients]
        own = [client for client in clients if host_names.host_named(client) not in foreign]
        return host_names.hosts_of(self._speakers, own)

    @property
    def live(self) -> bool:
        """Whether a tap of the story still runs."""
        return any(tap.live for tap in self.taps)

    @property
    def updated_ns(self) -> int:
        """When something last passed."""
        return max(tap.updated_ns for tap in self.taps)

    @property
    def size(self) -> str:
        """The number of taps, and the number of running taps if some have ended: `3 taps`, `2 of 3 taps`."""
        live, count = sum(tap.live for tap in self.taps), len(self.taps)
        return f"{f'{live:,} of ' if 0 < live < count else ''}{count:,} tap{'s' * (count != 1)}"

    @property
    def title(self) -> str:
        """The hosts, the first question, and the taps: `Cline: What is 6 × 5? (tap llm api.deepseek.com, tap stdio math)`.

        The question comes first where the hosts' names would leave no room: `What is 6 × 5? (the OpenAI SDK for Python: tap llm …)`.
        """
        names, hosts = self._tapped, in_words(self.hosts)
        if self.is_imported and self.known[0].info.source == "tap":
            return names  # that which it was exported with
        question = next(filter(None, (tap.facts.question for tap in self.known)), "")
        if question and len(hosts) > _SHORT:
            return f"{question} ({hosts}: {names})"
        return ": ".join(filter(None, (hosts, f"{question} ({names})" if question else names)))

    @property
    def label(self) -> str:
        """The tap and the hosts that use the tap, for a line below the story: `tap stdio math (Cline)`."""
        hosts = in_words(self.hosts)
        return f"{self._tapped} ({hosts})" if hosts else self._tapped

    @property
    def _tapped(self) -> str:
        """The taps, in words: `tap llm api.deepseek.com, tap stdio math`."""
        named = (" ".join(filter(None, ("tap", tap.facts.kind, tap.info.title))) for tap in self.known)
        return self.known[0].info.title if self.is_imported else ", ".join(dict.fromkeys(named))

    @property
    def _speakers(self) -> Sequence[Speaker]:
        return list(dict.fromkeys(speaker for tap in self.known for speaker in tap.facts.speakers))


class Stories:
    """The stories in a store. All methods block on the disk; a name that is nothing's, or several', raises `TuiHostError`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._facts: dict[str, TapFacts] = {}  # of taps that have ended

    def listed(self) -> Sequence[SessionInfo | TapStory]:
        """List sessions and stories, the last changed first."""
        sessions = self.store.sessions.list()
        lines = [*(info for info in sessions if not info.is_story), *self._stories(sessions)]
        return sorted(lines, key=lambda line: line.updated_ns, reverse=True)

    def get(self, name: str) -> TapStory | None:
        """Return the story or the single tap with an id, also the story that it was joined to; None if nothing has the id."""
        info = self.store.sessions.get(name)
        if info is not None:
            return self._alone(info) if info.is_foreign else None
        head, dash, letters = name.rpartition("-")
        stories = self._with(f"{head}{dash}{letters[1:]}") if letters.startswith("s") else ()
        return next((story for story in stories if story.id == name), stories[0] if stories else None)

    def around(self, tap: str) -> Sequence[SessionInfo]:
        """Return all taps of a tap's stories."""
        return list({info.id: info for story in self._with(tap) for info in story.taps}.values())

    def find(self, name: str) -> SessionInfo | TapStory:
        """Find a session, a story or a tap by id, by the beginning of an id, where a story comes before its taps, or as `last`."""
        info = self.store.sessions.get(name)
        if info is None:
            if (story := self.get(name)) is not None:
                return story
            matches = [line for line in self.listed() if name and line.id.startswith(name)]
            if len(matches) > 1:
                ids = ", ".join(match.id for match in matches[:5])
                raise TuiHostError(f"{len(matches)} sessions begin with this: {ids}", name, "type more of the id")
            if matches:
                return matches[0]
            info = self.store.sessions.find(name)  # names the nearest ids where there is none
            if name == "last" and info.is_story and not info.imported:
                return self._with(info.id)[0]
        return self._alone(info) if info.is_story else info

    def join(self, one: str, two: str) -> TapStory:
        """Join two different stories recorded here, each named by its id or that of one of its taps. Return the joined story."""
        named = [self._recorded_here(name) for name in (one, two)]
        # A tap's id stands for the first of its stories.
        whole = [story if story.id != story.known[0].id else self._with(story.id)[0] for story in named]
        first, second = ([tap.id for tap in story.known] for story in whole)
        if len({*first, *second}) < 2:
            raise TuiHostError("both are the same tap", f"{one} {two}", "name two stories of `tui-host sessions list`")
        save_tap_links(self.store, (pair for pair in product(first, second) if pair[0] != pair[1]), joined=True)
        return self._with(first[0])[0]

    def part(self, name: str, story: str = "") -> TapStory:
        """Part a tap from the other taps of all stories, or only of the story with the id `story`. Return the tap's story.

        Where a model's tap is parted, servers over HTTP stay in both stories: several hosts may use a server.
        """
        taps = self._recorded_here(name).known
        if len(taps) > 1:
            ids = ", ".join(tap.id for tap in taps)
            raise TuiHostError("this is a story of several taps", name, f"name the tap to part: {ids}")
        tap, is_model = taps[0], taps[0].facts.kind == "llm"
        mates = {mate.id: mate for whole in self._with(tap.id) if story in {"", whole.id} for mate in whole.known}
        del mates[tap.id]
        parted = [mate.id for mate in mates.values() if not (is_model and mate.facts.kind == "http")]
        if not parted:
            raise TuiHostError("this tap is a story by itself already", name, "look at `tui-host sessions list`")
        save_tap_links(self.store, ((tap.id, mate) for mate in parted), joined=False)
        return self._with(tap.id)[0]

    def _recorded_here(self, name: str) -> TapStory:
        named = self.find(name)
        if isinstance(named, TapStory) and not named.is_imported:
            return named
        remedy = "name a story or a tap of `tui-host sessions list`"
        raise TuiHostError("this is no tap that was recorded here", name, remedy)

    def _alone(self, tap: SessionInfo) -> TapStory:
        return TapStory(id=tap.id, known=[self._known(tap)])

    def _with(self, tap: str) -> Sequence[TapStory]:
        """Return the stories with a tap: several for a shared server, none for an unknown id."""
        stories = self._stories(info for info in self.store.sessions.list() if not info.imported)
        return [story for story in stories if any(mate.id == tap for mate in story.known)]

    def _stories(self, sessions: Iterable[SessionInfo]) -> Sequence[TapStory]:
        taps = [self._known(info) for info in sessions if info.is_story]
        groups = grouped((tap for tap in taps if not tap.info.imported), tap_links(self.store))
        stories = [TapStory(id=tap.id, known=[tap]) for tap in taps if tap.info.imported]
        first_taps = set[str]()
        for group in groups:
            first = next(tap.id for tap in group.taps if tap.id not in first_taps)
            first_taps.add(first)
            other_hosts: dict[str, frozenset[str]] = {}
            for tap in group.shared:
                hosts = (rival.hosts for rival in groups if tap in rival.shared)
                other_hosts[tap] = frozenset[str]().union(*hosts) - group.hosts
            stories.append(TapStory(id=story_id(first), known=group.taps, other_hosts=other_hosts))
        return stories

    def _known(self, info: SessionInfo) -> KnownTap:
        """Return a tap with its facts, from its row; else from the records with which its captures begin."""
        facts = self._facts.get(info.id)
        if facts is None:
            facts = TapFacts(info.facts, self.store.redactor.text)
            for capture in () if facts.kind else self.store.sessions.captures(info.id):
                for record in self.store.records(capture=capture, until_seq=_READ):
                    facts.feed(record)
            if not info.live:
                self._facts[info.id] = facts
        return KnownTap(info, facts, time.time_ns() if info.live else info.updated_ns)


# Grouping: taps that overlap in time are one story, unless the names of hosts or a person keep them apart.


@dataclass(slots=True, eq=False)
class TapGroup:
    """The taps of a story; `shared` are the ids of taps that other stories have too, `hosts` those that its own taps name."""

    taps: list[KnownTap]
    shared: set[str] = field(default_factory=set[str])

    @property
    def own(self) -> Sequence[KnownTap]:
        return [tap for tap in self.taps if tap.id not in self.shared]

    @property
    def hosts(self) -> frozenset[str]:
        return frozenset[str]().union(*(tap.facts.hosts for tap in self.own))


def grouped(taps: Iterable[KnownTap], links: Links) -> Sequence[TapGroup]:
    """Divide taps into stories, in the order of the stories' first taps.

    Taps are one story if they overlap in time and do not name different hosts. A tap that names no host and overlaps stories of
    different hosts is of none of these. A server over HTTP that the hosts of several stories use is in each of these.
    """
    groups: list[TapGroup] = []
    for row in _rows(taps, links):
        stories: list[TapGroup] = []
        # Servers over HTTP last: a shared server is no reason to join the stories that share it.
        for tap in sorted(row, key=lambda tap: (tap.facts.kind == "http", tap.order)):
            stories = _with(stories, tap, links)
        groups += stories
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


def _with(groups: list[TapGroup], tap: KnownTap, links: Links) -> list[TapGroup]:
    """Add a tap to a story, a shared server to several; begin a story where none fits."""
    new, is_http = TapGroup([tap]), tap.facts.kind == "http"
    chosen = joined = [group for group in groups if _is_decided(group, new, links, joined=True)]
    if not joined:
        near = [group for group in groups if _is_near(group.own, tap) and not _are_apart(group, new, links)]
        of_same_host = [group for group in near if new.hosts & group.hosts]
        # Of none where different hosts may have the tap.
        free = [group for group in near if not any(_are_apart(group, rival, links) for rival in near)]
        chosen = of_same_host or free or [group for group in near if is_http and not group.hosts]
    if is_http and not joined and any(_are_apart(*pair, links) for pair in combinations(chosen, 2)):
        for group in chosen:
            group.taps.append(tap)
            group.shared.add(tap.id)
        return groups
    for group in chosen:
        new.taps = [*group.taps, *new.taps]
        new.shared |= group.shared
    return [*(group for group in groups if group not in chosen), new]


def _is_near(own: Sequence[KnownTap], tap: KnownTap) -> bool:
    begin_ns = min((mate.info.created_ns for mate in own), default=tap.ended_ns + 2 * NEAR_NS)
    end_ns = max((mate.ended_ns for mate in own), default=0)
    return tap.info.created_ns <= end_ns + NEAR_NS and tap.ended_ns + NEAR_NS >= begin_ns


def _are_apart(one: TapGroup, two: TapGroup, links: Links) -> bool:
    """Return whether two stories name different hosts, or a person parted them."""
    are_different = bool(one.hosts and two.hosts) and not one.hosts & two.hosts
    return one is not two and (are_different or _is_decided(one, two, links, joined=False))


def _is_decided(one: TapGroup, two: TapGroup, links: Links, *, joined: bool) -> bool:
    pairs = ((tap.id, mate.id) for tap in one.own for mate in two.own) if links else ()
    return any(links.get((min(pair), max(pair))) is joined for pair in pairs)
