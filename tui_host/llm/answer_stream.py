"""Streams one answer of a model: events, and the reason for the end. Imported late, with httpx."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from types import TracebackType
from typing import Final, Self

import anyio
import anyio.to_thread
import httpx

from tui_host.capture import content_codings as codings
from tui_host.capture.http.httpx_tap import observed
from tui_host.capture.http.observer import ObservedExchange
from tui_host.capture.record import Place, Shift
from tui_host.errors import ModelError
from tui_host.llm.dialects.table import dialect
from tui_host.llm.events import CutOff, Failed, ModelEvent, Stopped, TextDelta, Unreadable
from tui_host.llm.messages import Ask, Stop
from tui_host.llm.outgoing import Outgoing
from tui_host.llm.protocols.tool_protocol import Reader
from tui_host.llm.provider_faults import failure
from tui_host.llm.sender import LINGER_SECONDS, Sender, close, fault_of, redacted, where
from tui_host.settings.schema import Provider

MADE_UP_LIMIT: Final = 8 << 10
"""Characters of made-up text after a call before the answer is closed. People want to read some, and usage comes last."""
MADE_UP_SECONDS: Final = 5.0
"""The longest time from the first made-up character until the answer is closed."""
CLOSED: Final = "closed by the host"
HOLD_SECONDS: Final = 0.2
"""The longest time that text which may begin a secret waits for the next piece."""
ANSWER_LIMIT: Final = 64 << 20
"""Bytes of one answer, after content decoding."""
MOST_WAITING: Final = 1 << 20
"""The most bytes read ahead."""


class _Answer:
    """Turns a response's bytes into events, through content coding, dialect and tool protocol."""

    def __init__(self, provider: Provider, response: httpx.Response, reader: Reader | None) -> None:
        self.size = 0  # bytes after content decoding
        self.failure: Failed | None = None
        self.stop: Stop | None = None
        self._has_length = "content-length" in response.headers or "transfer-encoding" in response.headers
        self._has_read = False
        self._has_unreadable = False
        self._encoding = response.headers.get("content-encoding")
        self._coding: codings.Decoder | None = None  # an unknown coding is the answer's fault, so it is told in `feed`
        self._decoder = dialect(provider.dialect).decoder(response.headers.get("content-type", ""))
        self._reader = reader
        self._made_up = 0  # in characters
        self._made_up_since = 0.0

    @property
    def is_made_up(self) -> bool:
        """Whether the model has written much text after its call, such as a made-up result."""
        if not self._made_up:
            return False
        return self._made_up > MADE_UP_LIMIT or anyio.current_time() - self._made_up_since > MADE_UP_SECONDS

    @property
    def is_unreadable(self) -> bool:
        """Whether the answer is complete by HTTP's rules, but unreadable."""
        return self._has_length and self._has_unreadable and not self._has_read

    def feed(self, data: bytes) -> Sequence[ModelEvent]:
        """Return the events in these bytes. Raises `CodingError`."""
        self._coding = self._coding or codings.decoder(self._encoding)
        decoded = self._coding.feed(data)
        self.size += len(decoded)
        if self.size > ANSWER_LIMIT:
            raise codings.CodingError(f"the answer is larger than {ANSWER_LIMIT >> 20} MB")
        return self._read(self._decoder.feed(decoded))

    def finish(self) -> Sequence[ModelEvent]:
        """Return the events at the end of the body."""
        events = self._read(self._decoder.finish())
        return [*events, *self._reader.finish()] if self._reader is not None else events

    def close(self) -> Sequence[ModelEvent]:
        """Return the event for an answer that the host ends."""
        return self._read([Stopped(stop="end", vendor=CLOSED, start=self.size, end=self.size)])

    def _read(self, events: list[ModelEvent]) -> list[ModelEvent]:
        read: list[ModelEvent] = []
        for event in events:
            if type(event) is TextDelta:  # nearly every event
                self._has_read = True
            elif isinstance(event, Failed):
                self.failure = event
            elif isinstance(event, Stopped):
                self.stop = event.stop
            elif isinstance(event, Unreadable):
                self._has_unreadable = True
            else:
                self._has_read = True
            if self._reader is not None:
                read += self._reader.feed(event)
        if self._reader is None:
            return events
        for event in read:
            if isinstance(event, CutOff):
                self._made_up_since = self._made_up_since or anyio.current_time()
                self._made_up += len(event.text)
        return read


class Incoming:
    """Reads a response's body ahead, so that everything available can be taken at once.

    Vendors send each event in a chunk of its own. Passing each chunk through every layer costs more than reading it.
    """

    def __init__(self, body: AsyncIterator[bytes]) -> None:
        """Start nothing; `run` reads the body."""
        self._body = body
        self._pieces: list[bytes] = []
        self._waiting = 0  # in bytes
        self._news = anyio.Event()
        self._taken = anyio.Event()
        self._ended = anyio.Event()
        self._fault: Exception | None = None
        self._scope = anyio.CancelScope()

    async def run(self) -> None:
        """Read to the end; errors are raised in `take`."""
        try:
            with self._scope:
                async for data in self._body:
                    if not self._pieces:
                        self._news.set()
                    self._pieces.append(data)
                    self._waiting += len(data)
                    if self._waiting > MOST_WAITING:
                        self._taken = anyio.Event()
                        await self._taken.wait()
        except Exception as error:  # noqa: BLE001 - is raised where it is waited for
            self._fault = error
        finally:
            self._ended.set()
            self._news.set()

    async def take(self) -> bytes:
        """Wait for bytes, and return everything available; empty at the end, or raises what reading raised."""
        await self._news.wait()
        if not self._pieces:
            if self._fault is not None:
                raise self._fault
            return b""
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._waiting = 0
        self._taken.set()
        if not self._ended.is_set():
            self._news = anyio.Event()
        return data

    async def rest_of_secret(self, exchange: ObservedExchange | None) -> bytes:
        """Return what comes while the text so far may begin a secret: nobody sees it before it is known for one."""
        data = b""
        while exchange is not None and exchange.is_open:
            with anyio.move_on_after(HOLD_SECONDS):
                await self._news.wait()
            if not self._pieces:
                exchange.release()
                break
            data += await self.take()
        return data

    async def rest(self, seconds: float) -> None:
        """Read on for at most this many seconds, and drop the bytes."""
        with anyio.move_on_after(seconds):
            while await self.take():
                pass

    async def stop(self) -> None:
        """Read no further."""
        self._scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._ended.wait()


def _unheard(_: object) -> None:
    """Ignore that a request was recorded."""


class Stream:
    """One answer as a stream of events: iterate over events or batches, within `async with`.

    Every event is given out before an error is raised, so what came stays. An answer that the provider ended with an error,
    or that broke off, raises ModelError after its last event, a `Stopped` with the reason.

    Attributes:
        exchange: The exchange's id in the capture, None before anything was sent.
        status: The response's status, None before it came.
        size: Bytes of the body so far, after content decoding.
        outgoing: The request as sent, None before it is written.
        prepare: Called with the request in a thread, before sending.
        began: Called with the exchange's id once the request is recorded, before it is sent.
    """

    def __init__(self, sender: Sender, provider: Provider, ask: Ask, place: Place, reader: Reader | None) -> None:
        """Made by `ModelClient.stream`."""
        self.exchange: str | None = None
        self.status: int | None = None
        self.size = 0
        self.outgoing: Outgoing | None = None
        self.prepare: Callable[[Outgoing], None] = _unheard
        self.began: Callable[[str], None] = _unheard
        self._sender = sender
        self._provider = provider
        self._ask = ask
        self._place = place
        self._reader = reader
        self._response: httpx.Response | None = None
        self._group = anyio.create_task_group()
        self._batches = self._run()
        self._given: Iterator[ModelEvent] = iter(())  # the batch that is being iterated over

    @property
    def shifts(self) -> Sequence[Shift]:
        """The places of secrets taken out of the body before storage."""
        exchange = observed(self._response) if self._response is not None else None
        return exchange.shifts if exchange is not None else ()

    def batches(self) -> AsyncIterator[Sequence[ModelEvent]]:
        """Yield the events in batches: all that are available together. No batch is empty."""
        return self._batches

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> ModelEvent:
        while (event := next(self._given, None)) is None:
            self._given = iter(await anext(self._batches))
        return event

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop reading; the exchange is recorded as closed by the host."""
        try:
            await self._batches.aclose()
        finally:
            # The group must not see the error, since it would raise an exception group.
            await self._group.__aexit__(None, None, None)

    async def _run(self) -> AsyncGenerator[Sequence[ModelEvent]]:
        outgoing = self.outgoing = await self._sender.written(self._provider, self._ask)
        await anyio.to_thread.run_sync(self.prepare, outgoing)
        try:
            response = await self._sender.send(self._provider, outgoing, self._place, began=self._has_begun)
        except ModelError as refusal:
            self.status = refusal.status
            raise
        self._response, self.status = response, response.status_code
        fault: Exception | None = None
        incoming = Incoming(response.aiter_raw())
        self._group.start_soon(incoming.run)
        try:
            answer = _Answer(self._provider, response, self._reader)
            try:
                while answer.stop is None and not answer.is_made_up and (data := await incoming.take()):
                    events = answer.feed(data + await incoming.rest_of_secret(observed(response)))
                    self.size = answer.size
                    if events:
                        yield events
                if answer.stop is not None:
                    await incoming.rest(LINGER_SECONDS)
            except (httpx.HTTPError, codings.CodingError) as error:
                fault = error
            last = answer.close() if answer.is_made_up and answer.stop is None else answer.finish()
            self.size = answer.size
            if last:
                yield last
        finally:
            await incoming.stop()
            await close(response)
        error = self._error(outgoing, answer, fault)
        if error is not None:
            raise error from fault

    def _has_begun(self, exchange: str) -> None:
        self.exchange = exchange
        self.began(exchange)

    def _error(self, outgoing: Outgoing, answer: _Answer, fault: Exception | None) -> ModelError | None:
        """Return the error to raise after an answer that ended badly. A connection fault after a good end is ignored."""
        if answer.failure is not None or answer.stop == "failed":
            error = failure(answer.failure)
            error.what = redacted(error.what, outgoing)
        elif answer.stop != "cut":
            return None
        elif fault is not None:
            error = fault_of(self._provider, outgoing, fault, answer.size)
            error.passes = not answer.size and isinstance(fault, httpx.RemoteProtocolError | httpx.ReadError)
        elif answer.is_unreadable:
            what = f"nothing in the answer's {answer.size:,} bytes could be read"
            error = ModelError(what, remedy="look at it in the inspector, and try again")
        else:
            error = ModelError(f"the answer broke off after {answer.size:,} bytes, without an end", remedy="try again")
            error.passes = not answer.size  # a refusal, but with status 200
        error.where = where(self._provider, outgoing)
        error.status, error.exchange = self.status, self.exchange
        return error
