"""Which taps tell one story: those that ran at the same time, unless they are known to be of different hosts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui_host.capture.store.sessions import SessionInfo

NEAR_NS = 5_000_000_000
"""Taps of one host begin and end in turn; a session's last change is not noted at once."""


def together(
    taps: Sequence[SessionInfo], now_ns: int, host_of: Callable[[SessionInfo], str] = lambda _: ""
) -> list[list[SessionInfo]]:
    """Taps in stories, the latest story first, in each its taps in the order in which they began.

    Args:
        taps: Sessions of taps.
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


def _touch(one: SessionInfo, other: SessionInfo, now_ns: int, host_of: Callable[[SessionInfo], str]) -> bool:
    hosts = {host_of(one), host_of(other)} - {""}
    if len(hosts) > 1:
        return False
    return one.created_ns <= _end(other, now_ns) + NEAR_NS and other.created_ns <= _end(one, now_ns) + NEAR_NS


def _end(tap: SessionInfo, now_ns: int) -> int:
    return now_ns if tap.live else tap.updated_ns
