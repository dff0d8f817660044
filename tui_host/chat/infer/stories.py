"""Which taps tell one story: those that ran at the same time, unless they are known to be of different hosts. And what it is called."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TypeAlias

from tui_host.capture.store.sessions import SessionInfo
from tui_host.capture.store.store import Store
from tui_host.capture.store.tapped import captures_of
from tui_host.chat.infer.about import About, Looking
from tui_host.chat.infer.agents import agents_of, kin_of
from tui_host.chat.infer.clocks import SURE_NS
from tui_host.chat.infer.names import tools_named
from tui_host.chat.infer.speaking import Speaking, hosts_of, in_words, models_in_words, models_of, protocols_of
from tui_host.chat.infer.story import Story

NEAR_NS = 5_000_000_000
"""Taps of one host begin and end in turn; a session's last change is not noted at once."""

Known = MutableMapping[str, Sequence[Looking]]
"""What is known of taps by their sessions, for each of their captures."""
Owner: TypeAlias = Callable[[SessionInfo, Sequence[Sequence[SessionInfo]]], int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TapStory:
    """Taps that tell one story.

    Attributes:
        taps: Their sessions, in the order in which they began.
        about: What each is, as far as that was looked into.
    """

    taps: Sequence[SessionInfo]
    about: Sequence[Sequence[About]] = ()

    @property
    def hosts(self) -> Sequence[str]:
        """Whose it is, as the hosts say themselves."""
        return hosts_of(self._spoken, [client for each in self._abouts for client in each.clients])

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
        count = sum(
            max(len(abouts), 1) for _, abouts in self._known
        )  # what was brought here has several in one session
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
        """The hosts, and what is tapped of them: `Cline: tap llm api.deepseek.com, tap stdio math`."""
        names = dict.fromkeys(chain.from_iterable(self._names))
        return ": ".join(filter(None, (in_words(self.hosts), ", ".join(names))))

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


def _told(known: Known, tap: SessionInfo) -> Sequence[About]:
    """What is known of a tap."""
    return [each.about for each in known.get(tap.id, ())]


def stories_of(store: Store, taps: Sequence[SessionInfo], known: Known) -> Sequence[TapStory]:
    """The stories that taps tell, as far as is known of them, the latest first. Blocks where taps may be of several hosts.

    Raises:
        StoreError: The file cannot be read.
    """
    told = together(taps, time.time_ns(), lambda tap: _about(_told(known, tap)), _Owners(store, known).of)
    return [TapStory(taps=story, about=[_told(known, tap) for tap in story]) for story in told]


def story_with(store: Store, session: str, known: Known) -> TapStory:
    """The story that a tap is part of by now; empty where there is no such session. Blocks.

    Raises:
        StoreError: The file cannot be read.
    """
    own = store.sessions.get(session)
    story: Sequence[SessionInfo] = () if own is None else (own,)
    size = 0
    while len(story) > size:  # each may reach further back, or on
        size, now_ns = len(story), time.time_ns()
        if any(tap.imported for tap in story):
            break
        began, ended = min(tap.created_ns for tap in story), max(_end(tap, now_ns) for tap in story)
        near = [tap for tap in store.sessions.taps(began - NEAR_NS) if tap.created_ns <= ended + NEAR_NS]
        told = together(near, now_ns, lambda tap: _about(look_at(store, tap, known)), _Owners(store, known).of)
        story = next((each for each in told if any(tap.id == session for tap in each)), story)
    return TapStory(taps=story, about=[look_at(store, tap, known) for tap in story])


def together(
    taps: Sequence[SessionInfo],
    now_ns: int,
    about_of: Callable[[SessionInfo], About] = lambda _: About(),
    owner_of: Owner = lambda _tap, _stories: None,
) -> list[list[SessionInfo]]:
    """Taps in stories, the latest story first, in each its taps in the order in which they began.

    Where nothing names a host, they are of two where the model of each is offered tools of servers of its own alone.

    Args:
        taps: Sessions of taps. One that was brought here from elsewhere is a story by itself.
        now_ns: The present: taps that run last until then.
        about_of: What is known of a tap.
        owner_of: Of stories of different hosts the one that a tap is of by what it carried; None if nothing tells.
    """
    abouts = {tap.id: about_of(tap) for tap in taps}
    agents = agents_of(taps, abouts, lambda one, two: _touch(one, two, now_ns))
    kin = kin_of(taps, abouts, lambda one, two: _touch(one, two, now_ns))

    def are_two(one: SessionInfo, two: SessionInfo) -> bool:
        if abouts[one.id].known_hosts & abouts[two.id].known_hosts or kin.get(one.id, one.id) == kin.get(two.id):
            return False
        agent = agents.get(one.id)
        is_another = agent is not None and agents.get(two.id, agent) != agent
        return is_another or abouts[one.id].is_of_another_host(abouts[two.id])

    def are_apart(story: Sequence[SessionInfo], other: Sequence[SessionInfo]) -> bool:
        return any(are_two(one, two) for one in story for two in other)

    stories: list[list[SessionInfo]] = []
    # Those of which it is known whose they are come first: the others are shared out among them.
    for tap in sorted(
        taps, key=lambda each: (not abouts[each.id].is_known and each.id not in agents, each.created_ns, each.id)
    ):
        fitting = [
            story
            for story in stories
            if any(_touch(tap, other, now_ns) for other in story) and not are_apart([tap], story)
        ]
        if any(are_apart(one, two) for one, two in combinations(fitting, 2)):
            owner = owner_of(tap, fitting)
            fitting = [] if owner is None else [fitting[owner]]
        taken = set(map(id, fitting))
        stories = [story for story in stories if id(story) not in taken]
        stories.append([*chain.from_iterable(fitting), tap])
    stories.sort(key=lambda story: max(each.updated_ns for each in story), reverse=True)
    return [sorted(story, key=lambda each: (each.created_ns, each.id)) for story in stories]


class _Owners:
    """Finds out whose tap it is that may be of several hosts: which of them asked for the calls that it carried."""

    def __init__(self, store: Store, known: Known) -> None:
        self._store = store
        self._known = known

    def of(self, tap: SessionInfo, stories: Sequence[Sequence[SessionInfo]]) -> int | None:
        """The number of the story most of a tap's calls were asked for in last before they were sent; None if of none, or of two."""
        asked: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for number, story in enumerate(stories):
            for said in chain.from_iterable(each.exchanges for other in story for each in self._stories(other)):
                asking = said.asking
                for call, (name, arguments) in zip(asking.calls(), asking.meant(), strict=True):
                    if arguments is not None:
                        asked.setdefault((name, arguments), []).append((call.at_ns, number))
        votes = Counter[int]()
        for sent in chain.from_iterable(each.frames.sent.values() for each in self._stories(tap)):
            places = [
                place
                for (name, arguments), found in asked.items()
                if arguments == sent.arguments and tools_named(name, [(sent.server, sent.tool)])
                for place in found
                if place[0] <= sent.at_ns + SURE_NS
            ]
            votes.update([max(places)[1]] if places else [])
        most = votes.most_common(2)
        return most[0][0] if most and (len(most) == 1 or most[0][1] > most[1][1]) else None

    def _stories(self, tap: SessionInfo) -> Sequence[Story]:
        return [each.calls(self._store) for each in self._known.get(tap.id, ())]


def _about(abouts: Sequence[About]) -> About:
    return abouts[0] if len(abouts) == 1 else About()


def _touch(one: SessionInfo, other: SessionInfo, now_ns: int) -> bool:
    if one.imported or other.imported:
        return False
    return one.created_ns <= _end(other, now_ns) + NEAR_NS and other.created_ns <= _end(one, now_ns) + NEAR_NS


def _end(tap: SessionInfo, now_ns: int) -> int:
    return now_ns if tap.live else tap.updated_ns
