"""One exchange with a model: a request sent, its answer as events while it comes. Imported late, with httpx."""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx

from tui_host.capture import codings
from tui_host.capture.context import current_place
from tui_host.capture.http import Observer, header_pairs
from tui_host.capture.httpx_tap import BEGAN, RecordingTransport, exchange_of, shifts_of
from tui_host.capture.record import NOWHERE, Draft, Head, Place
from tui_host.capture.recording import Recording
from tui_host.capture.redact import Shift
from tui_host.errors import ModelError
from tui_host.llm.dialects import dialect
from tui_host.llm.dialects.dialect import Window
from tui_host.llm.exchange_faults import CONNECT_SECONDS, fault_of, read_body, redacted, refusal_of, where
from tui_host.llm.faults import failure
from tui_host.llm.incoming import Incoming
from tui_host.llm.messages import Ask, CutOff, Failed, ModelEvent, Stop, Stopped, Unreadable
from tui_host.llm.protocols.protocol import Reader
from tui_host.llm.request import Outgoing, model_request, models_request
from tui_host.settings.proxy import proxy_for
from tui_host.settings.schema import Provider

LIST_SECONDS: Final = 15.0
LINGER_SECONDS: Final = 2.0
"""How long the end of a body is waited for when the answer has ended."""
MADE_UP_LIMIT: Final = 8 << 10
"""Characters behind a call, made up by the model, until its answer is closed: they are what people come to see, and usage comes last."""
MADE_UP_SECONDS: Final = 5.0
"""The same as a time, from the first of them."""
CLOSED: Final = "closed by the host"
ANSWER_LIMIT: Final = 64 << 20
"""Bytes of one answer, after content decoding."""
_LIST_LIMIT = 16 << 20


class ModelClient:
    """Talks to providers, and records every byte of it. One for the whole program; safe for turns side by side.

    Nothing is tried again and no redirect is followed by itself: what goes out is what was asked for, once.
    """

    def __init__(
        self, recorder: Recording, environment: Mapping[str, str], *, now: Callable[[], float] = time.time
    ) -> None:
        """Open nothing yet.

        Args:
            recorder: Keeps the records.
            environment: The snapshot in the settings: references and proxies are resolved in it, at use.
            now: Seconds since 1970.
        """
        self.now = now
        self._recorder = recorder
        self._environment = environment
        self._clients: dict[_Way, httpx.AsyncClient] = {}

    def stream(self, provider: Provider, ask: Ask, *, place: Place, reader: Reader | None = None) -> Stream:
        """One answer; nothing is sent before its first event is asked for.

        Args:
            provider: Whom to ask; an embedded one with the base URL that its process has told.
            ask: What to send.
            place: Where in the conversation its records belong.
            reader: The tool protocol's reader for this answer; None takes the events as they are.
        """
        return Stream(self, provider, ask, place, reader)

    async def list_models(self, provider: Provider) -> tuple[str, ...]:
        """The models that a provider reports, in its order.

        Raises:
            ModelError: It cannot be asked, or it refuses.
        """
        outgoing = models_request(provider, self._environment)
        try:
            with anyio.fail_after(LIST_SECONDS):
                response = await self.send(provider, outgoing, NOWHERE)
                try:
                    if not response.is_success:
                        raise await refusal_of(provider, outgoing, response, now=self.now())
                    return dialect(provider.dialect).models(await read_body(response, _LIST_LIMIT))
                finally:
                    await _close(response)
        except httpx.HTTPError as error:
            raise fault_of(provider, outgoing, error, 0) from error
        except codings.CodingError as error:
            raise ModelError(f"the list of models cannot be read: {error}", where(provider, outgoing)) from error
        except TimeoutError:
            raise ModelError(f"no list of models within {LIST_SECONDS:g} s", where(provider, outgoing)) from None

    async def send(
        self, provider: Provider, outgoing: Outgoing, place: Place, *, began: Callable[[str], None] | None = None
    ) -> httpx.Response:
        """Send a request and read the head of its response; the caller closes it.

        Args:
            provider: Whom it goes to.
            outgoing: The request.
            place: Where in the conversation its records belong.
            began: Told the exchange's id once the request is recorded, before it is sent.

        Raises:
            ModelError: It did not get there.
        """
        client = await self._client(provider, outgoing)
        request: httpx.Request | None = None
        token = current_place.set(place)
        try:
            request = _built(client, provider, outgoing, began)
            return await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            fault = fault_of(provider, outgoing, error, 0)
            fault.exchange = exchange_of(request) if request is not None else None
            raise fault from error
        finally:
            current_place.reset(token)

    async def coming(self, provider: Provider, ask: Ask, *, place: Place) -> Draft:
        """What `stream` would send for this, as it would be recorded, before any secret is taken out. Nothing is sent.

        Raises:
            ModelError: It cannot be sent.
        """
        outgoing = model_request(provider, ask, self._environment)
        client = await self._client(provider, outgoing)
        try:
            request = _built(client, provider, outgoing, None)
        except httpx.InvalidURL as error:
            raise fault_of(provider, outgoing, error, 0) from error
        head = Head(method=request.method, url=str(request.url), headers=header_pairs(request.headers.raw))
        return Draft(
            wire="llm", kind="request", peer=provider.name, direction="out", place=place, head=head, data=outgoing.body
        )

    async def aclose(self) -> None:
        """Close every connection."""
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.aclose()

    async def _client(self, provider: Provider, outgoing: Outgoing) -> httpx.AsyncClient:
        way = _Way(
            provider=provider.name,
            is_tls=urlsplit(outgoing.url).scheme == "https",
            ca_file=str(provider.ca_file or self._environment.get("SSL_CERT_FILE") or ""),
            proxy=proxy_for(outgoing.url, self._environment),
        )
        if way not in self._clients:
            try:
                # Reading the system's certificates takes long enough to be felt.
                context = await anyio.to_thread.run_sync(_context, way)
                inner = httpx.AsyncHTTPTransport(verify=context, trust_env=False, proxy=way.proxy)
            except httpx.InvalidURL as error:  # its words may hold a part of the password
                what, remedy = "the proxy's address is no URL", "correct the proxy in the environment"
                raise ModelError(what, where(provider, outgoing), remedy) from error
            except (OSError, ValueError, ImportError) as error:
                what = "the proxy or the certificates cannot be used"
                raise ModelError(
                    f"{what}: {error}", where(provider, outgoing), "check ca_file and the proxy"
                ) from error
            observer = Observer(self._recorder, wire="llm", peer=provider.name)
            client = httpx.AsyncClient(
                transport=RecordingTransport(observer, inner), trust_env=False, follow_redirects=False
            )
            client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
            self._clients.setdefault(way, client)
        return self._clients[way]

    @property
    def environment(self) -> Mapping[str, str]:
        """The snapshot in the settings."""
        return self._environment


def _built(
    client: httpx.AsyncClient, provider: Provider, outgoing: Outgoing, began: Callable[[str], None] | None
) -> httpx.Request:
    seconds = provider.timeout or None
    return client.build_request(
        outgoing.method,
        outgoing.url,
        headers=outgoing.headers,
        content=outgoing.body,
        timeout=httpx.Timeout(seconds, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS),
        extensions={BEGAN: began},
    )


class Stream:
    """One answer while it comes: iterate over it or its batches, within `async with`.

    Every event is given out before an error is raised, so what came stays. An answer that the provider ended with an error,
    or that broke off, raises ModelError after its last event, a `Stopped` that says so too.

    Attributes:
        exchange: The exchange's id in the capture, None before anything was sent.
        status: The response's status, None before it came.
        size: Bytes of the body so far, after content decoding.
        request: The request's body as it is sent, empty before.
        window: Where the provider may cut the prompt unsaid, None where it does not.
        began: Called with the exchange's id once the request is recorded, before it is sent.
    """

    def __init__(self, client: ModelClient, provider: Provider, ask: Ask, place: Place, reader: Reader | None) -> None:
        """Made by `ModelClient.stream`."""
        self.exchange: str | None = None
        self.status: int | None = None
        self.size = 0
        self.request = b""
        self.window: Window | None = None
        self.unsent: Mapping[str, str] = {}
        self.began: Callable[[str], None] = _unheard
        self._client = client
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
            answer = _Answer(self._provider, response, self._reader)
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
            await _close(response)
        error = self._error(outgoing, answer, fault)
        if error is not None:
            raise error from fault

    async def _begin(self) -> tuple[Outgoing, httpx.Response]:
        provider = self._provider
        outgoing = model_request(provider, self._ask, self._client.environment)
        self.request, self.window, self.unsent = outgoing.body, outgoing.window, outgoing.unsent
        response = await self._client.send(provider, outgoing, self._place, began=self._has_begun)
        self._response = response
        self.status = response.status_code
        if not response.is_success:
            try:
                refusal = await refusal_of(provider, outgoing, response, now=self._client.now())
            finally:
                await _close(response)
            raise refusal
        return outgoing, response

    def _has_begun(self, exchange: str) -> None:
        self.exchange = exchange
        self.began(exchange)

    def _error(self, outgoing: Outgoing, answer: _Answer, fault: Exception | None) -> ModelError | None:
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


class _Answer:
    """A response's bytes as events, through content coding, dialect and tool protocol."""

    def __init__(self, provider: Provider, response: httpx.Response, reader: Reader | None) -> None:
        self.size = 0
        self.failure: Failed | None = None
        self.stop: Stop | None = None
        self._seen: set[type[ModelEvent]] = set()
        self._has_end = "content-length" in response.headers or "transfer-encoding" in response.headers
        self._encoding = response.headers.get("content-encoding")
        self._coding: codings.Decoder | None = None
        self._decoder = dialect(provider.dialect).decoder(response.headers.get("content-type", ""))
        self._reader = reader
        self._made_up = 0  # characters
        self._made_up_since = 0.0

    @property
    def is_made_up(self) -> bool:
        """The model has gone on long enough behind its call."""
        if not self._made_up:
            return False
        return self._made_up > MADE_UP_LIMIT or anyio.current_time() - self._made_up_since > MADE_UP_SECONDS

    @property
    def is_unreadable(self) -> bool:
        """It came whole, as far as HTTP can tell, and nothing of it could be read."""
        return self._has_end and self._seen - {Stopped} == {Unreadable}

    def feed(self, data: bytes) -> Sequence[ModelEvent]:
        """What these bytes add; raises CodingError."""
        if self._coding is None:
            self._coding = codings.decoder(self._encoding)
        decoded = self._coding.feed(data)
        self.size += len(decoded)
        if self.size > ANSWER_LIMIT:
            raise codings.CodingError(f"the answer is larger than {ANSWER_LIMIT >> 20} MB")
        return self._read(self._decoder.feed(decoded))

    def finish(self) -> Sequence[ModelEvent]:
        """What the end adds."""
        found = self._read(self._decoder.finish())
        return [*found, *self._reader.finish()] if self._reader is not None else found

    def close(self) -> Sequence[ModelEvent]:
        """What the end adds where the host makes it."""
        return self._read([Stopped(stop="end", vendor=CLOSED, start=self.size, end=self.size)])

    def _read(self, events: list[ModelEvent]) -> list[ModelEvent]:
        self._seen.update(map(type, events))
        found: list[ModelEvent] = []
        for event in events:
            if isinstance(event, Failed):
                self.failure = event
            elif isinstance(event, Stopped):
                self.stop = event.stop
            if self._reader is not None:
                found += self._reader.feed(event)
        if self._reader is None:
            return events
        for event in found:
            if isinstance(event, CutOff):
                self._made_up_since = self._made_up_since or anyio.current_time()
                self._made_up += len(event.text)
        return found


def _unheard(exchange: str) -> None:
    """Nobody wants to know when a request is sent."""


@dataclass(frozen=True, slots=True)
class _Way:
    """What decides which connections a request may use."""

    provider: str
    is_tls: bool
    ca_file: str
    proxy: str | None


def _context(way: _Way) -> ssl.SSLContext:
    if not way.is_tls and (way.proxy is None or not way.proxy.startswith("https")):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used, so it need not hold all certificates
    return ssl.create_default_context(cafile=way.ca_file) if way.ca_file else httpx.create_ssl_context(trust_env=False)


async def _close(response: httpx.Response) -> None:
    with anyio.move_on_after(LINGER_SECONDS, shield=True):
        await response.aclose()
