"""List, find, join and part stories: the traffic of a host with models and servers, recorded by several taps."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product

from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.store import Store
from tui_host.capture.store.tap_summary import captures_of, save_tap_links, tap_links
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
from tui_host.infer.tap_facts import FactsReader, TapFacts
from tui_host.infer.tap_groups import grouped, rows_of

_SHORT = 12
"""Characters of hosts' names before what was asked: a list of 80 columns has about twice as many for both."""


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
        taps: The taps' sessions, in the order in which they began.
        facts: The facts of each tap's captures, as far as known. Only imported taps have several captures.
        other_hosts: For each tap shared with other stories, the hosts of those stories.
    """

    id: str
    taps: Sequence[SessionInfo]
    facts: Sequence[Sequence[TapFacts]] = ()
    other_hosts: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    @property
    def info(self) -> SessionInfo:
        """The story as a session."""
        return replace(
            self.taps[0],
            id=self.id,
            title=self.title,
            updated_ns=self.updated_ns,
            live=self.live,
            model=models_in_words(models_of(self._speakers)) or self.taps[0].model,
            protocol=in_words(protocols_of(self._speakers)) or self.taps[0].protocol,
        )

    @property
    def halves(self) -> Sequence[TapStory]:
        """Each tap of a story of several, by itself."""
        if len(self.taps) < 2:
            return ()
        return [
            TapStory(id=tap.id, taps=[tap], facts=[facts])
            for tap, facts in zip(self.taps, self._all_facts, strict=True)
        ]

    @property
    def hosts(self) -> Sequence[str]:
        """The stated names of the story's hosts, without hosts of other stories on a shared server."""
        clients = [client for facts in chain.from_iterable(self.facts) for client in facts.clients]
        foreign = frozenset[str]().union(*self.other_hosts.values())
        clients = [client for client in clients if host_named(client) not in foreign]
        return hosts_of(self._speakers, clients)

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
        live = sum(tap.live for tap in self.taps)
        count = sum(max(len(facts), 1) for facts in self._all_facts)
        return f"{f'{live:,} of ' if 0 < live < count else ''}{count:,} tap{'s' * (count != 1)}"

    @property
    def title(self) -> str:
        """The hosts, the first question, and the taps: `Cline: What is 6 × 5? (tap llm api.deepseek.com, tap stdio math)`.

        The question comes first where the hosts' names would leave no room: `What is 6 × 5? (the OpenAI SDK for Python: tap llm …)`.
        """
        names = self._tapped
        questions = (facts.question for facts in chain.from_iterable(self.facts))
        question = next(filter(None, questions), "")
        hosts = in_words(self.hosts)
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
        named = (_names(tap, facts) for tap, facts in zip(self.taps, self._all_facts, strict=True))
        return ", ".join(dict.fromkeys(chain.from_iterable(named)))

    @property
    def _all_facts(self) -> Sequence[Sequence[TapFacts]]:
        return [*self.facts, *([()] * (len(self.taps) - len(self.facts)))]

    @property
    def _speakers(self) -> Sequence[Speaker]:
        return list(dict.fromkeys(chain.from_iterable(facts.speakers for facts in chain.from_iterable(self.facts))))


def _names(tap: SessionInfo, facts: Sequence[TapFacts]) -> Sequence[str]:
    """Describe a tap by kind and title: `tap stdio math`; a file by its name."""
    if tap.source == "import":
        return [tap.title]
    named = [(capture.kind, tap.title if len(facts) < 2 else capture.peer) for capture in facts or (TapFacts(),)]
    return [" ".join(filter(None, ("tap", kind, title))) for kind, title in named]


class Stories:
    """The stories in a store. All methods block on the disk, and raise `StoreError` where the file cannot be read.

    Args:
        store: The store.

    Attributes:
        store: The same.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._readers: dict[str, Sequence[FactsReader]] = {}
        self._ended: set[str] = set()

    def listed(self, most: int | None = None) -> tuple[Sequence[SessionInfo | TapStory], bool]:
        """List sessions and stories, the last changed first.

        Args:
            most: Read the facts of at most so many taps of which none are known yet; None for all.

        Returns:
            The list, and whether the facts of all taps are known by now.
        """
        sessions = self.store.sessions.list()
        taps = [info for info in sessions if info.is_story]
        unread = [tap.id for tap in taps if tap.id not in self._readers]
        skipped = frozenset(unread[most:] if most is not None else ())
        lines = [*(info for info in sessions if not info.is_story), *self._stories(taps, skipped)]
        return sorted(lines, key=lambda line: line.updated_ns, reverse=True), not skipped

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
        if (info := self.store.sessions.get(name)) is not None:
            return self._alone(info) if info.is_story else info
        if (story := self.get(name)) is not None:
            return story
        if name == "last":
            info = self.store.sessions.find(name)
            return self._with(info.id)[0] if info.is_story and not info.imported else self.find(info.id)
        matches = [line for line in self.listed()[0] if name and line.id.startswith(name)]
        if len(matches) > 1:
            ids = ", ".join(match.id for match in matches[:5])
            raise TuiHostError(f"{len(matches)} sessions begin with this: {ids}", name, "type more of the id")
        if matches:
            return matches[0]
        return self.find(self.store.sessions.find(name).id)  # names the nearest ids where there is none

    def join(self, one: str, two: str) -> TapStory:
        """Join two stories, each named by the story's id or the id of a tap in the story. Return the joined story.

        Raises:
            TuiHostError: One is no story of taps that were recorded here, both are the same, or the file cannot be written.
        """
        first, second = (self._whole(name) for name in (one, two))
        first_ids, second_ids = ([tap.id for tap in story.taps] for story in (first, second))
        if len({*first_ids, *second_ids}) < 2:
            raise TuiHostError("both are the same tap", f"{one} {two}", "name two stories of `tui-host sessions list`")
        save_tap_links(self.store, (pair for pair in product(first_ids, second_ids) if pair[0] != pair[1]), joined=True)
        return self._with(first_ids[0])[0]

    def part(self, name: str, story: str = "") -> TapStory:
        """Part a tap from the other taps of all stories, or only of the story with the id `story`. Return the tap's story.

        Where a model's tap is parted, servers over HTTP stay in both stories: several hosts may use a server.

        Raises:
            TuiHostError: There is no such tap, it is a story by itself already, or the file cannot be written.
        """
        named = self.find(name)
        tap = named.taps[0] if isinstance(named, TapStory) and len(named.taps) == 1 else None
        if not isinstance(named, TapStory) or named.taps[0].imported:
            raise TuiHostError("this is no tap that was recorded here", name, "name a tap of a story of several")
        if tap is None:
            ids = ", ".join(info.id for info in named.taps)
            raise TuiHostError("this is a story of several taps", name, f"name the tap to part: {ids}")
        stories = [whole for whole in self._with(tap.id) if not story or whole.id == story]
        facts = {
            info.id: tap_facts[0] for whole in stories for info, tap_facts in zip(whole.taps, whole.facts, strict=True)
        }
        is_shared = facts[tap.id].kind == "llm"
        parted = [mate for mate in facts if mate != tap.id and not (is_shared and facts[mate].kind == "http")]
        if not parted:
            raise TuiHostError("this tap is a story by itself already", name, "look at `tui-host sessions list`")
        save_tap_links(self.store, ((tap.id, mate) for mate in parted), joined=False)
        return self._with(tap.id)[0]

    def _whole(self, name: str) -> TapStory:
        """Find a story by the story's name or the name of a tap in the story."""
        named = self.find(name)
        if not isinstance(named, TapStory) or named.taps[0].imported:
            raise TuiHostError(
                "this is no tap that was recorded here", name, "name a story or a tap of `tui-host sessions list`"
            )
        return named if named.id != named.taps[0].id else self._with(named.id)[0]

    def _alone(self, tap: SessionInfo) -> TapStory:
        return TapStory(id=tap.id, taps=[tap], facts=[self._facts(tap)])

    def _with(self, tap: str) -> Sequence[TapStory]:
        """Return the stories with a tap: several for a shared server, none for an unknown id."""
        taps = [info for info in self.store.sessions.taps(0) if not info.imported]
        now_ns = time.time_ns()
        rows = rows_of(taps, tap_links(self.store), now_ns)
        row = [info for row in rows if any(info.id == tap for info in row) for info in row]
        return [story for story in self._stories(row) if any(info.id == tap for info in story.taps)]

    def _stories(self, taps: Sequence[SessionInfo], skipped: frozenset[str] = frozenset()) -> Sequence[TapStory]:
        """Divide taps into stories, without reading the facts of skipped taps."""
        facts = {tap.id: () if tap.id in skipped else self._facts(tap) for tap in taps}

        def facts_of(tap: SessionInfo) -> TapFacts:
            return next(iter(facts[tap.id]), TapFacts())

        links, now_ns = tap_links(self.store), time.time_ns()
        stories = [TapStory(id=tap.id, taps=[tap], facts=[facts[tap.id]]) for tap in taps if tap.imported]
        for row in rows_of((tap for tap in taps if not tap.imported), links, now_ns):
            groups = grouped(row, links, facts_of, now_ns)
            named = set[str]()
            for group in groups:
                first = next(tap.id for tap in group.taps if tap.id not in named)
                named.add(first)
                shared = {
                    tap: frozenset[str]().union(*(other.hosts for other in groups if tap in other.shared)) - group.hosts
                    for tap in group.shared
                }
                stories.append(
                    TapStory(
                        id=story_id(first),
                        taps=group.taps,
                        facts=[facts[tap.id] for tap in group.taps],
                        other_hosts=shared,
                    )
                )
        return stories

    def _facts(self, tap: SessionInfo) -> Sequence[TapFacts]:
        """Return a tap's facts, and read new records before, if the tap was still running at the last reading."""
        if tap.id not in self._readers:
            self._readers[tap.id] = [FactsReader(name) for name in captures_of(self.store, tap.id) or [tap.id]]
        readers = self._readers[tap.id]
        if tap.id in self._ended:
            return [reader.facts for reader in readers]
        facts = [reader.read(self.store) for reader in readers]
        if not tap.live:
            self._ended.add(tap.id)
        return facts
