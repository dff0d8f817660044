"""Where in a log pieces of several answers stand between each other that name no stream, while several were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from tui_host.capture.http.sse import SseDecoder
from tui_host.capture.record import Draft
from tui_host.errors import JSON
from tui_host.opening.course import is_of_a_course
from tui_host.opening.drafts import read_value
from tui_host.opening.single import Piece, Single, piece_of
from tui_host.opening.stream_pieces import id_of

LOOKED_AT = 1 << 20
"""Bytes behind the beginning of an answer in which pieces of another would be found."""
LONGEST = 16 << 20
"""Bytes in which such pieces end."""


CLOSE: Final = "close"
"""Stands for the word that a stream has ended."""
_DONE = "[DONE]"


class Mixed(NamedTuple):
    """What was seen from a place on.

    Attributes:
        begin: Where the first of several answers begins whose pieces stand between each other; -1 where there are none.
        end: Where they are over; where there are none, up to where that is seen.
    """

    begin: int
    end: int


def mixed_in(drafts: Iterator[tuple[int, Draft]], at: int, awaited: int, *, have_ids: bool) -> Mixed:
    """The first such pieces from a place on, at which an answer begins.

    Args:
        drafts: What is there, as if all had come after each other, and where each stands.
        at: That place.
        awaited: How many answers are.
        have_ids: An id of a piece is that of its stream: such pieces are told apart.
    """
    seen = _Seen(at, awaited)
    for place, piece in _pieces(drafts, have_ids=have_ids):
        if place > (at + LOOKED_AT if seen.begin < 0 else seen.begin + LONGEST):
            break
        found = seen.asked(place) if piece is None else seen.said(place, piece)
        if found is not None:
            return found
    return seen.at_the_end()


class _Seen:
    """What was seen so far.

    Attributes:
        begin: Where the first of such answers begins; -1 as long as none was found.
    """

    def __init__(self, at: int, awaited: int) -> None:
        self.begin = -1
        self._last = at
        self._awaited = awaited
        self._single = Single()
        self._quiet = -1  # what was begun may have ended there: the first request behind an end
        self._is_clear = True  # since then there was nothing but one answer after the other

    def asked(self, place: int) -> Mixed | None:
        """A request stands there."""
        if self._single.is_over:
            if self.begin < 0 and self._awaited <= 0:
                return Mixed(-1, place)
            if self.begin >= 0 and (found := self._over(place)) is not None:
                return found
            if self.begin >= 0:
                self._quiet, self._is_clear, self._single = place, True, Single()
        self._awaited += 1
        return None

    def _over(self, place: int) -> Mixed | None:
        if self._awaited <= 0:
            return Mixed(self.begin, place)
        is_past = self._quiet >= 0 and self._is_clear and self._single.ended == 1
        return Mixed(self.begin, self._quiet) if is_past else None

    def said(self, place: int, piece: Piece | Literal["close"]) -> Mixed | None:
        """A piece does, or the word that a stream has ended."""
        self._last = place
        if piece != CLOSE and self._awaited <= 0 and self._single.is_over and not piece.is_rest:
            return Mixed(self.begin, place)  # what was asked for is answered
        ended = self._single.ended
        is_right = self._single.closes() if piece == CLOSE else self._single.takes(piece, place)
        if not is_right:
            self._is_clear = False
            self.begin = self._single.since if self.begin < 0 else self.begin
        self._awaited -= self._single.ended - ended
        return None

    def at_the_end(self) -> Mixed:
        """Nothing more is there, or too much."""
        if self.begin < 0:
            return Mixed(-1, self._last + 1)
        return (self._over(self._last + 1) if self._quiet >= 0 else None) or Mixed(self.begin, self.begin + LONGEST)


def _pieces(
    drafts: Iterator[tuple[int, Draft]], *, have_ids: bool
) -> Iterator[tuple[int, Piece | Literal["close"] | None]]:
    """The pieces that name no stream, and None for each request, with the place of each; to where something else begins."""
    decoders: dict[str | None, SseDecoder | None] = {}
    for place, draft in drafts:
        if draft.kind == "request" and draft.data:
            yield place, None
        elif draft.kind == "response" and draft.head is not None:
            is_sse = any(value == "text/event-stream" for _, value in draft.head.headers)
            decoders[draft.exchange] = SseDecoder() if is_sse else None
        elif draft.kind == "chunk":
            for event in _events(decoders.get(draft.exchange), draft.data):
                if is_of_a_course(event):
                    return
                piece = CLOSE if event == _DONE else None if have_ids and id_of(event) else piece_of(event)
                if piece is not None:
                    yield place, piece


def _events(decoder: SseDecoder | None, data: bytes) -> Iterator[JSON]:
    texts = data.splitlines() if decoder is None else [event.data for event in decoder.feed(data)]
    return (value for text in texts if (value := _DONE if text == b"[DONE]" else read_value(text)) is not None)
