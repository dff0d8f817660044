"""Which taps tell one story: those that ran at the same time, unless they are known to be of different hosts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from tui_host.capture.session_summary import SessionInfo
from tui_host.infer.taps.about import About
from tui_host.infer.taps.agents import agents_of, as_one, kin_of, voices_of
from tui_host.infer.taps.touching import Stretch, in_a_row

NEAR_NS = 5_000_000_000
"""Taps of one host begin and end in turn; a session's last change is not noted at once."""

Owner: TypeAlias = Callable[[SessionInfo, Sequence[Sequence[SessionInfo]]], int | None]
OneHost: TypeAlias = Callable[[Mapping[str, str], Collection[str]], Iterable[Collection[str]]]


@dataclass(frozen=True, slots=True, eq=False)
class _Traits:
    """What tells taps from those of other hosts, one value for all of which the same is known.

    Attributes:
        about: One of them.
        kin: What stands for the taps that known hosts have in common; empty for none.
        agent: What stands for those of an agent; empty where that is not known.
        voice: What stands for those through which hosts that call themselves the same ask a model; empty if all do, or none.
    """

    about: About
    kin: str
    agent: str
    voice: str

    def is_of_same(self, other: _Traits) -> bool:
        """Whether two taps are known to be of one host."""
        pairs = ((self.kin, other.kin), (self.agent, other.agent), (self.voice, other.voice))
        return any(one and one == two for one, two in pairs)

    def is_of_another_host(self, other: _Traits) -> bool:
        """Whether two taps are known to be of different hosts."""
        if self.about.known_hosts & other.about.known_hosts or (self.kin and self.kin == other.kin):
            return False
        pairs = ((self.agent, other.agent), (self.voice, other.voice))
        return any(one and two and one != two for one, two in pairs) or self.about.is_of_another_host(other.about)


@dataclass(slots=True)
class _Group:
    """Taps that are known to tell one story.

    Attributes:
        taps: Their sessions, in the order in which they were found.
        ran: When they did: each touches another one.
        traits: What tells them from others, in the order in which it was found.
    """

    taps: list[SessionInfo]
    ran: Stretch
    traits: dict[_Traits, None]

    def is_apart(self, traits: Collection[_Traits]) -> bool:
        """Whether it is of another host than these are."""
        return any(one.is_of_another_host(two) for one in self.traits for two in traits)

    def is_of_same(self, traits: Collection[_Traits]) -> bool:
        """Whether it is of the host that these are of."""
        return any(one.is_of_same(two) for one in self.traits for two in traits)

    def take(self, other: _Group) -> None:
        """Have what another one has."""
        self.taps += other.taps
        self.ran |= other.ran
        self.traits |= other.traits


def together(
    taps: Sequence[SessionInfo],
    now_ns: int,
    about_of: Callable[[SessionInfo], About] = lambda _: About(),
    owner_of: Owner = lambda _tap, _stories: None,
    one_host: OneHost = lambda _voices, _servers: (),
) -> list[list[SessionInfo]]:
    """Taps in stories, the latest story first, in each its taps in the order in which they began.

    Where nothing names a host, they are of two where the model of each is offered tools of servers of its own alone, and where those
    who ask the models call themselves differently, unless something tells that they are one. A tap through which nothing has passed is of
    no story, but by itself; while it runs, it is of the only one that goes on, if there is one: its host may ask yet.

    Args:
        taps: Sessions of taps. One that was brought here from elsewhere is a story by itself.
        now_ns: The present: taps that run last until then.
        about_of: What is known of a tap.
        owner_of: Of stories of different hosts the one that a tap is of by what it carried; None if nothing tells.
        one_host: Those that are for sure of one host, of the voices of taps before models, by what these said and what taps before
            servers carried.
    """
    stories = [[tap] for tap in taps if tap.imported]
    quiet, heard = list[SessionInfo](), list[SessionInfo]()
    for tap in taps:
        if not tap.imported:
            (quiet if about_of(tap).is_quiet else heard).append(tap)
    for row in in_a_row(heard, lambda tap: _ran(tap, now_ns)):
        stories += _stories_in(row, {tap.id: _ran(tap, now_ns) for tap in row}, about_of, owner_of, one_host)
    stories += ([tap] for tap in quiet if not tap.live)
    waiting = [tap for tap in quiet if tap.live]
    going_on = [story for story in stories if any(tap.live for tap in story)]
    if len(going_on) == 1:
        going_on[0] += waiting
    elif going_on:
        stories += ([tap] for tap in waiting)
    elif waiting:
        stories.append(waiting)
    stories.sort(key=lambda story: max(each.updated_ns for each in story), reverse=True)
    return [sorted(story, key=lambda each: (each.created_ns, each.id)) for story in stories]


def ended_ns(tap: SessionInfo, now_ns: int) -> int:
    """Until when a tap ran."""
    return now_ns if tap.live else tap.updated_ns


def _ran(tap: SessionInfo, now_ns: int) -> Stretch:
    return Stretch(tap.created_ns, ended_ns(tap, now_ns) + NEAR_NS)


def _stories_in(
    taps: Sequence[SessionInfo],
    ran: Mapping[str, Stretch],
    about_of: Callable[[SessionInfo], About],
    owner_of: Owner,
    one_host: OneHost,
) -> Iterable[list[SessionInfo]]:
    """The stories of taps that ran in one stretch of time."""
    abouts = {tap.id: about_of(tap) for tap in taps}
    voices = voices_of(ran, abouts)
    if voices:
        servers = [name for name, about in abouts.items() if about.kind in {"stdio", "http"}]
        voices = as_one(voices, one_host(voices, servers))
    agents, kin = agents_of(ran, abouts, voices), kin_of(ran, abouts)
    traits: dict[tuple[object, ...], _Traits] = {}
    groups: dict[int, _Group] = {}

    def in_turn(tap: SessionInfo) -> tuple[bool, bool, int, str]:
        """Those of which it is known whose they are come first: the others are shared out among them."""
        is_known = abouts[tap.id].is_known or tap.id in agents
        return tap.id not in voices, not is_known, tap.created_ns, tap.id

    for number, tap in enumerate(sorted(taps, key=in_turn)):
        about = abouts[tap.id]
        names = kin.get(tap.id, ""), agents.get(tap.id, ""), voices.get(tap.id, "")
        known = traits.setdefault((about.signs, *names), _Traits(about, *names))
        alone = _Group([tap], ran[tap.id], {known: None})
        fitting = _fitting(groups, alone)
        if any(groups[one].is_apart(groups[two].traits) for one, two in combinations(fitting, 2)):
            owner = owner_of(tap, [groups[name].taps for name in fitting])
            fitting = [] if owner is None else [fitting[owner]]
        first, *others = (*(groups[name] for name in fitting), alone)
        for other in others:
            first.take(other)
        for name in fitting[1:]:
            del groups[name]
        groups[fitting[0] if fitting else number] = first
    return (group.taps for group in groups.values())


def _fitting(groups: Mapping[int, _Group], alone: _Group) -> Sequence[int]:
    """The groups that a tap may be of: of several that are not of one host those that are known to be of its own."""
    fitting = [
        name for name, group in groups.items() if group.ran.touches(alone.ran) and not group.is_apart(alone.traits)
    ]
    own = [name for name in fitting if groups[name].is_of_same(alone.traits)]
    is_open = any(groups[one].is_apart(groups[two].traits) for one, two in combinations(fitting, 2))
    return own if own and is_open else fitting
