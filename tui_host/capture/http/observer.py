"""Records the HTTP traffic of one client, for any client library, as a transport reports it: begin, response, chunk, end.

Chunks come after removing transfer framing and before content decoding. The JSON-RPC messages in the bodies of an MCP server
are recorded as `frame` records too.
"""

from __future__ import annotations

from asyncio import get_running_loop
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Literal, TypeAlias

from tui_host.capture.content_codings import encoding_of
from tui_host.capture.frames.correlator import Correlator
from tui_host.capture.http.client_faults import REASONS, words_of
from tui_host.capture.http.exchange_end import Ending, Reason
from tui_host.capture.http.http_frames import HttpFrames
from tui_host.capture.record import Head, Place, Record, Redaction, Shift
from tui_host.capture.recording import Recording
from tui_host.capture.redact.places import is_login
from tui_host.capture.redact.text_stream import BodyRedactor

BODY_LIMIT = 64 << 20
"""Largest number of a body's bytes to record. Further bytes are counted in the record of the exchange's end."""

Headers = Sequence[tuple[str, str]]
Logins: TypeAlias = Literal["none", "some", "all"]
"""Which exchanges are logins. `none`: they are our own with a model or server, whose secrets are known by value. `some`: they are
another host's, whose credentials are known by their place, and logins by their request. `all`: they are logins alone, whoever's.
"""


@dataclass(eq=False)
class Observer:
    """Records the traffic of a client with one provider or server."""

    recorder: Recording
    _: KW_ONLY
    wire: Literal["llm", "mcp"]
    peer: str
    connection: str | None = None  # of an MCP server
    correlator: Correlator = field(default_factory=Correlator)  # of the connection
    logins: Logins = "none"
    is_decoded: bool = False  # bodies come without their content coding, as from a file, whatever the headers say

    def begin(
        self, method: str, url: str, headers: Headers, body: bytes, place: Place, *, missed: int = 0, lacks: str = ""
    ) -> ObservedExchange:
        """Record a request before sending it.

        `method` is empty if a file does not tell it; `missed` counts bytes of the body that are not available; `lacks` says
        why there is no body, such as `MISSING`.
        """
        kept, size = body[:BODY_LIMIT], len(body) + missed
        if len(kept) < size:
            lacks = f"the body is kept up to {len(kept)} of its {size} bytes"
        head = Head(method=method or None, url=url, headers=tuple(headers))
        identity, encoding = self.recorder.new_exchange(), None if self.is_decoded else encoding_of(headers)
        # makes records with these fields: `replace` takes several times as long
        wire, peer, connection = self.wire, self.peer, self.connection
        make = partial(Record, wire=wire, peer=peer, connection=connection, place=place, exchange=identity)
        request = make(
            kind="request", direction="out", head=head, data=kept, encoding=encoding, malformed=lacks or None
        )
        of_login = self.logins == "all" or (self.logins == "some" and is_login(head, body))
        if self.logins != "none":
            request = self.recorder.redactor.by_place(request, of_login=of_login)
        self.recorder.append(request)
        frames = HttpFrames(self.recorder, self.correlator, make, place) if self.wire == "mcp" else None
        if frames is not None and method == "POST":
            frames.sent(body)
        redactor = self.recorder.redactor.body()
        return ObservedExchange(identity, frames, self, partial(make, direction="in"), redactor, _of_login=of_login)


@dataclass(eq=False)
class ObservedExchange:
    """An exchange in progress, begun by an observer. After its end nothing more is recorded."""

    id: str
    frames: HttpFrames | None  # None for a model's
    _observer: Observer
    _make: partial[Record]
    _redactor: BodyRedactor  # of the response
    _of_login: bool
    _encoding: str | None = None
    gathered: list[bytes] = field(default_factory=list[bytes])
    _size: int = 0
    _kept: int = 0
    _ended: bool = False

    def response(self, status: int, headers: Headers) -> None:
        """Record the response's head. The status is 0 if a file does not tell it."""
        head = Head(status=status or None, headers=tuple(headers))
        self._observer.recorder.append(self._make(kind="response", head=head))
        self._encoding = None if self._observer.is_decoded else encoding_of(headers)
        content_type = head.value("content-type").strip().lower()
        is_stream = content_type.startswith("text/event-stream")  # no login's, and its end may never come
        redactor = self._observer.recorder.redactor
        self._redactor = redactor.body(self._encoding, of_login=self._of_login and not is_stream)
        if self.frames is not None:
            self.frames.answered(status, content_type, self._encoding)

    def chunk(self, data: bytes) -> None:
        """Record bytes of the response's body. Call before the bytes are used."""
        if self._ended or not data:
            return
        kept = data[: BODY_LIMIT - self._kept]
        self._size += len(data)
        self._kept += len(kept)
        self._keep(*self._redactor.feed(kept))
        if self.frames is not None:
            self.frames.received(data)

    def end(self, reason: Reason = "complete", error: str = "", *, missed: int = 0) -> None:
        """Record how the exchange ended; `error` says why it failed, `missed` counts bytes that are not in a file."""
        if self._ended:
            return
        self.record_gathered()
        self._ended = True
        self._keep(*self._redactor.flush())
        if self.frames is not None:
            self.frames.finished(whole=reason == "complete")
        kept = max(self._kept - self._redactor.left_out, 0)
        ending = Ending(reason=reason, error=error, size=self._size + missed, kept=kept)
        self._observer.recorder.append(self._make(kind=ending.kind, data=ending.to_bytes()))

    @contextmanager
    def sending(self) -> Generator[None]:
        """Record any error in the block, which sends or receives, as the exchange's end; raises it again."""
        try:
            yield
        except Exception as error:
            kinds = [kind.__name__ for kind in type(error).__mro__]
            reasons: list[Reason] = [*(REASONS[name] for name in kinds if name in REASONS), "failed"]
            self.end(reasons[0], words_of(error))
            raise
        except BaseException:
            self.end("closed by host")
            raise

    @property
    def shifts(self) -> Sequence[Shift]:
        """Places in the decoded response, as far as received, from which secrets were removed."""
        self.record_gathered()
        return self._redactor.shifts

    @property
    def is_open(self) -> bool:
        """Whether streamed text is held back because it may be the beginning of a secret."""
        self.record_gathered()
        return self._redactor.is_open

    def release(self) -> None:
        """Record the text held back, because its rest does not arrive in time."""
        if self._redactor.body is None:  # coded bytes keep waiting
            self._keep(*self._redactor.take(b"", is_late=True))

    def record_gathered(self) -> None:
        """Record the chunks that arrived together."""
        data = b"".join(self.gathered)
        self.gathered.clear()
        self.chunk(data)

    def _keep(self, data: bytes, redacted: tuple[Redaction, ...]) -> None:
        if data or redacted:
            encoding = None if self._redactor.decoded_from else self._encoding
            record = self._make(kind="chunk", data=data, encoding=encoding, redacted=redacted)
            self._observer.recorder.append(record)


@dataclass(eq=False)
class RecordedBody:
    """A response's body that is recorded while it is read; a transport makes it a stream of its library."""

    body: AsyncIterable[bytes]
    close: Callable[[], Awaitable[None]]
    exchange: ObservedExchange

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        """Yield the chunks of the response's body, and record chunks and end.

        Chunks that arrived together become one record, made when the reader waits for the next chunk: before any of
        them can be shown. If messages are searched in the body, each chunk is recorded before it is yielded.
        """
        exchange, record_soon = self.exchange, get_running_loop().call_soon
        gathered = exchange.gathered
        with exchange.sending():
            async for data in self.body:
                if exchange.frames is not None:
                    exchange.chunk(data)
                else:
                    if not gathered:
                        record_soon(exchange.record_gathered)
                    gathered.append(data)
                yield data
        exchange.end()

    async def aclose(self) -> None:
        """Close the body: what was not read is not recorded."""
        self.exchange.end("closed by host")
        await self.close()


def header_pairs(raw: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    """Return headers as sent, with one character per byte."""
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in raw)
