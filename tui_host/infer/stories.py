"""List, find, join and part stories: the traffic of a host with models and servers, recorded by several taps."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.notes_of_people import save_tap_links, tap_links
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError
from tui_host.infer.conversations.host_names import (
    Speaker,
    host_named,
    hosts_of,
    in_words,
    models_in_words,
    models_of,
    protocols_of,
)
from tui_host.infer.tap_facts import TapFacts
from tui_host.infer.tap_groups import KnownTap, grouped

_SHORT = 12
"""Characters of hosts' names before what was asked: a list of 80 columns has about twice as many for both."""
_READ = 500
"""How many records of each capture tell the facts of a session whose recorder did not write any, as an imported one."""


def story_id(tap: str) -> str:
    """Return a story's id, made from the id of the first tap: `20261124-153000-s4f2k9` for `20261124-153000-4f2k9`."""
    head, dash, letters = tap.rpartition("-")
    return f"{head}{dash}s{letters}"


def first_tap(story: str) -> str:
    """Return the first tap's id, taken from a story's id; empty if the argument is no story's id."""
    head, dash, letters = story.rpartition("-")
    return f"{head}{dash}{letters[1:]}" if letters.startswith("s") else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapStory:
    """The taps of a story, or a single tap: the half of a story named by a tap's id.

    Attributes:
        id: The story's id, which stays the same when another tap joins.
        known: The taps, in the order in which they began.
        other_hosts: For each tap shared with other stories, the hosts of those stories.
    """

    id: str
    known: Sequence[KnownTap]
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
        first = self.known[0].info
        return replace(
            first,
            id=self.id,
            title=self.title,
            updated_ns=self.updated_ns,
            live=self.live,
            model=models_in_words([pair for pair in models_of(self._speakers) if pair[1]]) or first.model,
            protocol=in_words(protocols_of(self._speakers)) or first.protocol,
        )

    @property
    def halves(self) -> Sequence[TapStory]:
        """Each tap of a story of several, by itself."""
        return [TapStory(id=tap.id, known=[tap]) for tap in self.known] if len(self.known) > 1 else ()

    @property
    def hosts(self) -> Sequence[str]:
        """The stated names of the story's hosts, without hosts of other stories on a shared server."""
        foreign = frozenset[str]().union(*self.other_hosts.values())
        clients = (client for tap in self.known for client in tap.facts.clients)
        return hosts_of(self._speakers, [client for client in clients if host_named(client) not in foreign])

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
        if self.is_imported:
            return self.known[0].info.title
        named = (" ".join(filter(None, ("tap", tap.facts.kind, tap.info.title))) for tap in self.known)
        return ", ".join(dict.fromkeys(named))

    @property
    def _speakers(self) -> Sequence[Speaker]:
        return list(dict.fromkeys(speaker for tap in self.known for speaker in tap.facts.speakers))


class Stories:
    """The stories in a store. All methods block on the disk, and raise `StoreError` where the file cannot be read."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._facts: dict[str, TapFacts] = {}  # of taps that have ended

    def listed(self) -> Sequence[SessionInfo | TapStory]:
        """List sessions and stories, the last changed first."""
        sessions = self.store.sessions.list()
        lines = [*(info for info in sessions if not info.is_story), *self._stories(sessions)]
        return sorted(lines, key=lambda line: line.updated_ns, reverse=True)

    def get(self, name: str) -> TapStory | None:
        """Return the story or the single tap with an id; None if nothing has the id.

        An id whose story was joined to an earlier one names that story.
        """
        info = self.store.sessions.get(name)
        if info is not None:
            return self._alone(info) if info.is_foreign else None
        stories = self._with(first_tap(name))
        return next((story for story in stories if story.id == name), stories[0] if stories else None)

    def around(self, tap: str) -> Sequence[SessionInfo]:
        """Return all taps of a tap's stories."""
        return list({info.id: info for story in self._with(tap) for info in story.taps}.values())

    def find(self, name: str) -> SessionInfo | TapStory:
        """Find a session, a story or a tap by id, by the beginning of an id, or as `last`.

        Where an id of a story and ids of the story's taps begin alike, the story is meant.

        Raises:
            TuiHostError: Nothing has this name, or several have.
        """
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
        """Join two stories, each named by the story's id or the id of a tap in the story. Return the joined story.

        Raises:
            TuiHostError: One is no story of taps that were recorded here, both are the same, or the file cannot be written.
        """
        named = [self._recorded_here(name) for name in (one, two)]
        # A tap's id stands for the first of its stories.
        whole = [story if story.id != story.known[0].id else self._with(story.id)[0] for story in named]
        ids = [[tap.id for tap in story.known] for story in whole]
        if len({*ids[0], *ids[1]}) < 2:
            raise TuiHostError("both are the same tap", f"{one} {two}", "name two stories of `tui-host sessions list`")
        save_tap_links(self.store, (pair for pair in product(ids[0], ids[1]) if pair[0] != pair[1]), joined=True)
        return self._with(ids[0][0])[0]

    def part(self, name: str, story: str = "") -> TapStory:
        """Part a tap from the other taps of all stories, or only of the story with the id `story`. Return the tap's story.

        Where a model's tap is parted, servers over HTTP stay in both stories: several hosts may use a server.

        Raises:
            TuiHostError: There is no such tap, it is a story by itself already, or the file cannot be written.
        """
        tap, *rest = self._recorded_here(name).known
        if rest:
            ids = ", ".join(tap.id for tap in (tap, *rest))
            raise TuiHostError("this is a story of several taps", name, f"name the tap to part: {ids}")
        mates = {mate.id: mate for whole in self._with(tap.id) if story in {"", whole.id} for mate in whole.known}
        is_model = tap.facts.kind == "llm"
        parted = [mate.id for mate in mates.values() if not (is_model and mate.facts.kind == "http")]
        parted = [mate for mate in parted if mate != tap.id]
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
        stories = self._stories(info for info in self.store.sessions.taps() if not info.imported)
        return [story for story in stories if any(mate.id == tap for mate in story.known)]

    def _stories(self, sessions: Iterable[SessionInfo]) -> Sequence[TapStory]:
        """Divide the taps among sessions into stories."""
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
        return KnownTap(info=info, facts=facts, ended_ns=time.time_ns() if info.live else info.updated_ns)
