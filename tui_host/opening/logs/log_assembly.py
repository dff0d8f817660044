"""Puts the exchanges of a log together, in the order of its lines.

An answer belongs to the request that its id names, else to the only request that waits. If several wait and there is no
id, the answer is held back until the next request: if only one answer came, it is the last request's; otherwise each
stands alone, and the user is told. Events without an id that may be of several answers are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from tui_host.llm.body_kinds import AnswerPart
from tui_host.opening.exchange_assembly import MIXED, NO_STATUS, REMEDY, Exchange, MixedEvents
from tui_host.opening.import_types import File, Moment, Notes, TimedDraft, place_of
from tui_host.opening.logs.logged_objects import WEAK_KEY

_WAITING_LIMIT = 8
"""Largest number of requests that wait for an answer; beyond it, the oldest counts as unanswered."""
_HELD_LIMIT = 32 << 20
_KEYS_LIMIT = 1000


class AnswerPiece(NamedTuple):
    """An answer, or a piece of one.

    Attributes:
        closes: Whether the answer ends with this piece.
        lacks: What is unknown about the answer's head.
        place: Position of the piece in the file.
    """

    data: bytes
    at: Moment
    dialect: str
    form: str
    part: AnswerPart | None = None
    key: str = ""
    closes: bool = False
    lacks: str = NO_STATUS
    place: int = 0

    @property
    def begins(self) -> bool:
        """Whether the piece is certainly the first of an answer."""
        return self.form == "json" or (self.part is not None and self.part.begins)

    @property
    def is_rest(self) -> bool:
        """Whether the piece may follow the end of a message, because it has no content."""
        return self.form != "json" and (self.part is None or self.part.is_empty)


_Held: TypeAlias = "AnswerPiece | TimedDraft"


class LogAssembly:
    """Puts a log's requests and answers together."""

    def __init__(self, file: File, notes: Notes, peer: str, drafts: list[TimedDraft]) -> None:
        self._file = file
        self._notes = notes
        self._peer = peer
        self._drafts = drafts
        self._waiting: list[Exchange] = []
        self._by_key: dict[str, Exchange] = {}
        self._repeated_keys: set[str] = set()
        self._without_request: list[Exchange] = []
        self._last: Exchange | None = None
        self._held: list[_Held] = []
        self._held_size = 0
        self._doubtful = 0
        self._first_mixed = -1

    def open_exchange(self, key: str) -> Exchange | None:
        """Return the exchange that would get an answer with this key; None if no exchange is open."""
        by_key = self._by_key.get(key) if key else None
        if by_key is not None and not by_key.is_over:
            return by_key
        return next(iter(self._waiting[-1:] or self._without_request[-1:]), None)

    def add_other(self, draft: TimedDraft) -> None:
        """Add a draft that belongs to no exchange."""
        if self._held:
            self._held.append(draft)
        else:
            self._flush()
            self._drafts.append(draft)

    def add_request(self, body: bytes, at: Moment, *, dialect: str, url: str, key: str) -> None:
        """Begin an exchange."""
        self._resolve()
        self._flush()
        for exchange in [*self._without_request, *self._waiting]:
            if exchange.is_finished or exchange in self._without_request:
                self._finish(exchange)
        if len(self._waiting) == _WAITING_LIMIT:
            self._finish(self._waiting[0])
        self._last = exchange = Exchange(self._notes, self._peer, key)
        self._waiting.append(exchange)
        if key:
            self._remember(key, exchange)
        self._drafts += exchange.request(body, at, dialect=dialect, url=url)

    def add_answer(self, piece: AnswerPiece) -> None:
        """Add an answer, or a piece of an answer."""
        exchange = self._by_key.get(piece.key) if piece.key and piece.key not in self._repeated_keys else None
        if exchange is not None and not exchange.is_over:
            self._add(exchange, piece)
        elif len(self._waiting) > 1:
            self._held.append(piece)
            self._held_size += len(piece.data)
            if self._held_size > _HELD_LIMIT:
                self._resolve()
        else:
            own = self._single_waiting(piece)
            is_end = piece.is_rest and piece.part is not None and piece.part.ends
            if own is None and is_end and self._last is not None and self._last.is_finished:
                self._note_mixed(piece)  # the answer has ended before
            self._add(own or self._new_without_request(piece.key), piece)

    def finish(self) -> None:
        """End all open exchanges at the end of the log, and note doubtful answers."""
        self._resolve()
        for exchange in [*self._waiting, *self._without_request]:
            self._finish(exchange)
        if self._doubtful:
            what = "An answer" if self._doubtful == 1 else f"{self._doubtful:,} answers"
            self._notes.messages.append(
                f"{what} in {self._file.name} came while several requests waited, and nothing names which is whose: shown alone."
            )
        if self._first_mixed >= 0:
            self._notes.messages.append(
                f"{self._file.name}, {place_of(self._file, self._first_mixed)}: {MIXED}: left out, or marked as failed. {REMEDY}"
            )

    def _remember(self, key: str, exchange: Exchange) -> None:
        former = self._by_key.pop(key, None)
        if former is not None and not former.is_answered and not former.is_over:
            self._repeated_keys.add(key)  # the key names several exchanges at once
        self._by_key[key] = exchange
        if len(self._by_key) > _KEYS_LIMIT:
            del self._by_key[next(iter(self._by_key))]

    def _single_waiting(self, piece: AnswerPiece) -> Exchange | None:
        """Return the open exchange for a piece if at most one request waits; None if the piece begins a new answer."""
        stream = _name(piece)
        if not self._waiting and (stream or piece.key):
            own = (alone for alone in self._without_request if stream == alone.stream and piece.key == alone.key)
            if (exchange := next(own, None)) is not None and not (exchange.is_finished and not piece.is_rest):
                return exchange
        exchange = next(iter(self._waiting or self._without_request[-1:]), None)
        if exchange is None or not exchange.is_answered:
            return exchange
        is_other = bool(stream and exchange.stream and stream != exchange.stream)
        if exchange.is_finished:
            is_another = not piece.is_rest or is_other
        else:
            is_named = bool(piece.key) and piece.key != exchange.key and not piece.key.startswith(WEAK_KEY)
            is_another = (piece.begins and exchange.has_begun) or ((is_other or is_named) and not self._waiting)
        if not is_another:
            return exchange
        if self._waiting or exchange.is_finished:
            self._finish(exchange)
        return None

    def _new_without_request(self, key: str) -> Exchange:
        exchange = Exchange(self._notes, self._peer, key)
        self._without_request.append(exchange)
        if len(self._without_request) > _WAITING_LIMIT:
            self._finish(self._without_request[0])
        return exchange

    def _add(self, exchange: Exchange, piece: AnswerPiece) -> None:
        if exchange is not self._last:
            self._flush()
            self._last = exchange
        dialect = piece.dialect or exchange.dialect or "openai"
        self._drafts += exchange.answer(piece.data, piece.at, dialect=dialect, form=piece.form, lacks=piece.lacks)
        exchange.learn(piece.part, piece.dialect)
        if exchange.is_mixed:
            self._note_mixed(piece)
        if piece.closes:
            self._finish(exchange)

    def _note_mixed(self, piece: AnswerPiece) -> None:
        if self._first_mixed < 0:
            self._first_mixed = piece.place

    def _finish(self, exchange: Exchange) -> None:
        self._flush()
        self._drafts += exchange.finish()
        self._waiting = [other_exchange for other_exchange in self._waiting if other_exchange is not exchange]
        self._without_request = [
            other_exchange for other_exchange in self._without_request if other_exchange is not exchange
        ]

    def _flush(self) -> None:
        if self._last is not None:
            self._drafts += self._last.flush()

    def _resolve(self) -> None:
        """Assign held answers to requests: by the id in their events, or a single answer to the last request."""
        held, self._held, self._held_size = self._held, [], 0
        streams = _streams_of([item for item in held if isinstance(item, AnswerPiece)])
        owners: dict[str | int, Exchange] = {
            item.stream: item for item in self._waiting if item.stream and item.stream in streams
        }
        rest = streams.keys() - owners.keys()
        free = [exchange for exchange in self._waiting if exchange not in owners.values()]
        for name in [name for name in streams if name in rest]:
            if not name and self._is_mixed(streams[name]):
                self._note_mixed(streams[name][0])
            elif len(rest) == 1 and free:
                owners[name] = free[-1]
            else:
                owners[name] = Exchange(self._notes, self._peer)
                self._doubtful += 1
        owner_of = {id(piece): owner for name, owner in owners.items() for piece in streams[name]}
        for item in held:
            if not isinstance(item, AnswerPiece):
                self._flush()
                self._drafts.append(item)
            elif (owner := owner_of.get(id(item))) is not None and not owner.is_over:
                self._add(owner, item)
        if held:
            for exchange in [*self._waiting, *owners.values()]:
                self._finish(exchange)

    def _is_mixed(self, pieces: Sequence[AnswerPiece]) -> bool:
        """Whether events without an id come from several answers, or may continue an earlier answer."""
        mixed = MixedEvents()
        for piece in pieces:
            mixed.see(piece.dialect, piece.part or AnswerPart())
        is_begun = any(item.has_begun and not item.is_finished for item in self._waiting)
        goes_on = is_begun and not pieces[0].begins
        return goes_on or mixed.are_there or sum(piece.begins for piece in pieces) > 1


def _name(piece: AnswerPiece) -> str:
    return "" if piece.part is None else piece.part.stream


def _streams_of(pieces: Sequence[AnswerPiece]) -> dict[str | int, list[AnswerPiece]]:
    """Group the pieces of answers by the id of their events; the empty id holds all events without one."""
    streams: dict[str | int, list[AnswerPiece]] = {}
    ended = ""
    for number, piece in enumerate(pieces):
        name = _name(piece) or (ended if piece.is_rest else "")  # a stream's last line has no id
        streams.setdefault(number if piece.form == "json" else name, []).append(piece)
        if piece.part is not None and piece.part.ends:
            ended = name
    return streams
