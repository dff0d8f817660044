"""The stories that taps tell: what each is called, and what is looked into to tell which taps belong together."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product

from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.store import Store
from tui_host.capture.store.tap_summary import captures_of
from tui_host.infer.asking.speakers import (
    Agent,
    Own,
    Speaking,
    hosts_of,
    in_words,
    models_in_words,
    models_of,
    own_hosts,
    protocols_of,
)
from tui_host.infer.taps.about import About, Looking
from tui_host.infer.taps.owners import Known, Owners
from tui_host.infer.taps.together import NEAR_NS, ended_ns, together
from tui_host.infer.tool_aliases import name_any

_SHORT = 12
"""Characters of hosts' names before what was asked: a list of 80 columns has about twice as many for both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapStory:
    """Taps that tell one story.

    Attributes:
        taps: Their sessions, in the order in which they began.
        about: What each is, as far as that was looked into.
        own: The hosts of those that ask and do not say who they are, as far as that was found.
    """

    taps: Sequence[SessionInfo]
    about: Sequence[Sequence[About]] = ()
    own: Own = field(default_factory=dict[Agent, str])

    @property
    def hosts(self) -> Sequence[str]:
        """Whose it is, as the hosts say themselves."""
        return hosts_of(self._spoken, self._clients, self.own)

    def with_own(self, owners: Owners) -> TapStory:
        """The same, with the hosts that are found by what taps carried; looked into only where some are known before servers alone."""
        carried = owners.carriers([tap.id for tap in self.taps])
        return replace(self, own=own_hosts(self._spoken, self._clients, carried, self._offered()))

    def _offered(self) -> Iterator[tuple[Agent, str]]:
        for model, server in product(self._abouts, repeat=2):
            if server.clients and name_any(tuple(model.offered), server.tools):
                agents = [each.agent for each in model.spoken if each.has_tools]
                yield from product(agents, server.clients)

    @property
    def model(self) -> str:
        """The models that were asked, in words; empty where none was."""
        return models_in_words(models_of(self._spoken))

    @property
    def protocol(self) -> str:
        """The tool protocols in which they were, in words."""
        return in_words(protocols_of(self._spoken))

    @property
    def live(self) -> bool:
        """Whether more may come."""
        return any(tap.live for tap in self.taps)

    @property
    def updated_ns(self) -> int:
        """When something last came."""
        return max(tap.updated_ns for tap in self.taps)

    @property
    def size(self) -> str:
        """How many taps tell it, and of one that goes on how many of them do: `3 taps`, `2 of 3 taps`."""
        live = sum(tap.live for tap in self.taps)
        # what was brought here has several in one session
        count = sum(max(len(abouts), 1) for _, abouts in self._known)
        return f"{f'{live:,} of ' if 0 < live < count else ''}{count:,} tap{'s' * (count != 1)}"

    @property
    def each(self) -> Sequence[str]:
        """Each tap by what it stands before, and whether more may come from it: `tap stdio math, live`."""
        return [
            ", ".join((*dict.fromkeys(names), *(["live"] * tap.live)))
            for tap, names in zip(self.taps, self._names, strict=True)
        ]

    @property
    def title(self) -> str:
        """The hosts, what was asked first, and what is tapped: `Cline: What is 6 × 5? (tap llm api.deepseek.com, tap stdio math)`.

        What was asked stands first where the hosts' names would leave no room for it: `What is 6 × 5? (the OpenAI SDK for Python: tap llm …)`.
        """
        names = ", ".join(dict.fromkeys(chain.from_iterable(self._names)))
        question = next((each.question for each in self._abouts if each.question), "")
        hosts = in_words(self.hosts)
        if question and len(hosts) > _SHORT:
            return f"{question} ({hosts}: {names})"
        return ": ".join(filter(None, (hosts, f"{question} ({names})" if question else names)))

    @property
    def _names(self) -> Sequence[Sequence[str]]:
        return [_names(tap, abouts) for tap, abouts in self._known]

    @property
    def _known(self) -> Sequence[tuple[SessionInfo, Sequence[About]]]:
        known = [*self.about, *([()] * (len(self.taps) - len(self.about)))]
        return list(zip(self.taps, known, strict=True))

    @property
    def _spoken(self) -> Sequence[Speaking]:
        return list(dict.fromkeys(chain.from_iterable(each.spoken for each in self._abouts)))

    @property
    def _clients(self) -> Sequence[str]:
        return [client for each in self._abouts for client in each.clients]

    @property
    def _abouts(self) -> Sequence[About]:
        return [each for of_tap in self.about for each in of_tap]


def _names(tap: SessionInfo, abouts: Sequence[About]) -> Sequence[str]:
    if len(abouts) < 2:
        return [_name(each.kind, tap.title) for each in abouts or (About(),)]
    return [_name(each.kind, each.peer) for each in abouts]


def _name(kind: str, called: str) -> str:
    return " ".join(filter(None, ("tap", kind, called)))


def look_at(store: Store, tap: SessionInfo, known: Known) -> Sequence[About]:
    """What a tap is; what was found out once is not looked for again. Blocks.

    Args:
        store: Where.
        tap: Its session.
        known: What is known already, added to.
    """
    if tap.id not in known:
        known[tap.id] = [Looking(name) for name in captures_of(store, tap.id) or [tap.id]]
    return [each.look(store) for each in known[tap.id]]  # it may say later who it is


def all_listed(store: Store, known: Known, most: int | None = None) -> tuple[Sequence[SessionInfo | TapStory], bool]:
    """All that is listed, the latest first: sessions, and what taps tell as stories. Blocks.

    Args:
        store: Where.
        known: What is known of taps, added to.
        most: At most so many taps of which nothing is known yet are looked into; None for all.

    Returns:
        What is listed, and whether all taps have been looked into by now.

    Raises:
        StoreError: The file cannot be read.
    """
    infos = store.sessions.list()
    taps = [info for info in infos if info.source == "tap"]
    new = [tap.id for tap in taps if tap.id not in known]
    left = [] if most is None else new[most:]
    for tap in taps:
        if tap.id not in left:
            look_at(store, tap, known)
    lines = [*(info for info in infos if info.source != "tap"), *stories_of(store, taps, known)]
    return sorted(lines, key=lambda line: line.updated_ns, reverse=True), not left


def _told(known: Known, tap: SessionInfo) -> Sequence[About]:
    """What is known of a tap."""
    return [each.about for each in known.get(tap.id, ())]


def stories_of(store: Store, taps: Sequence[SessionInfo], known: Known) -> Sequence[TapStory]:
    """The stories that taps tell, as far as is known of them, the latest first. Blocks where taps may be of several hosts.

    Raises:
        StoreError: The file cannot be read.
    """
    owners = Owners(store, known)
    told = together(taps, time.time_ns(), lambda tap: _about(_told(known, tap)), owners.of, owners.one_host)
    stories = [TapStory(taps=story, about=[_told(known, tap) for tap in story]) for story in told]
    return [story.with_own(owners) for story in stories]


def story_with(store: Store, session: str, known: Known) -> TapStory:
    """The story that a tap is part of by now; empty where there is no such session. Blocks.

    Raises:
        StoreError: The file cannot be read.
    """
    own = store.sessions.get(session)
    story: Sequence[SessionInfo] = () if own is None else (own,)
    owners, size = Owners(store, known), 0
    while len(story) > size:  # each may reach further back, or on
        size, now_ns = len(story), time.time_ns()
        if any(tap.imported for tap in story):
            break
        began, ended = min(tap.created_ns for tap in story), max(ended_ns(tap, now_ns) for tap in story)
        near = [tap for tap in store.sessions.taps(began - NEAR_NS) if tap.created_ns <= ended + NEAR_NS]
        told = together(near, now_ns, lambda tap: _about(look_at(store, tap, known)), owners.of, owners.one_host)
        story = next((each for each in told if any(tap.id == session for tap in each)), story)
    return TapStory(taps=story, about=[look_at(store, tap, known) for tap in story]).with_own(owners)


def _about(abouts: Sequence[About]) -> About:
    return abouts[0] if len(abouts) == 1 else About()
