"""One exchange with a model, put together from a request, an answer or pieces of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tui_host.capture.http.exchange_end import CUT, Ending, Reason
from tui_host.capture.http.observer import BODY_LIMIT
from tui_host.capture.record import MISSING, NOT_KNOWN, Draft, Head, Kind
from tui_host.llm.dialects.body_kinds import AnswerPart
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
"""Bytes of a stream without times of its own that become one record."""


class Exchange:
    """An exchange with a model while its parts come in. Pieces of an answer without times of their own become one record.

    Attributes:
        dialect: The dialect of the request or of the answer.
        stream: The id that the answer's events repeat; empty as long as none did.
        has_begun: The event came with which every stream of its dialect begins.
        is_finished: The answer says that its message has ended; a few words may follow (tokens used, `[DONE]`).
    """

    def __init__(self, notes: Notes, peer: str, key: str = "") -> None:
        self._notes = notes
        self._peer = peer
        self.key = key
        self.dialect = self.stream = ""
        self.has_begun = self.is_answered = self.is_finished = self.is_over = False
        self._draft: Draft | None = None
        self._at = Moment(0)
        self._size = 0
        self._pending: list[bytes] = []
        self._pending_size = 0

    def request(
        self, body: bytes, at: Moment, *, dialect: str, url: str = "", lacks: str = NO_HEAD
    ) -> Iterator[TimedDraft]:
        """Begin with a request's body."""
        self.dialect = dialect
        head = Head(method="POST", url=url, headers=((NOT_KNOWN, NO_HEADERS),))
        yield self._begin(body, at, head if url else _unknown_head(dialect, lacks))

    def answer(
        self, data: bytes, at: Moment, *, dialect: str, form: str, lacks: str = NO_STATUS
    ) -> Iterator[TimedDraft]:
        """Add bytes of the answer."""
        if self._draft is None:
            self.dialect = dialect
            yield self._begin(b"", at, _unknown_head(dialect, NO_REQUEST), MISSING)
        if not self.is_answered:
            self.is_answered = True
            head = Head(headers=((NOT_KNOWN, lacks), ("content-type", TYPES[form])))
            yield TimedDraft(at, self._after("response", head=head))
        elif self._pending and (at.is_told or self._pending_size > _PIECE):
            yield from self.flush()
        self._at = at if at.is_told or not self._pending else self._at
        kept = data[: max(BODY_LIMIT - self._size, 0)]
        self._size += len(data)
        if kept:
            self._pending.append(kept)
            self._pending_size += len(kept)

    def learn(self, part: AnswerPart | None) -> None:
        """Note what the last piece says of its answer."""
        if part is not None:
            self.stream = self.stream or part.stream
            self.has_begun |= part.begins
            self.is_finished |= part.ends

    def flush(self) -> Iterator[TimedDraft]:
        """Give the bytes that wait for more. Called before anything else of the file is given."""
        if self._pending:
            data, self._pending, self._pending_size = b"".join(self._pending), [], 0
            yield TimedDraft(self._at, self._after("chunk", data=data))

    def finish(self, *, is_cut: bool = False) -> Iterator[TimedDraft]:
        """End the exchange."""
        if self._draft is None or self.is_over:
            return
        yield from self.flush()
        self.is_over = True
        reason: Reason = "cut by peer" if is_cut else "complete" if self.is_answered else MISSING
        ending = Ending(reason=reason, error=CUT if is_cut else "", size=self._size, kept=min(self._size, BODY_LIMIT))
        yield TimedDraft(self._at, self._after(ending.kind, data=ending.to_bytes()))

    def _begin(self, body: bytes, at: Moment, head: Head, malformed: str | None = None) -> TimedDraft:
        self._draft = Draft(
            wire="llm",
            kind="request",
            peer=self._peer,
            direction="out",
            exchange=self._notes.new_exchange(),
            head=head,
            data=body,
            malformed=malformed,
        )
        self._at = at
        if self.key and self._draft.exchange:
            self._notes.exchange_keys[self._draft.exchange] = self.key
        return TimedDraft(at, self._draft)

    def _after(self, kind: Kind, *, data: bytes = b"", head: Head | None = None) -> Draft:
        request = self._draft
        assert request is not None  # noqa: S101 - an answer begins one
        draft = Draft(wire="llm", kind=kind, peer=request.peer, direction="in", exchange=request.exchange, data=data)
        return draft if head is None else replace(draft, head=head)


def _unknown_head(dialect: str, what: str) -> Head:
    return Head(url=unknown_address(dialect), headers=((NOT_KNOWN, what),))
