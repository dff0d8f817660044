"""Puts an exchange with a model together from a request, an answer or pieces of an answer."""

from __future__ import annotations

from collections.abc import Iterator

from tui_host.capture.http.exchange_end import CUT, Ending, Reason
from tui_host.capture.http.observer import BODY_LIMIT
from tui_host.capture.record import MISSING, NOT_KNOWN, Head, Kind, Record
from tui_host.llm.body_kinds import AnswerPart
from tui_host.opening.body_dialects import unknown_address
from tui_host.opening.import_types import Moment, Notes, TimedDraft

NO_HEAD = "method, address and headers: the file has the body alone"
NO_HEADERS = "headers: the file has the body and the address alone"
NO_REQUEST = "the request: the file has the answer alone"
NO_STATUS = "status and headers: the file has the body alone, which tells the type that follows"
NO_ANSWER_BUT = "status, headers, and all of the body but the message: the file has it alone; the type that follows is that of the body shown"
NO_STREAM = "bytes of the stream: the file has its events, of which it is put together anew"
NO_BYTES = "bytes of the body: the file has a character for each, of which they are put back"

TYPES = {"sse": "text/event-stream", "ndjson": "application/x-ndjson", "json": "application/json"}
_PIECE = 1 << 16
"""Largest record, in bytes, made of stream events that have no times."""


MIXED = "events of several answers stand among each other, and nothing tells them apart"
REMEDY = "Record with tui-host tap, which sees each connection by itself."


class MixedEvents:
    """Notices if one answer's events come from several answers: two ends, an id that comes back, another dialect.

    Attributes:
        are_there: Whether such events came.
    """

    def __init__(self) -> None:
        self.are_there = False
        self._dialect = self._stream = ""
        self._earlier: set[str] = set()
        self._has_ended = False

    def see(self, dialect: str, part: AnswerPart) -> None:
        """Examine the next event."""
        is_other = bool(dialect and self._dialect) and dialect != self._dialect and not part.is_empty
        is_back = bool(part.stream) and part.stream != self._stream and part.stream in self._earlier
        ends_again = part.ends and self._has_ended and dialect != "gemini"  # which may say the reason in each event
        self.are_there |= is_other or is_back or ends_again
        self._has_ended |= part.ends
        self._dialect = dialect or self._dialect
        if part.stream:
            self._stream = part.stream
            self._earlier.add(part.stream)


class Exchange:
    """An exchange with a model that is being read. Pieces of an answer without times become one record.

    Attributes:
        dialect: The dialect of the request or of the answer.
        stream: The id in the answer's events; empty as long as no event has one.
        is_finished: Whether the answer's message has ended; only usage or `[DONE]` may follow.
    """

    def __init__(self, notes: Notes, peer: str) -> None:
        self._notes = notes
        self._peer = peer
        self.dialect = self.stream = ""
        self.is_answered = self.is_finished = self.is_over = False
        self._exchange = ""
        self._mixed = MixedEvents()
        self._at = Moment(0)
        self._size = 0
        self._pending: list[bytes] = []
        self._pending_size = 0

    def request(
        self, body: bytes, at: Moment, *, dialect: str, url: str = "", lacks: str = NO_HEAD
    ) -> Iterator[TimedDraft]:
        """Begin the exchange with a request's body."""
        self.dialect = dialect
        head = Head(method="POST", url=url, headers=((NOT_KNOWN, NO_HEADERS),))
        yield self._begin(body, at, head if url else _unknown_head(dialect, lacks))

    def answer(
        self, data: bytes, at: Moment, *, dialect: str, form: str, lacks: str = NO_STATUS
    ) -> Iterator[TimedDraft]:
        """Add bytes of the answer's body."""
        if not self._exchange:
            self.dialect = dialect
            yield self._begin(b"", at, _unknown_head(dialect, NO_REQUEST), MISSING)
        if not self.is_answered:
            self.is_answered = True
            head = Head(headers=((NOT_KNOWN, lacks), ("content-type", TYPES[form])))
            yield TimedDraft(at, self._made("response", head=head))
        elif self._pending and (at.is_told or self._pending_size > _PIECE):
            yield from self.flush()
        self._at = at if at.is_told or not self._pending else self._at
        kept = data[: max(BODY_LIMIT - self._size, 0)]
        self._size += len(data)
        if kept:
            self._pending.append(kept)
            self._pending_size += len(kept)

    @property
    def is_mixed(self) -> bool:
        """Whether the exchange contains events of several answers."""
        return self._mixed.are_there

    def mix(self) -> None:
        """Take the exchange for one that contains events of several answers."""
        self._mixed.are_there = True

    def learn(self, part: AnswerPart | None, dialect: str) -> None:
        """Note what the last piece tells about its answer."""
        if part is not None:
            self._mixed.see(dialect, part)
            self.stream = self.stream or part.stream
            self.is_finished |= part.ends

    def flush(self) -> Iterator[TimedDraft]:
        """Return the bytes that wait for more. Call before any later draft of the file is returned."""
        if self._pending:
            data, self._pending, self._pending_size = b"".join(self._pending), [], 0
            yield TimedDraft(self._at, self._made("chunk", data=data))

    def finish(self, *, is_cut: bool = False) -> Iterator[TimedDraft]:
        """End the exchange."""
        if not self._exchange or self.is_over:
            return
        yield from self.flush()
        self.is_over = True
        reason: Reason = "cut by peer" if is_cut else "complete" if self.is_answered else MISSING
        error = CUT if is_cut else ""
        if self.is_mixed:
            reason, error = "failed", MIXED
        ending = Ending(reason=reason, error=error, size=self._size, kept=min(self._size, BODY_LIMIT))
        yield TimedDraft(self._at, self._made(ending.kind, data=ending.to_bytes()))

    def _begin(self, body: bytes, at: Moment, head: Head, malformed: str | None = None) -> TimedDraft:
        self._at = at
        self._exchange = self._notes.new_exchange()
        return TimedDraft(at, self._made("request", data=body, head=head, malformed=malformed))

    def _made(self, kind: Kind, *, data: bytes = b"", head: Head | None = None, malformed: str | None = None) -> Record:
        return Record(
            wire="llm",
            kind=kind,
            peer=self._peer,
            direction="out" if kind == "request" else "in",
            place=self._notes.place,
            exchange=self._exchange,
            head=head,
            data=data,
            malformed=malformed,
        )


def _unknown_head(dialect: str, what: str) -> Head:
    return Head(url=unknown_address(dialect), headers=((NOT_KNOWN, what),))
