"""Find the call of a frame. Source: MCP 2025-11-25, Progress, Cancellation and Streamable HTTP.

Where a call is made, a context variable tells its place; the id of the request is learned there and nowhere else. From then on
frames are told apart by ids alone: an answer by its id, progress by its token, a cancellation by the id it names.
"""

from __future__ import annotations

from dataclasses import dataclass

from tui_host.capture.frames.frame_heads import FrameHead
from tui_host.capture.record import NOWHERE, Direction, Place

REMEMBERED = 10_000
"""Requests remembered on one connection; answers to older ones belong to no place."""


@dataclass(slots=True)
class _Asked:
    place: Place
    method: str
    answers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The place of a frame, and anything odd about the frame.

    Attributes:
        method: Its own method, or that of the request it answers; empty if that is not known.
        odd: What is unexpected about it in this place; empty if nothing is.
    """

    place: Place = NOWHERE
    method: str = ""
    odd: str = ""


class Correlator:
    """Remember the requests of one connection in both directions, and find the place of later frames.

    Args:
        is_whole: It sees all of them: an answer to another one is odd.
    """

    def __init__(self, *, is_whole: bool = True) -> None:
        self._is_whole = is_whole
        self._asked: dict[tuple[Direction, str], _Asked] = {}
        self._by_token: dict[tuple[Direction, str], Place] = {}

    def see(self, direction: Direction, head: FrameHead, place: Place = NOWHERE) -> Seen:
        """Take in the next frame on the connection."""
        if head.answers:
            return self._answer(direction, head, place)
        if head.kind == "request":
            return self._request(direction, head, place)
        if head.kind == "notification":
            return Seen(place=self._place_of_notification(direction, head, place), method=head.method)
        return Seen(place=place, method=head.method)

    def _request(self, direction: Direction, head: FrameHead, place: Place) -> Seen:
        key = (direction, head.id)
        earlier = self._asked.pop(key, None)
        self._asked[key] = _Asked(place, head.method)
        if head.progress_token:
            self._by_token[_other(direction), head.progress_token] = place
        while len(self._asked) > REMEMBERED:
            del self._asked[next(iter(self._asked))]
        while len(self._by_token) > REMEMBERED:
            del self._by_token[next(iter(self._by_token))]
        return Seen(place=place, method=head.method, odd="an id used before" if earlier is not None else "")

    def _answer(self, direction: Direction, head: FrameHead, place: Place) -> Seen:
        odd = ""
        asked = self._asked.get((_other(direction), head.id))
        if asked is None:
            asked = self._asked.get((_other(direction), _other_form(head.id)))
            odd = "an id of the other type"
        if asked is None:
            return Seen(place=place, odd="an answer to nothing that was asked" if head.id and self._is_whole else "")
        asked.answers += 1
        if asked.answers > 1:
            odd = "a second answer"
        return Seen(place=asked.place, method=asked.method, odd=odd)

    def _place_of_notification(self, direction: Direction, head: FrameHead, place: Place) -> Place:
        if head.request_id:
            asked = self._asked.get((direction, head.request_id))
            return asked.place if asked is not None else place
        if head.progress_token:
            return self._by_token.get((direction, head.progress_token), place)
        return place


def _other(direction: Direction) -> Direction:
    return "in" if direction == "out" else "out"


def _other_form(identity: str) -> str:
    """Return `"5"` for `5` and the reverse, since the SDK takes the two for equal."""
    return identity[1:-1] if identity.startswith('"') else f'"{identity}"'
