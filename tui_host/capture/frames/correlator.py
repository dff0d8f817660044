"""Finds the call to which a frame belongs. Source: MCP 2025-11-25, Progress, Cancellation and Streamable HTTP.

When a call is made, a context variable holds its place, under which the request's id is remembered. Later frames are
assigned by ids alone: an answer by its id, progress by its token, a cancellation by the id it names. A request of the server
names no call: it is assigned to the only call that is under way.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tui_host.capture.frames.frame_heads import FrameHead
from tui_host.capture.record import NOWHERE, Direction, Place

REMEMBERED = 10_000
"""Number of requests to remember on a connection; answers to older ones get no place."""


@dataclass(slots=True)
class _Asked:
    place: Place
    answers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFrame:
    """The place of a frame, and what is unusual about the frame."""

    place: Place = NOWHERE
    odd: str = ""  # what is unexpected about the frame here; empty if nothing is


@dataclass(slots=True, eq=False, kw_only=True)
class Correlator:
    """Remembers the requests of a connection in both directions, and finds the place of later frames.

    An answer to an unknown request is odd if it `is_whole`: if it sees all requests.
    """

    is_whole: bool = True
    _asked: dict[tuple[Direction, str], _Asked] = field(default_factory=dict[tuple[Direction, str], _Asked])
    _by_token: dict[tuple[Direction, str], Place] = field(default_factory=dict[tuple[Direction, str], Place])
    _calls: dict[str, Place] = field(default_factory=dict[str, Place])  # that wait for an answer, by id

    def see(self, direction: Direction, head: FrameHead, place: Place = NOWHERE) -> PlacedFrame:
        """Read the next frame on the connection. `place` is that of the sending task or the HTTP exchange, if known."""
        opposite: Direction = "in" if direction == "out" else "out"
        odd = ""
        if head.answers:
            if opposite == "out":
                self._calls.pop(head.id, None)
            asked = self._asked.get((opposite, head.id))
            if asked is None:
                odd, asked = "an id of the other type", self._asked.get((opposite, head.id_of_other_type))
            if asked is None:
                is_odd = self.is_whole and head.id != ""
                return PlacedFrame(place=place, odd="an answer to nothing that was asked" if is_odd else "")
            asked.answers += 1
            place, odd = asked.place, "a second answer" if asked.answers > 1 else odd
        elif head.kind == "request":
            if direction == "out" and place.call:
                self._calls[head.id] = place
            elif direction == "in" and not place.call:
                places = set(self._calls.values())
                place = places.pop() if len(places) == 1 else place
            key = (direction, head.id)
            odd = "an id used before" if self._asked.pop(key, None) is not None else ""
            self._asked[key] = _Asked(place)
            if head.progress_token:
                self._by_token[opposite, head.progress_token] = place
            for remembered in (self._asked, self._by_token):
                if len(remembered) > REMEMBERED:
                    del remembered[next(iter(remembered))]
        elif head.kind == "notification" and head.request_id:
            asked = self._asked.get((direction, head.request_id))
            place = place if asked is None else asked.place
            if direction == "out":
                self._calls.pop(head.request_id, None)
        elif head.kind == "notification" and head.progress_token:
            place = self._by_token.get((direction, head.progress_token), place)
        return PlacedFrame(place=place, odd=odd)

    def refused(self, identity: str) -> None:
        """Forget a request of the host that the server refused by an HTTP status: it may be sent again, as after a login."""
        self._asked.pop(("out", identity), None)
        self._calls.pop(identity, None)
