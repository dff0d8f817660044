"""Put the exchanges of one log together in the order of its lines.

An answer belongs to the request that its id names, else to the only request that waits for one. Where several wait and no id tells whose
an answer is, it is held back until the next request: if one answer came, it is the last request's; else each stands alone, and a person
is told. Streams that nothing tells apart are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from tui_host.llm.dialects.body_kinds import AnswerPart
from tui_host.opening.exchange_assembly import NO_STATUS, Exchange
from tui_host.opening.import_types import File, Moment, Notes, TimedDraft, place_of
from tui_host.opening.logs.logged_objects import WEAK_KEY

_WAITING_LIMIT = 8
"""Requests that wait for an answer at once: of more, the oldest got none."""
_HELD_LIMIT = 32 << 20
_KEYS_LIMIT = 1000
REMEDY = "Write one JSON object a line, with the id of the request in it, or record with tui-host tap."


class AnswerPiece(NamedTuple):
    """An answer, or a piece of one.

    Attributes:
        closes: Nothing of this answer follows.
        lacks: What is unknown about the answer's head.
        place: Where it stands in the file.
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
        """Whether the piece may follow the end of a message, since it adds no content."""
        return self.form != "json" and (self.part is None or self.part.is_empty)


_Held: TypeAlias = "AnswerPiece | TimedDraft"


class LogAssembly:
    """Puts the requests and answers of one log together."""

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
        """The exchange that would get an answer with this key; None if nothing is open."""
        by_key = self._by_key.get(key) if key else None
        if by_key is not None and not by_key.is_over:
            return by_key
        return next(iter(self._waiting[-1:] or self._without_request[-1:]), None)

    def add_other(self, draft: TimedDraft) -> None:
        """Add a draft of no exchange, in order."""
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
        """Add an answer, or a piece of one."""
        exchange = self._by_key.get(piece.key) if piece.key and piece.key not in self._repeated_keys else None
        if exchange is not None and not exchange.is_over:
            self._add(exchange, piece)
        elif len(self._waiting) > 1:
            self._held.append(piece)
            self._held_size += len(piece.data)
            if self._held_size > _HELD_LIMIT:
                self._resolve()
        else:
            self._add(self._single_waiting(piece) or self._new_without_request(piece.key), piece)

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
                f"{self._file.name}, {place_of(self._file, self._first_mixed)}: answers stand among each other, and nothing tells"
                f" them apart: left out. {REMEDY}"
            )

    def _remember(self, key: str, exchange: Exchange) -> None:
        former = self._by_key.pop(key, None)
        if former is not None and not former.is_answered and not former.is_over:
            self._repeated_keys.add(key)  # it names more than one exchange at a time
        self._by_key[key] = exchange
        if len(self._by_key) > _KEYS_LIMIT:
            del self._by_key[next(iter(self._by_key))]

    def _single_waiting(self, piece: AnswerPiece) -> Exchange | None:
        """The open exchange for a piece if at most one request waits; None if the piece begins a new answer."""
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
        exchange.learn(piece.part)
        if piece.closes:
            self._finish(exchange)

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
        """Give each held answer to its request, as far as the request is beyond doubt."""
        held, self._held, self._held_size = self._held, [], 0
        pieces = [item for item in held if isinstance(item, AnswerPiece)]
        if not pieces:
            return
        streams = _streams_of(pieces)
        waiting = self._waiting
        owners: dict[int, Exchange] = {}
        for number, stream in enumerate(streams):
            owner = next((item for item in waiting if _goes_on(item, stream)), None)
            if owner is not None:
                owners[number] = owner
        rest = [number for number in range(len(streams)) if number not in owners]
        if len(rest) == 1:
            free = [item for item in waiting if item not in owners.values()]
            if free:
                owners[rest.pop()] = free[-1]
        are_apart = all(streams[number][0].form == "json" or _name(streams[number][0]) for number in rest)
        for number in rest if are_apart else ():
            owners[number] = Exchange(self._notes, self._peer)
            self._doubtful += 1
        if not are_apart and self._first_mixed < 0:
            self._first_mixed = streams[rest[0]][0].place
        number_of = {id(piece): number for number, stream in enumerate(streams) for piece in stream}
        for item in held:
            if not isinstance(item, AnswerPiece):
                self._flush()
                self._drafts.append(item)
            elif (owner := owners.get(number_of[id(item)])) is not None and not owner.is_over:
                self._add(owner, item)
        for exchange in [*waiting, *owners.values()]:
            self._finish(exchange)


def _name(piece: AnswerPiece) -> str:
    return "" if piece.part is None else piece.part.stream


def _goes_on(exchange: Exchange, stream: Sequence[AnswerPiece]) -> bool:
    """Whether a stream continues an answer that began before the latest request."""
    if not exchange.is_answered or exchange.is_finished:
        return False
    return (bool(exchange.stream) and _name(stream[0]) == exchange.stream) or (
        exchange.has_begun and not stream[0].begins
    )


def _streams_of(pieces: Sequence[AnswerPiece]) -> list[list[AnswerPiece]]:
    """The pieces of each answer, told apart by their ids and by how answers begin and end."""
    streams: list[list[AnswerPiece]] = []
    by_name: dict[str, list[AnswerPiece]] = {}
    is_ended = is_closed = True
    for piece in pieces:
        name, ends = _name(piece), piece.part is not None and piece.part.ends
        is_second_end = (is_ended and ends) or (is_closed and piece.closes)
        if piece.form != "json" and name and name in by_name:
            by_name[name].append(piece)
        elif (
            streams
            and piece.form != "json"
            and not (name or is_second_end)
            and (piece.is_rest or not (is_ended or piece.begins))
        ):
            streams[-1].append(piece)
        else:
            streams.append([piece])
            if name:
                by_name[name] = streams[-1]
            is_ended = is_closed = False
        is_closed |= piece.form == "json" or piece.closes
        is_ended |= is_closed or ends
    return streams
