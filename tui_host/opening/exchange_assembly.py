"""Exchanges with a model put together from what is at hand of them: a body, an answer, pieces of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tui_host.capture.http.exchange_end import CUT, Ending, Reason
from tui_host.capture.http.observer import BODY_LIMIT
from tui_host.capture.record import MISSING, NOT_KNOWN, Draft, Head, Kind
from tui_host.errors import JSON
from tui_host.opening.drafts import Moment, Notes, Seen
from tui_host.opening.single import piece_of
from tui_host.opening.stream_pieces import Stream

NO_HEAD = "method, address and headers: the file has the body alone"
NO_HEADERS = "headers: the file has the body and the address alone"
NO_REQUEST = "the request: the file has the answer alone"
NO_STATUS = "status and headers: the file has the body alone, which tells the type that follows"
NO_ANSWER_BUT = "status, headers, and all of the body but the message: the file has it alone; the type that follows is that of the body shown"
NO_STREAM = "bytes of the stream: the file has its events, of which it is put together anew"
TANGLED = "what follows stands among the events of several answers"
NO_BYTES = "bytes of the body: the file has a character for each, of which they are put back"

TYPES = {"sse": "text/event-stream", "ndjson": "application/x-ndjson", "json": "application/json"}


def address_of(dialect: str) -> str:
    """What stands for an address that is not known: a scheme that names the dialect, and nothing else."""
    return f"{dialect}:"


@dataclass(slots=True)
class _Open:
    draft: Draft
    at: Moment
    is_answered: bool = False
    size: int = 0


class Exchanges:
    """One model's lane, in which an exchange is over when the next begins.

    Args:
        notes: Gives the ids.
        peer: What the provider is called.
        doubt: Why what comes is no answer that anybody gave; empty where it is one. No dialect is told of it then.

    Attributes:
        stream: What came so far of the answer, where it comes in pieces.
        cut: Why more of it came, and is not known; empty where that is not so.
        called: What names the exchange that begins next, in two files; empty where that is not known.
    """

    def __init__(self, notes: Notes, peer: str, doubt: str = "") -> None:
        self._notes = notes
        self._peer = peer
        self._doubt = doubt
        self._open: _Open | None = None
        self.stream = Stream()
        self.cut = self.called = ""

    def request(
        self,
        body: bytes,
        at: Moment,
        *,
        dialect: str,
        url: str = "",
        lacks: str = NO_HEAD,
        malformed: str | None = None,
    ) -> Iterator[Seen]:
        """A request's body.

        Args:
            body: Its bytes.
            at: When it was sent.
            dialect: In which it is written.
            url: Where it was sent to; empty if that is not known.
            lacks: What is not known of it where the address is not.
            malformed: Why its bytes are not what was sent; None if they are.
        """
        yield from self.finish()
        known = Head(method="POST", url=url, headers=((NOT_KNOWN, NO_HEADERS),))
        head = known if url else _not_known(dialect, lacks)
        yield self._begin(body, at, head, malformed)

    def answer(self, data: bytes, at: Moment, *, dialect: str, form: str, lacks: str = NO_STATUS) -> Iterator[Seen]:
        """Bytes of an answer: all, or the next ones of a stream.

        Args:
            data: Those bytes.
            at: When they came.
            dialect: In which they are written.
            form: How they are (`sse`, `ndjson`, `json`).
            lacks: What is not known of it.
        """
        if self._open is None:
            unknown = Head(headers=((NOT_KNOWN, NO_REQUEST),)) if self._doubt else _not_known(dialect, NO_REQUEST)
            yield self._begin(b"", at, unknown, MISSING)
        opened = self._open
        assert opened is not None  # noqa: S101 - just begun
        opened.at = at
        if not opened.is_answered:
            opened.is_answered = True
            head = Head(headers=((NOT_KNOWN, lacks), ("content-type", TYPES[form])))
            yield Seen(at, replace(_after(opened.draft, "response", head=head), malformed=self._doubt or None))
        kept = data[: max(BODY_LIMIT - opened.size, 0)]
        opened.size += len(data)
        if kept:
            yield Seen(at, _after(opened.draft, "chunk", data=kept))

    @property
    def is_open(self) -> bool:
        """Whether an exchange has begun and not ended."""
        return self._open is not None

    @property
    def is_answered(self) -> bool:
        """Whether something of its answer has come."""
        return self._open is not None and self._open.is_answered

    @property
    def may_go_on(self) -> bool:
        """Whether more of its answer may come after another's: its pieces have an id, or need none, and it has not ended."""
        return self.is_answered and bool(self.stream.name or self.stream.is_begun) and not self.stream.is_ended

    @property
    def is_given_up(self) -> bool:
        """Whether nothing more of its answer is known to come once another is asked for, and it did not say why it ends."""
        return self.is_answered and not self.stream.name and not self.stream.is_finished

    def is_over_before(self, value: JSON) -> bool:
        """Whether it said why it ends, and a piece that names no stream says more: of the next one, if another is awaited."""
        is_finished = self.is_answered and self.stream.is_finished and not self.stream.name
        piece = piece_of(value) if is_finished else None
        return piece is not None and not piece.is_rest

    def is_followed_by(self, value: JSON) -> bool:
        """Whether what an event says begins another answer."""
        return not self._doubt and self.stream.is_followed_by(value)

    def begins_anew(self, data: bytes) -> bool:
        """Whether a piece of a stream does."""
        return not self._doubt and self.stream.begins_anew(data)

    def end(self) -> Iterator[Seen]:
        """An answer says that it has ended: it is over, unless others go on in its place."""
        if not self._doubt:
            yield from self.finish()

    def finish(self) -> Iterator[Seen]:
        """Nothing more comes of the exchange that has begun, if one has: what came last is its end."""
        opened, self._open = self._open, None
        stream, self.stream = self.stream, Stream()
        cut, self.cut = self.cut or (CUT if stream.is_cut and not self._doubt else ""), ""
        if opened is None:
            return
        if not self._doubt:
            stream.end()
        reason: Reason = "cut by peer" if cut else "complete" if opened.is_answered else MISSING
        ending = Ending(reason=reason, error=cut, size=opened.size, kept=min(opened.size, BODY_LIMIT))
        yield Seen(opened.at, _after(opened.draft, ending.kind, data=ending.to_bytes()))

    def _begin(self, body: bytes, at: Moment, head: Head, malformed: str | None = None) -> Seen:
        draft = Draft(
            wire="llm",
            kind="request",
            peer=self._peer,
            direction="out",
            exchange=self._notes.new_exchange(),
            head=head,
            data=body,
            malformed=malformed,
        )
        self._open = _Open(draft, at)
        if self.called and draft.exchange:
            self._notes.names[draft.exchange] = self.called
        return Seen(at, draft)


def _not_known(dialect: str, what: str) -> Head:
    return Head(url=address_of(dialect), headers=((NOT_KNOWN, what),))


def _after(request: Draft, kind: Kind, *, data: bytes = b"", head: Head | None = None) -> Draft:
    return Draft(
        wire="llm",
        kind=kind,
        peer=request.peer,
        direction="in",
        exchange=request.exchange,
        head=head,
        data=data,
    )
