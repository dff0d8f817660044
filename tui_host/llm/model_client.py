"""The client for providers: answers, lists of models, request previews. Imported late, with httpx."""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx
from anyio.abc import TaskGroup

from tui_host.capture import content_codings as codings
from tui_host.capture.http.httpx_tap import BEGAN, HttpxTransport, exchange_of, observed
from tui_host.capture.http.observer import Observer, header_pairs
from tui_host.capture.record import NOWHERE, Head, Place, Record, Shift, current_place
from tui_host.capture.recording import Recording
from tui_host.errors import ModelError
from tui_host.llm.answer_stream import (
    CONNECT_SECONDS,
    LINGER_SECONDS,
    AnswerBody,
    BodyAhead,
    close,
    fault_of,
    redacted,
    where,
)
from tui_host.llm.dialects.table import dialect
from tui_host.llm.events import ModelEvent
from tui_host.llm.messages import Ask
from tui_host.llm.model_request import credential_place, model_request, models_request
from tui_host.llm.outgoing import Outgoing
from tui_host.llm.protocols.tool_protocol import Reader
from tui_host.llm.provider_faults import SHORT_IDS, failure
from tui_host.settings.schema import Provider
from tui_host.settings.urls import proxy_for

LIST_SECONDS, CLOSE_SECONDS = 15.0, 2.0
_MOST_BYTES = 16 << 20  # of a list of models or a refusal


@dataclass(eq=False)
class ModelClient:
    """Talks to providers and records every byte. One object for the whole program, safe for concurrent turns.

    Each request is sent once, unchanged, without retries or redirects.
    """

    _recorder: Recording
    _environment: Mapping[str, str]
    # By provider and way to it.
    _clients: dict[tuple[object, ...], httpx.AsyncClient] = field(
        default_factory=dict[tuple[object, ...], httpx.AsyncClient]
    )
    _short_ids: set[str] = field(
        default_factory=set[str]
    )  # providers that have refused the ids which they gave themselves

    async def list_models(self, provider: Provider) -> Mapping[str, int | None]:
        """Return the models reported by a provider, as `Dialect.models`. Raises `ModelError` if it is unreachable or refuses."""
        outgoing = models_request(provider, self._environment)
        try:
            with anyio.fail_after(LIST_SECONDS):
                response = await self.send(provider, outgoing, NOWHERE)
                try:
                    return dialect(provider.dialect).models(await _body(response))
                finally:
                    await close(response)
        except httpx.HTTPError as error:
            raise fault_of(provider, outgoing, error, 0) from error
        except codings.CodingError as error:
            raise ModelError(f"the list of models cannot be read: {error}", where(provider, outgoing)) from error
        except TimeoutError:
            raise ModelError(f"no list of models within {LIST_SECONDS:g} s", where(provider, outgoing)) from None

    async def preview(self, provider: Provider, ask: Ask, *, place: Place) -> tuple[Outgoing, Record]:
        """Return the next request, and its record before redaction. Nothing is sent."""
        outgoing = await self.written(provider, ask)
        client = await self._client(provider, outgoing)
        try:
            request = _request(client, provider, outgoing, None)
        except httpx.InvalidURL as error:
            raise fault_of(provider, outgoing, error, 0) from error
        head = Head(method=request.method, url=str(request.url), headers=header_pairs(request.headers.raw))
        draft = Record(
            wire="llm", kind="request", peer=provider.name, direction="out", place=place, head=head, data=outgoing.body
        )
        return outgoing, draft

    async def written(self, provider: Provider, ask: Ask) -> Outgoing:
        """Write the request for an answer. Runs in a thread, because large images take long. Raises as `model_request`."""
        write = partial(model_request, has_short_ids=provider.name in self._short_ids)
        return await anyio.to_thread.run_sync(write, provider, ask, self._environment)

    async def send(
        self, provider: Provider, outgoing: Outgoing, place: Place, *, began: Callable[[str], None] | None = None
    ) -> httpx.Response:
        """Send a request and read the response's head; the caller closes the response.

        `began` is called with the exchange's id once the request is recorded, before it is sent. Raises `ModelError` if
        the request could not be sent or was refused.
        """
        client = await self._client(provider, outgoing)
        request: httpx.Request | None = None
        token = current_place.set(place)
        try:
            request = _request(client, provider, outgoing, began)
            response = await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            fault = fault_of(provider, outgoing, error, 0)
            fault.exchange = exchange_of(request)
            raise fault from error
        finally:
            current_place.reset(token)
        if response.is_success:
            return response
        try:
            body = await _body(response)
        except (httpx.HTTPError, codings.CodingError):
            body = b""  # the status is enough; the tap has recorded the bytes
        finally:
            await close(response)
        error = dialect(provider.dialect).error(response.status_code, header_pairs(response.headers.raw), body)
        if SHORT_IDS.search(error.what) and provider.name not in self._short_ids:
            # The next request to this provider has short ids, so the same conversation may pass.
            self._short_ids.add(provider.name)
            error.passes, error.remedy = True, "ask again: calls get ids of nine letters and digits from now on"
        error.what = redacted(error.what, outgoing)
        error.where = where(provider, outgoing)
        error.exchange = exchange_of(response.request)
        if response.status_code in {401, 403}:
            error.remedy = f"check the credential: {credential_place(provider)}"
        raise error

    async def aclose(self) -> None:
        """Close every connection, within a time."""
        with anyio.move_on_after(CLOSE_SECONDS):
            while self._clients:
                await self._clients.popitem()[1].aclose()

    async def _client(self, provider: Provider, outgoing: Outgoing) -> httpx.AsyncClient:
        is_tls = urlsplit(outgoing.url).scheme == "https"
        ca_file = str(provider.ca_file or self._environment.get("SSL_CERT_FILE") or "")
        proxy = proxy_for(outgoing.url, self._environment)
        way = (provider.name, is_tls, ca_file, proxy)
        if way not in self._clients:
            try:
                # Reading the system's certificates would block the event loop noticeably.
                context = await anyio.to_thread.run_sync(_context, is_tls or (proxy or "").startswith("https"), ca_file)
                inner = httpx.AsyncHTTPTransport(verify=context, trust_env=False, proxy=proxy)
            except httpx.InvalidURL as error:  # its text may contain part of the password
                what, remedy = "the proxy's address is no URL", "correct the proxy in the environment"
                raise ModelError(what, where(provider, outgoing), remedy) from error
            except (OSError, ValueError, ImportError) as error:
                what, remedy = "the proxy or the certificates cannot be used", "check ca_file and the proxy"
                raise ModelError(f"{what}: {error}", where(provider, outgoing), remedy) from error
            transport = HttpxTransport(Observer(self._recorder, wire="llm", peer=provider.name), inner)
            client = httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False)
            client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
            self._clients.setdefault(way, client)
        return self._clients[way]


@dataclass(slots=True, kw_only=True, eq=False)
class Stream:
    """One answer as batches of events: iterate over `batches`, within `async with`.

    Every event is given out before an error is raised, so what came stays. An answer that the provider ended with an error,
    or that broke off, raises ModelError after its last event, a `Stopped` with the reason.
    """

    client: ModelClient
    provider: Provider
    ask: Ask
    place: Place
    reader: Reader = field(default_factory=Reader)  # the tool protocol's, for this answer
    prepare: Callable[[Outgoing], None] = lambda _outgoing: None  # called with the request in a thread, before sending
    began: Callable[[str, Outgoing], None] = lambda _exchange, _outgoing: None  # called once it is recorded
    _response: httpx.Response | None = None
    _body: BodyAhead | None = None
    _made: float = field(default_factory=time.monotonic)
    _group: TaskGroup = field(default_factory=anyio.create_task_group)
    batches: AsyncGenerator[Sequence[ModelEvent]] = field(init=False)

    @property
    def heard(self) -> float:
        """When the last byte came, or the request was made, in monotonic seconds."""
        return self._made if self._body is None else self._body.heard

    @property
    def shifts(self) -> Sequence[Shift]:
        """The places of secrets taken out of the body before storage."""
        exchange = observed(self._response.request) if self._response is not None else None
        return exchange.shifts if exchange is not None else ()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self.batches = self._run()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self.batches.aclose()  # what is not read to its end is recorded as closed by the host
        finally:
            # The group must not see the error, since it would raise an exception group.
            await self._group.__aexit__(None, None, None)

    async def _run(self) -> AsyncGenerator[Sequence[ModelEvent]]:
        outgoing = await self.client.written(self.provider, self.ask)
        await anyio.to_thread.run_sync(self.prepare, outgoing)
        response = self._response = await self.client.send(
            self.provider, outgoing, self.place, began=lambda exchange: self.began(exchange, outgoing)
        )
        fault: Exception | None = None
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - the client is asynchronous
        body = self._body = BodyAhead(response.stream)  # aiter_raw would pass each piece through two layers more
        self._group.start_soon(body.run)
        try:
            decoder = dialect(self.provider.dialect).decoder(response.headers.get("content-type", ""))
            answer = AnswerBody(response.headers.get("content-encoding"), decoder, self.reader)
            try:
                while answer.stop is None and not answer.is_made_up and (data := await body.take()):
                    events = answer.feed(data + await body.rest_of_secret(observed(response.request)))
                    if events:
                        yield events
                if answer.stop is not None:
                    await body.rest(LINGER_SECONDS)
            except (httpx.HTTPError, codings.CodingError) as error:
                fault = error
            last = answer.finish()
            if last:
                yield last
        finally:
            await body.stop()
            await close(response)
        if answer.failure is not None or answer.stop == "failed":
            error = failure(answer.failure)
            error.what = redacted(error.what, outgoing)
        elif answer.stop != "cut":
            return  # a fault of the connection after a good end does not matter
        elif fault is not None:
            error = fault_of(self.provider, outgoing, fault, answer.size)
            error.passes = not answer.size and isinstance(fault, httpx.RemoteProtocolError | httpx.ReadError)
        else:
            error = ModelError(f"the answer broke off after {answer.size:,} bytes, without an end", remedy="try again")
            error.passes = not answer.size  # a refusal, but with status 200
        error.where = where(self.provider, outgoing)
        error.status, error.exchange = response.status_code, exchange_of(response.request)
        raise error from fault


def _request(
    client: httpx.AsyncClient, provider: Provider, outgoing: Outgoing, began: Callable[[str], None] | None
) -> httpx.Request:
    return client.build_request(
        outgoing.method,
        outgoing.url,
        headers=outgoing.headers,
        content=outgoing.body,
        timeout=httpx.Timeout(provider.timeout or None, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS),
        extensions={BEGAN: began},
    )


def _context(is_tls: bool, ca_file: str) -> ssl.SSLContext:  # noqa: FBT001 - called in a thread
    if not is_tls:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used, so loading certificates is needless
    return ssl.create_default_context(cafile=ca_file) if ca_file else httpx.create_ssl_context(trust_env=False)


async def _body(response: httpx.Response) -> bytes:
    content = bytearray()
    coding = codings.Decoder(response.headers.get("content-encoding"))
    async for data in response.aiter_raw():
        content += coding.feed(data)
        if len(content) >= _MOST_BYTES:
            break
    return bytes(content)
