"""The relay's upstream, the servers that its metadata may name, and ways to connect to them.

Metadata may name no address deeper inside a network than the server itself has. Source: MCP, Security Best Practices,
Server-Side Request Forgery.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from tui_host.capture.http.client_faults import words_of
from tui_host.errors import SettingsError
from tui_host.settings.urls import is_loopback, proxy_for, shown, split
from tui_host.tap.http_messages import MessageHead

PUBLIC, NETWORK, MACHINE, FORBIDDEN = range(4)
"""How deep inside a network an address is: who can reach it; nobody may name the last ones."""
_TRANSLATED = IPv6Network("64:ff9b::/96")  # RFC 6052: the last bytes are an IPv4 address
Protocols = Callable[[], asyncio.BaseProtocol]
_NEXT_ADDRESS_SECONDS = 0.25  # until the next address of a host is tried as well: RFC 8305, section 8
_OF_UNKNOWN_ISSUER = range(18, 22)  # X509_V_ERR_* of OpenSSL's x509_vfy.h
# OpenSSL's names, in several versions, for an answer without TLS.
_NO_TLS = frozenset(("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST"))


class Upstream:
    """A server to relay to: one that the user named, or one that the metadata of `named_by` names.

    Raises SettingsError if the URL or the environment's proxy is unusable, or a certificate cannot be read.
    """

    def __init__(
        self,
        url: str,
        environment: Mapping[str, str],
        ca_file: Path | None = None,
        named_by: Upstream | None = None,
    ) -> None:
        self.url = split(url, where="--upstream")
        if self.url.username is not None or self.url.query or self.url.fragment:
            what, remedy = "a URL with a user, a query or a fragment in it", "leave these to the host that uses the tap"
            raise SettingsError(what, "--upstream", remedy)
        self.origin = shown(self.url)
        self.name = self.origin.partition("://")[2]
        self.host = self.name.encode("ascii" if self.name.isascii() else "idna")
        authorities = str(ca_file or environment.get("SSL_CERT_FILE") or "")
        self.trust = _trusting(authorities) if self.url.scheme == "https" else None
        self._proxy: SplitResult | None = None
        if typed := proxy_for(url, environment):
            with suppress(ValueError):  # of a port that is no number
                proxy = urlsplit(typed)
                if proxy.scheme == "http" and proxy.hostname and proxy.port != 0:
                    self._proxy = proxy
            if self._proxy is None:
                remedy = "correct or unset it, or name the upstream's host in NO_PROXY"
                raise SettingsError("the proxy's address is no http URL", "the environment", remedy)
        self._environment, self._ca_file, self._named_by = environment, ca_file, named_by
        self.depth = depth_of_name(self.url.hostname or "")
        if self.depth == FORBIDDEN:  # the user may name it, which gives it no rights
            self.depth = PUBLIC

    def other(self, origin: str) -> Upstream:
        """Return another server, which this one's metadata has named. Raises SettingsError if that is forbidden."""
        named = Upstream(origin, self._environment, self._ca_file, self)
        host = named.url.hostname or ""
        depth = depth_of_name(host)
        # It is reached with TLS, or beside this one; and no deeper in a network as its name is spelled.
        is_beside = host == self.url.hostname or (self.depth == MACHINE and depth == MACHINE)
        is_safe = named.trust is not None or (self.trust is None and is_beside)
        if not is_safe or (depth or PUBLIC) > (self.depth or PUBLIC):
            raise SettingsError("metadata may not lead to this URL")
        return named

    def head_bytes(self, head: MessageHead) -> bytes:
        """Return a request's head as bytes. A proxy gets a whole URL, and for `*` one without a path (RFC 9112, 3.2.4)."""
        if self._proxy is None or self.trust is not None:
            return head.block
        block = head.with_target(self.origin.encode() + head.target.removeprefix(b"*")).block
        return block.removesuffix(head.end) + _proxy_credential(self._proxy) + head.end

    def failure_words(self, error: Exception) -> str:
        """Describe why a connection failed."""
        if isinstance(error, ssl.SSLCertVerificationError):
            is_unknown = error.verify_code in _OF_UNKNOWN_ISSUER
            remedy = " (if it is your own, start the tap with --ca-file FILE)" if is_unknown else ""
            return f"{self.origin} is not trusted: {error.reason}: {error.verify_message}{remedy}"
        if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
            plain = self.origin.replace("https:", "http:", 1)
            return f"{self.origin} does not answer in TLS: {error.reason} (if it has none, write --upstream {plain}/…)"
        return f"{self.origin} could not be reached: {words_of(error)}"

    async def connect(self, protocol: Protocols) -> None:
        """Connect, directly or through the environment's proxy. Raises OSError where that fails, or trust is missing."""
        loop, (name, port) = asyncio.get_running_loop(), _address(self.url)
        if self._proxy is not None and self.trust is not None:
            tunnel = await self._tunnel(self._proxy)
            await loop.create_connection(protocol, sock=tunnel, ssl=self.trust, server_hostname=name)
            return
        if self._proxy is not None:
            await loop.create_connection(protocol, *_address(self._proxy))
            return
        hosts = [name]
        if self._named_by is not None:
            # To an address that metadata may name. It is looked up once, so that it cannot change in between.
            infos = await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM)
            addresses = [str(info[4][0]) for info in infos]
            hosts = [address for address in addresses if depth_of(address) <= (self._named_by.depth or PUBLIC)]
        fault: OSError = ConnectionError("the server's metadata leads further inside a network than the server is")
        tls_name, delay = name if self.trust is not None else None, _NEXT_ADDRESS_SECONDS
        for host in hosts:
            try:
                transport, _ = await loop.create_connection(
                    protocol, host, port, ssl=self.trust, server_hostname=tls_name, happy_eyeballs_delay=delay
                )
            except OSError as error:
                fault = error
                continue
            peer = transport.get_extra_info("peername")
            if self._named_by is None and peer is not None:  # the connection is still open
                depth = depth_of(str(peer[0]))
                # It counts as the outermost address at which it was reached, since a name may change its addresses.
                self.depth = min(PUBLIC if depth == FORBIDDEN else depth, depth if self.depth is None else self.depth)
            return
        raise fault

    async def _tunnel(self, proxy: SplitResult) -> socket.socket:
        """Connect through a tunnel that a proxy opens. Source: RFC 9110, section 9.3.6."""
        loop = asyncio.get_running_loop()
        host, port = _address(self.url)
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        asked = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n".encode() + _proxy_credential(proxy) + b"\r\n"
        answer = b""
        family = socket.AF_INET6 if ":" in (proxy.hostname or "") else socket.AF_INET
        connection = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            connection.settimeout(0)
            await loop.sock_connect(connection, _address(proxy))
            await loop.sock_sendall(connection, asked)
            # Byte by byte, since what follows the head is the upstream's.
            while not answer.endswith(b"\r\n\r\n") and (byte := await loop.sock_recv(connection, 1)):
                answer += byte
        except BaseException:
            connection.close()
            raise
        line = answer.partition(b"\r\n")[0].decode("latin-1")
        if line.split(" ")[1:2] != ["200"]:
            connection.close()
            raise ConnectionError(f"the proxy said {line[:200]!r}")
        return connection


@cache
def _trusting(authorities: str) -> ssl.SSLContext:
    """Return what trusts the certificates in a file, or without one those of the system. Raises SettingsError if it is unusable."""
    try:
        context = ssl.create_default_context(cafile=authorities or None)
    except OSError as error:
        what = f"{authorities}: {error.strerror or error}"
        raise SettingsError(what, "--ca-file", "name a file of certificates") from error
    context.set_alpn_protocols(["http/1.1"])
    return context


def depth_of(address: str) -> int:
    """Return how deep inside a network an IP address is."""
    inner = ip_address(address)
    if isinstance(inner, IPv6Address):
        translated = IPv4Address(int(inner) & 0xFFFFFFFF) if inner in _TRANSLATED else None
        inner = translated or inner.ipv4_mapped or inner.sixtofour or inner
    if inner.is_loopback or inner.is_unspecified:  # connecting to an unspecified address reaches this machine
        return MACHINE
    if inner.is_link_local or inner.is_multicast or inner.is_reserved:
        return FORBIDDEN
    is_site = isinstance(inner, IPv6Address) and inner.is_site_local
    return PUBLIC if inner.is_global and not is_site else NETWORK


def depth_of_name(host: str) -> int | None:
    """Return the depth that a host's name spells, in any notation the system accepts; None for names to be looked up."""
    if is_loopback(host) or host.lower().rstrip(".").endswith(".localhost"):
        return MACHINE
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return depth_of(str(infos[0][4][0]))


def _address(url: SplitResult) -> tuple[str, int]:
    return url.hostname or "", url.port or {"http": 80, "https": 443}[url.scheme]


def _proxy_credential(proxy: SplitResult) -> bytes:
    """Return the header with the credential in a proxy's URL; empty without one."""
    if proxy.username is None:
        return b""
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return b"Proxy-Authorization: Basic " + b64encode(pair.encode()) + b"\r\n"
