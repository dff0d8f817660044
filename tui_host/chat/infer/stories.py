"""Which taps tell one story: those that ran at the same time, unless they are known to be of different hosts. And what it is called."""

from __future__ import annotations

import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass

from tui_host.capture.store.sessions import SessionInfo
from tui_host.capture.store.store import Store
from tui_host.capture.store.tapped import captures_of
from tui_host.chat.infer.about import About, Looking

NEAR_NS = 5_000_000_000
"""Taps of one host begin and end in turn; a session's last change is not noted at once."""

Known = MutableMapping[str, Sequence[Looking]]
"""What is known of taps by their sessions, for each of their captures."""


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
        return list(dict.fromkeys(host for each in self._abouts for host in each.hosts))

    @property
    def models(self) -> Sequence[str]:
        """The models that are asked, the last one last."""
        return [model for each in self._abouts for model in each.models]

    @property
    def live(self) -> bool:
        """Whether more may come."""
        return any(tap.live for tap in self.taps)

    @property
    def updated_ns(self) -> int:
        """When something last came."""
        return max(tap.updated_ns for tap in self.taps)

    @property
    def title(self) -> str:
        """The hosts, and what is tapped of them: `Cline: tap llm api.deepseek.com, tap stdio math`."""
        known = [*self.about, *([()] * (len(self.taps) - len(self.about)))]
        names = [name for tap, abouts in zip(self.taps, known, strict=True) for name in _names(tap, abouts)]
        return ": ".join(filter(None, (" and ".join(self.hosts), ", ".join(dict.fromkeys(names)))))

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


def stories_of(taps: Sequence[SessionInfo], known: Known) -> Sequence[TapStory]:
    """The stories that taps tell, as far as is known of them, the latest first."""
    told = together(taps, time.time_ns(), lambda tap: _host(_told(known, tap)))
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
        told = together(near, now_ns, lambda tap: _host(look_at(store, tap, known)))
        story = next((each for each in told if any(tap.id == session for tap in each)), story)
    return TapStory(taps=story, about=[look_at(store, tap, known) for tap in story])


def together(
    taps: Sequence[SessionInfo], now_ns: int, host_of: Callable[[SessionInfo], str] = lambda _: ""
) -> list[list[SessionInfo]]:
    """Taps in stories, the latest story first, in each its taps in the order in which they began.

    Args:
        taps: Sessions of taps. One that was brought here from elsewhere is a story by itself.
        now_ns: The present: taps that run last until then.
        host_of: The host that a tap is known to be of; empty if it is not.
    """
    stories: list[list[SessionInfo]] = []
    for tap in sorted(taps, key=lambda each: (each.created_ns, each.id)):
        touching = [story for story in stories if any(_touch(tap, other, now_ns, host_of) for other in story)]
        for story in touching:
            stories.remove(story)
        stories.append([*(each for story in touching for each in story), tap])
    stories.sort(key=lambda story: max(each.updated_ns for each in story), reverse=True)
    return [sorted(story, key=lambda each: (each.created_ns, each.id)) for story in stories]


def _host(abouts: Sequence[About]) -> str:
    return abouts[0].host if len(abouts) == 1 else ""


def _touch(one: SessionInfo, other: SessionInfo, now_ns: int, host_of: Callable[[SessionInfo], str]) -> bool:
    if one.imported or other.imported:
        return False
    hosts = {host_of(one), host_of(other)} - {""}
    if len(hosts) > 1:
        return False
    return one.created_ns <= _end(other, now_ns) + NEAR_NS and other.created_ns <= _end(one, now_ns) + NEAR_NS


def _end(tap: SessionInfo, now_ns: int) -> int:
    return now_ns if tap.live else tap.updated_ns
