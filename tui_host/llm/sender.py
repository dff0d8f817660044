"""Sends requests over pooled connections, recording every byte. Imported late, with httpx."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from typing import Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx

from tui_host.capture.http.httpx_tap import BEGAN, RecordingTransport, exchange_of
from tui_host.capture.http.observer import Observer, header_pairs
from tui_host.capture.record import Draft, Head, Place, current_place
from tui_host.capture.recorder_protocol import Recording
from tui_host.errors import ModelError
from tui_host.llm.exchange_errors import CONNECT_SECONDS, fault_of, where
from tui_host.llm.messages import Ask
from tui_host.llm.model_request import Outgoing, model_request
from tui_host.settings.proxy import proxy_for
from tui_host.settings.schema import Provider

LINGER_SECONDS: Final = 2.0
"""How long to wait for the end of a body after the answer has ended."""


class Sender:
    """Sends requests to providers, once and unchanged, without retries or redirects.

    Opens no connection before the first request. One object serves the whole program; safe for concurrent turns.

    Args:
        recorder: Keeps the records.
        environment: The environment in the settings, in which references and proxies are looked up when needed.
        now: Seconds since 1970.
    """

    def __init__(self, recorder: Recording, environment: Mapping[str, str], now: Callable[[], float]) -> None:
        self.environment = environment
        self.now = now
        self._recorder = recorder
        self._clients: dict[_Way, httpx.AsyncClient] = {}

    async def written(self, provider: Provider, ask: Ask) -> Outgoing:
        """Write the request for an answer. Runs in a thread, because large images take long.

        Raises:
            ModelError: As in `model_request`.
        """
        return await anyio.to_thread.run_sync(model_request, provider, ask, self.environment)

    async def send(
        self, provider: Provider, outgoing: Outgoing, place: Place, *, began: Callable[[str], None] | None = None
    ) -> httpx.Response:
        """Send a request and read the response's head; the caller closes the response.

        Args:
            provider: The provider.
            outgoing: The request.
            place: The place in the conversation for the records.
            began: Called with the exchange's id once the request is recorded, before it is sent.

        Raises:
            ModelError: The request could not be sent.
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

    async def draft(self, provider: Provider, outgoing: Outgoing, place: Place) -> Draft:
        """Return the record of a request before redaction. Nothing is sent.

        Raises:
            ModelError: The request could not be sent.
        """
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
            ca_file=str(provider.ca_file or self.environment.get("SSL_CERT_FILE") or ""),
            proxy=proxy_for(outgoing.url, self.environment),
        )
        if way not in self._clients:
            try:
                # Reading the system's certificates would block the event loop noticeably.
                context = await anyio.to_thread.run_sync(_context, way)
                inner = httpx.AsyncHTTPTransport(verify=context, trust_env=False, proxy=way.proxy)
            except httpx.InvalidURL as error:  # its text may contain part of the password
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


@dataclass(frozen=True, slots=True)
class _Way:
    """The connections to use for a request: directly, or through a proxy."""

    provider: str
    is_tls: bool
    ca_file: str
    proxy: str | None


def _context(way: _Way) -> ssl.SSLContext:
    if not way.is_tls and (way.proxy is None or not way.proxy.startswith("https")):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used, so loading certificates is needless
    return ssl.create_default_context(cafile=way.ca_file) if way.ca_file else httpx.create_ssl_context(trust_env=False)


async def close(response: httpx.Response) -> None:
    """Close the response, within a short time, even when cancelled."""
    with anyio.move_on_after(LINGER_SECONDS, shield=True):
        await response.aclose()
