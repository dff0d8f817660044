"""The lanes of one log: exchanges that go on at the same time, where the log names each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_host.capture.imports.exchanges import Exchanges
from tui_host.capture.imports.seen import Notes, Seen

MOST = 64
"""Exchanges that may go on at the same time."""
_KEY = re.compile(
    r"\b(?:(?:request|req|exchange|trace|correlation)[ _-]?)?id[\"']?\s?[=:]\s?[\"']?([\w-]{1,64})|\breq(?:uest)?\s?#\s?(\d{1,12})",
    re.IGNORECASE,
)


def key_in(words: str) -> str:
    """What names an exchange in the words before its JSON; empty if nothing does."""
    if not any(part in words for part in ("id", "ID", "#")):
        return ""  # as in most lines, without a look for more
    found = _KEY.search(words)
    return "" if found is None else found[1] or found[2]


class Lanes:
    """Finds the lane of each request and answer.

    An answer is to the request that is called the same; where nothing is, to the last one. A request ends the one before it, save
    where both are named, and differently. What each line has another of is a number of lines, and names nothing.

    Args:
        notes: Gives the ids.
        peer: What the provider is called.

    Attributes:
        last: The lane to which something came last.
    """

    def __init__(self, notes: Notes, peer: str) -> None:
        self._notes = notes
        self._peer = peer
        self.last = Exchanges(notes, peer)
        self._named: dict[str, Exchanges] = {}
        self._are_names = True

    def asking(self, key: str) -> Exchanges:
        """The lane for a request."""
        if not key or not self._are_names:
            return self.last
        self._named = {name: lane for name, lane in self._named.items() if lane.is_open}
        is_free = not self.last.is_open or self.last not in self._named.values()
        lane = self._named.pop(key, None) or (self.last if is_free else None)
        if lane is None:
            lane = (
                Exchanges(self._notes, self._peer)
                if len(self._named) < MOST
                else self._named.pop(next(iter(self._named)))
            )
        self._named[key] = self.last = lane
        return lane

    def of(self, key: str) -> Exchanges:
        """The lane for an answer, as things stand."""
        lane = self._named.get(key)
        return lane if lane is not None and lane.is_open else self.last

    def answering(self, key: str) -> Exchanges:
        """The lane for an answer."""
        lane = self._named.get(key)
        if lane is not None and lane.is_open:
            self.last = lane
        elif key and self.last.is_open:
            self._are_names = False
        return self.last

    def finish(self) -> Iterator[Seen]:
        """The end of the log."""
        for lane in dict.fromkeys((*self._named.values(), self.last)):
            yield from lane.finish()
