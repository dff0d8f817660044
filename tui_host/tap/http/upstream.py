"""The relay's upstream, and ways to connect to it."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from typing_extensions import override

from tui_host.capture.http.client_faults import words_of
from tui_host.errors import SettingsError
from tui_host.settings.urls import proxy_for, shown, split
from tui_host.tap.http.address_scope import Reach, is_this_machine
from tui_host.tap.http.happy_eyeballs import connected
from tui_host.tap.message_heads import RequestHead, request_bytes

_DEFAULT_PORTS = {"http": 80, "https": 443}
_PROXY_ANSWER_LIMIT = 64 << 10
_NOT_KNOWN = "if it is your own, start the tap with --ca-file FILE"
_OTHER_NAME = "the certificate is for another name: use that name in --upstream"
_OTHER_TIME = "check this machine's clock; if it is right, the certificate has to be renewed"
_OF_CERTIFICATES = {9: _OTHER_TIME, 10: _OTHER_TIME, 62: _OTHER_NAME, 64: _OTHER_NAME}
"""Remedies for certificate errors that `--ca-file` does not solve. Source: OpenSSL, x509_vfy.h, X509_V_ERR_*."""
_NO_TLS = frozenset(("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST"))
"""OpenSSL's names, in several versions, for an answer without TLS."""


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """A server to relay to, with everything needed to connect.

    Attributes:
        url: The server's URL.
        proxy: The proxy to use, if any.
        trust: The trusted certificates; None for plain http.
        other: Makes an upstream for a URL that metadata names; raises SettingsError if it is unusable or forbidden.
        reach: Decides which addresses the upstream's metadata may name.
        within: The reach of the upstream whose metadata named this one; None for a URL that the user typed.
    """

    url: SplitResult
    proxy: SplitResult | None = None
    trust: ssl.SSLContext | None = None
    other: Callable[[str], Upstream]
    reach: Reach
    within: Reach | None = None

    @cached_property
    def origin(self) -> str:
        """Scheme, host and port, as typed."""
        return shown(self.url)

    @property
    def name(self) -> str:
        """Host and port, as typed."""
        return self.origin.partition("://")[2]

    @cached_property
    def host(self) -> bytes:
        """The value of the `Host` header."""
        return self.name.encode("idna" if not self.name.isascii() else "ascii")

    @cached_property
    def target_prefix(self) -> bytes:
        """What to put before the path of a request: empty, unless a proxy relays plain requests."""
        return self.origin.encode() if self.proxy is not None and self.trust is None else b""

    @cached_property
    def proxy_credential(self) -> bytes:
        """The header with the proxy's credential, taken from the proxy's URL; empty without a credential."""
        if self.proxy is None or self.proxy.username is None:
            return b""
        pair = f"{unquote(self.proxy.username)}:{unquote(self.proxy.password or '')}"
        return b"Proxy-Authorization: Basic " + b64encode(pair.encode()) + b"\r\n"

    def head_bytes(self, head: RequestHead) -> bytes:
        """Return a request's head as bytes. A proxy gets a whole URL, and for `*` a URL without a path (RFC 9112, 3.2.4).

        Raises:
            HeadError: The target or a header's value contains a line break.
        """
        if not self.target_prefix:
            return request_bytes(head)
        block = request_bytes(head, self.target_prefix + head.target.removeprefix(b"*"))
        return block[:-2] + self.proxy_credential + b"\r\n" if self.proxy_credential else block

    def failure_words(self, error: OSError | UnicodeError) -> str:
        """Describe why a connection failed."""
        if isinstance(error, ssl.SSLCertVerificationError):
            reason = f"{error.reason}: {error.verify_message}"
            return f"{self.origin} is not trusted: {reason} ({_OF_CERTIFICATES.get(error.verify_code, _NOT_KNOWN)})"
        if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
            plain = self.origin.replace("https:", "http:", 1)
            return f"{self.origin} does not answer in TLS: {error.reason} (if it has none, write --upstream {plain}/…)"
        return f"{self.origin} could not be reached: {words_of(error)}"

    def is_at(self, port: int) -> bool:
        """Whether the upstream's URL is a port of this machine."""
        host, own = _address(self.url)
        return own == port and is_this_machine(host)

    async def connect(self, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        """Connect to the upstream.

        Args:
            protocol: Makes the protocol for the connection.

        Raises:
            OSError: The upstream cannot be reached, or its certificate is not trusted.
        """
        if self.proxy is None:
            await self._directly(protocol)
        elif self.trust is None:
            await asyncio.get_running_loop().create_connection(protocol, *_address(self.proxy))
        else:
            await self._through(self.proxy, self.trust, protocol)

    async def _directly(self, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        loop = asyncio.get_running_loop()
        host, port = _address(self.url)
        name = host if self.trust is not None else None
        within = self.within
        made = await connected(host, port, lambda address: within is None or within.allows(address))
        transport, _ = await loop.create_connection(protocol, sock=made, ssl=self.trust, server_hostname=name)
        seen = transport.get_extra_info("peername")
        if within is None and seen is not None:  # the connection is still open
            self.reach.seen_at(str(seen[0]))

    async def _through(
        self, proxy: SplitResult, trust: ssl.SSLContext, protocol: Callable[[], asyncio.BaseProtocol]
    ) -> None:
        """Connect through a tunnel that a proxy opens. Source: RFC 9110, section 9.3.6."""
        host, port = _address(self.url)
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        loop = asyncio.get_running_loop()
        plain, proxys_end = await loop.create_connection(_ProxyAnswer, *_address(proxy))
        try:
            plain.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n".encode() + self.proxy_credential + b"\r\n")
            await proxys_end.consent()
            made = protocol()
            transport = await loop.start_tls(plain, made, trust, server_hostname=host)
        except BaseException:
            plain.abort()
            raise
        if transport is None:
            raise ConnectionError("the connection ended while it was being encrypted")
        made.connection_made(transport)


class _ProxyAnswer(asyncio.Protocol):
    """Reads a proxy's answer to `CONNECT`. A `StreamReader` would close the connection when it is garbage-collected."""

    def __init__(self) -> None:
        self._answer = b""
        self._has_answered = asyncio.Event()

    @override
    def data_received(self, data: bytes) -> None:
        self._answer += data
        if b"\r\n\r\n" in self._answer or len(self._answer) > _PROXY_ANSWER_LIMIT:
            self._has_answered.set()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._has_answered.set()

    async def consent(self) -> None:
        """Wait until the proxy agrees.

        Raises:
            ConnectionError: The proxy refuses, or ends the connection.
        """
        await self._has_answered.wait()
        line = self._answer.partition(b"\r\n")[0].decode("latin-1")
        if line.split(" ")[1:2] != ["200"]:
            raise ConnectionError(f"the proxy said {line[:200]!r}")


def _address(url: SplitResult) -> tuple[str, int]:
    return url.hostname or "", url.port or _DEFAULT_PORTS[url.scheme]


def upstream_of(typed: str, environment: Mapping[str, str], ca_file: Path | None = None) -> Upstream:
    """Make an upstream from a URL on the command line.

    Raises:
        SettingsError: The URL or the environment's proxy is unusable, or a certificate cannot be read.
    """
    return _upstream(typed, environment, cache(lambda: _trust(ca_file, environment)), None)


def _upstream(
    url_of: str, environment: Mapping[str, str], trust: Callable[[], ssl.SSLContext], within: Reach | None
) -> Upstream:
    where = "--upstream"
    url = split(url_of, where=where)
    if url.username is not None or url.query or url.fragment:
        raise SettingsError(
            "a URL with a user, a query or a fragment in it", where, "leave these to the host that uses the tap"
        )
    if within is not None and not _may_be_named(url, within):
        raise SettingsError("metadata may not lead to this URL", where, "leave it to the host that uses the tap")
    reach = Reach(url.hostname or "", is_plain=url.scheme == "http")
    return Upstream(
        url=url,
        proxy=_proxy(url_of, environment),
        trust=trust() if url.scheme == "https" else None,
        other=lambda named: _upstream(named, environment, trust, reach),
        reach=reach,
        within=within,
    )


def _may_be_named(url: SplitResult, within: Reach) -> bool:
    """Whether metadata may name a URL: it has to use TLS, or be on the server's own machine."""
    host = url.hostname or ""
    return (url.scheme == "https" or within.allows_plain(host)) and within.allows_name(host)


def _proxy(typed: str, environment: Mapping[str, str]) -> SplitResult | None:
    typed_proxy = proxy_for(typed, environment)
    if not typed_proxy:
        return None
    remedy = "correct or unset it, or name the upstream's host in NO_PROXY"
    try:
        proxy = urlsplit(typed_proxy)
        is_one = bool(proxy.hostname) and (proxy.port is None or proxy.port > 0)
    except ValueError:
        raise SettingsError("the proxy's address is not a URL", "the environment", remedy) from None
    if not is_one:
        raise SettingsError("the proxy's address is not a URL", "the environment", remedy)
    if proxy.scheme != "http":
        raise SettingsError(f"a proxy of the kind {proxy.scheme}", "the environment", remedy)
    return proxy


def _trust(ca_file: Path | None, environment: Mapping[str, str]) -> ssl.SSLContext:
    named = str(ca_file or environment.get("SSL_CERT_FILE") or "")
    try:
        trust = ssl.create_default_context(cafile=named or None)
    except OSError as error:
        raise SettingsError(
            f"{named}: {error.strerror or error}", "--ca-file", "name a file of certificates"
        ) from error
    trust.set_alpn_protocols(["http/1.1"])
    return trust
