"""Sends requests to providers over pooled connections, recording every byte, and words what fails. Imported late, with httpx."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from typing import Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx

from tui_host.capture import content_codings as codings
from tui_host.capture.http.client_faults import words_of
from tui_host.capture.http.httpx_tap import BEGAN, RecordingTransport, exchange_of
from tui_host.capture.http.observer import Observer, header_pairs
from tui_host.capture.record import Draft, Head, Place, current_place
from tui_host.capture.recorder_protocol import Recording
from tui_host.capture.redact.redaction import mark
from tui_host.errors import ModelError
from tui_host.llm.dialects.table import dialect
from tui_host.llm.messages import Ask
from tui_host.llm.model_request import credential_place, model_request
from tui_host.llm.outgoing import Outgoing
from tui_host.llm.provider_faults import SHORT_IDS
from tui_host.settings.proxy import proxy_for
from tui_host.settings.schema import Provider

LINGER_SECONDS: Final = 2.0
"""How long to wait for the end of a body after the answer has ended."""
CONNECT_SECONDS: Final = 10.0
_REFUSAL_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Way:
    """The connections to use for a request: directly, or through a proxy."""

    provider: str
    is_tls: bool
    ca_file: str
    proxy: str | None


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
        self._now = now
        self._recorder = recorder
        self._clients: dict[_Way, httpx.AsyncClient] = {}
        self._short_ids: set[str] = set()  # providers that have refused the ids which they gave themselves

    async def written(self, provider: Provider, ask: Ask) -> Outgoing:
        """Write the request for an answer. Runs in a thread, because large images take long. Raises as `model_request`."""
        write = partial(model_request, has_short_ids=provider.name in self._short_ids)
        return await anyio.to_thread.run_sync(write, provider, ask, self.environment)

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
            fault.exchange = exchange_of(request) if request is not None else None
            raise fault from error
        finally:
            current_place.reset(token)
        if not response.is_success:
            try:
                raise await self._refusal(provider, outgoing, response)
            finally:
                await close(response)
        return response

    async def draft(self, provider: Provider, outgoing: Outgoing, place: Place) -> Draft:
        """Return the record of a request before redaction. Nothing is sent. Raises `ModelError` if it could not be sent."""
        client = await self._client(provider, outgoing)
        try:
            request = _request(client, provider, outgoing, None)
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
                what, remedy = "the proxy or the certificates cannot be used", "check ca_file and the proxy"
                raise ModelError(f"{what}: {error}", where(provider, outgoing), remedy) from error
            transport = RecordingTransport(Observer(self._recorder, wire="llm", peer=provider.name), inner)
            client = httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False)
            client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
            self._clients.setdefault(way, client)
        return self._clients[way]

    async def _refusal(self, provider: Provider, outgoing: Outgoing, response: httpx.Response) -> ModelError:
        """Make the error for a response with a bad status, whose body is read here."""
        try:
            body = await read_body(response, _REFUSAL_BYTES)
        except (httpx.HTTPError, codings.CodingError):
            body = b""  # the status is enough; the tap has recorded the bytes
        headers = header_pairs(response.headers.raw)
        if "date" not in response.headers:
            headers = (*headers, ("date", formatdate(self._now(), usegmt=True)))
        error = dialect(provider.dialect).error(response.status_code, headers, body)
        if SHORT_IDS.search(error.what) and provider.name not in self._short_ids:
            # The next request to this provider has short ids, so the same conversation may pass.
            self._short_ids.add(provider.name)
            error.passes, error.remedy = True, "ask again: calls get ids of nine letters and digits from now on"
        error.what = redacted(error.what, outgoing)
        error.where = where(provider, outgoing)
        error.exchange = exchange_of(response)
        if response.status_code in {401, 403}:
            error.remedy = f"check the credential: {credential_place(provider)}"
        return error


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


def _context(way: _Way) -> ssl.SSLContext:
    if not way.is_tls and (way.proxy is None or not way.proxy.startswith("https")):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used, so loading certificates is needless
    return ssl.create_default_context(cafile=way.ca_file) if way.ca_file else httpx.create_ssl_context(trust_env=False)


async def close(response: httpx.Response) -> None:
    """Close the response, within a short time, even when cancelled."""
    with anyio.move_on_after(LINGER_SECONDS, shield=True):
        await response.aclose()


async def read_body(response: httpx.Response, limit: int) -> bytes:
    """Read a whole body, up to a limit. Raises `CodingError` if the body cannot be decoded."""
    content = bytearray()
    coding = codings.decoder(response.headers.get("content-encoding"))
    async for data in response.aiter_raw():
        content += coding.feed(data)
        if len(content) >= limit:
            break
    return bytes(content[:limit])


def where(provider: Provider, outgoing: Outgoing) -> str:
    """Return the provider's name with scheme, host and port, to say where an error happened."""
    return f"{provider.name} ({outgoing.origin})"


def redacted(text: str, outgoing: Outgoing) -> str:
    """Remove the key from a provider's message, since some providers repeat the key."""
    secret = outgoing.secret
    return text.replace(secret.reveal(), mark(secret.name)) if secret is not None else text


def fault_of(provider: Provider, outgoing: Outgoing, error: Exception, size: int) -> ModelError:
    """Describe a connection error for the user, after `size` bytes of the answer."""
    words = redacted(words_of(error), outgoing)
    remedy = "try again"
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        what = f"no connection within {CONNECT_SECONDS:g} s"
    elif isinstance(error, httpx.TimeoutException):
        what = f"no byte for {provider.timeout:g} s, after {size:,} bytes"
        remedy = f"try again, or raise providers.{provider.name}.timeout"
    elif "CERTIFICATE_VERIFY_FAILED" in words:
        what = f"its certificate cannot be verified: {words}"
        remedy = f"set providers.{provider.name}.ca_file to the certificate that signed it, if you trust it"
    elif isinstance(error, httpx.ConnectError):
        what, remedy = f"cannot connect: {words}", "is it running? check base_url"
    elif isinstance(error, httpx.HTTPError) and size:
        what = f"the answer broke off after {size:,} bytes: {words}"
    else:
        what = f"the exchange failed: {words}"
    return ModelError(what, where(provider, outgoing), remedy)
