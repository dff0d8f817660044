"""Limits which addresses a server's metadata may name: none deeper inside a network than the server itself.

A server with a public address must not make the relay connect to addresses that only this machine or its network can
reach. Names do not show this, so addresses are judged when connecting, and an upstream counts as the outermost address
it was reached at. Source: MCP, Security Best Practices, Server-Side Request Forgery.
"""

from __future__ import annotations

import socket
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from tui_host.settings.urls import is_loopback

_TRANSLATED = IPv6Network("64:ff9b::/96")  # RFC 6052: the last bytes are an IPv4 address


class Depth(IntEnum):
    """How deep inside a network an address is: who can reach it."""

    PUBLIC = 0
    NETWORK = 1
    MACHINE = 2


class Reach:
    """Decides which addresses an upstream's metadata may name.

    Args:
        host: The upstream's host, as written in the URL.
        is_plain: Whether the upstream is reached over plain http.
    """

    def __init__(self, host: str, *, is_plain: bool = False) -> None:
        self._plain_host = host.lower() if is_plain else None
        address = _spelled_address(host)
        self._depth = None if address is None else depth_of(address) or Depth.PUBLIC

    def allows_plain(self, host: str) -> bool:
        """Whether plain http to a host is safe: it has the upstream's name, or both are on this machine."""
        return host.lower() == self._plain_host or (self._depth == Depth.MACHINE and is_this_machine(host))

    def seen_at(self, address: str) -> None:
        """Record the address at which the upstream was reached."""
        depth = depth_of(address) or Depth.PUBLIC
        self._depth = depth if self._depth is None else min(self._depth, depth)

    def allows(self, address: str) -> bool:
        """Whether the upstream's metadata may name an address."""
        depth = depth_of(address)
        return depth is not None and depth <= (self._depth or Depth.PUBLIC)

    def allows_name(self, host: str) -> bool:
        """Whether the upstream's metadata may name a host, judged by the name alone, without looking up addresses."""
        address = _spelled_address(host)
        return address is None or self.allows(address)


def is_this_machine(host: str) -> bool:
    """Whether a host's name means this machine, without looking up addresses."""
    address = _spelled_address(host)
    return address is not None and depth_of(address) == Depth.MACHINE


def depth_of(address: str) -> Depth | None:
    """Return how deep inside a network an IP address is; None for addresses that no metadata may name."""
    inner = _innermost(ip_address(address))
    if inner.is_loopback or inner.is_unspecified:  # connecting to an unspecified address reaches this machine
        return Depth.MACHINE
    if inner.is_link_local or inner.is_multicast or inner.is_reserved:
        return None
    is_site = isinstance(inner, IPv6Address) and inner.is_site_local
    return Depth.PUBLIC if inner.is_global and not is_site else Depth.NETWORK


def _innermost(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 address contains, or else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _spelled_address(host: str) -> str | None:
    """Return the address that a host's name spells, in any notation the system accepts; None for real names."""
    if is_loopback(host) or host.lower().rstrip(".").endswith(".localhost"):
        return "127.0.0.1"
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return str(infos[0][4][0])
