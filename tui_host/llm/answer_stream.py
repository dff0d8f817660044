"""One answer of a model while it comes: its events, and at its end how it ended. Imported late, with httpx."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

import anyio
import anyio.to_thread
import httpx

from tui_host.capture import content_codings as codings
from tui_host.capture.http.httpx_tap import shifts_of
from tui_host.capture.record import Place, Shift
from tui_host.errors import ModelError
from tui_host.llm.answer_events import Answer
from tui_host.llm.events import ModelEvent
from tui_host.llm.exchange_errors import fault_of, redacted, refusal_of, where
from tui_host.llm.incoming_body import Incoming
from tui_host.llm.messages import Ask
from tui_host.llm.model_request import Outgoing
from tui_host.llm.protocols.tool_protocol import Reader
from tui_host.llm.provider_faults import failure
from tui_host.llm.sender import LINGER_SECONDS, Sender, close
from tui_host.settings.schema import Provider


def _unheard(_: object) -> None:
    """Nobody wants to know of a request."""


class Stream:
    """One answer while it comes: iterate over it or its batches, within `async with`.

    Every event is given out before an error is raised, so what came stays. An answer that the provider ended with an error,
    or that broke off, raises ModelError after its last event, a `Stopped` that says so too.

    Attributes:
        exchange: The exchange's id in the capture, None before anything was sent.
        status: The response's status, None before it came.
        size: Bytes of the body so far, after content decoding.
        outgoing: The request as it is sent, None before it is written.
        prepare: Called with it in a thread, before it is sent.
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
        """Where secrets were taken out of the body so far, before it was kept."""
        return shifts_of(self._response) if self._response is not None else ()

    def batches(self) -> AsyncIterator[Sequence[ModelEvent]]:
        """The events, those that came together at once; none is empty."""
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
        """Read no further; the exchange is recorded as closed by the host."""
        try:
            await self._batches.aclose()
        finally:
            # The group has no part in the error: it would put it into a group of one.
            await self._group.__aexit__(None, None, None)

    async def _run(self) -> AsyncGenerator[Sequence[ModelEvent]]:
        outgoing, response = await self._begin()
        fault: Exception | None = None
        incoming = Incoming(response.aiter_raw())
        self._group.start_soon(incoming.run)
        try:
            answer = Answer(self._provider, response, self._reader)
            try:
                while answer.stop is None and not answer.is_made_up and (data := await incoming.take()):
                    events = answer.feed(data)
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

    async def _begin(self) -> tuple[Outgoing, httpx.Response]:
        provider = self._provider
        outgoing = self.outgoing = await self._sender.written(provider, self._ask)
        await anyio.to_thread.run_sync(self.prepare, outgoing)
        response = await self._sender.send(provider, outgoing, self._place, began=self._has_begun)
        self._response = response
        self.status = response.status_code
        if not response.is_success:
            try:
                refusal = await refusal_of(provider, outgoing, response, now=self._sender.now())
            finally:
                await close(response)
            raise refusal
        return outgoing, response

    def _has_begun(self, exchange: str) -> None:
        self.exchange = exchange
        self.began(exchange)

    def _error(self, outgoing: Outgoing, answer: Answer, fault: Exception | None) -> ModelError | None:
        """What an answer that has not ended well raises; a fault of the connection after its end is none."""
        if answer.failure is not None or answer.stop == "failed":
            error = failure(answer.failure)
            error.what = redacted(error.what, outgoing)
        elif answer.stop != "cut":
            return None
        elif fault is not None:
            error = fault_of(self._provider, outgoing, fault, answer.size)
            error.passes = not answer.size and isinstance(fault, httpx.RemoteProtocolError | httpx.ReadError)
        elif answer.is_unreadable:
            error = ModelError(
                f"nothing in the answer's {answer.size:,} bytes could be read",
                remedy="look at it in the inspector, and try again",
            )
        else:
            error = ModelError(f"the answer broke off after {answer.size:,} bytes, without an end", remedy="try again")
            error.passes = not answer.size  # it is a refusal, but for its status
        error.where = where(self._provider, outgoing)
        error.status, error.exchange = self.status, self.exchange
        return error
