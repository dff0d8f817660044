"""Limits for addresses named in metadata: no further inside a network than the server that names them.

A server at a public address must not have the relay ask what only this machine or its network can reach. Names do not tell, so the addresses
are judged at the moment of connecting, and an upstream counts as the outermost address it was seen at.
Source: MCP, Security Best Practices, Server-Side Request Forgery.
"""

from __future__ import annotations

import socket
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from tui_host.settings.urls import is_loopback

_TRANSLATED = IPv6Network("64:ff9b::/96")  # RFC 6052: an IPv4 address stands in its end


class Depth(IntEnum):
    """From where an address can be reached."""

    PUBLIC = 0
    NETWORK = 1
    MACHINE = 2


class Reach:
    """Places that an upstream may name.

    Args:
        host: The upstream's host, as spelled in the URL.
        is_plain: The upstream is asked over http.
    """

    def __init__(self, host: str, *, is_plain: bool = False) -> None:
        self._plain_host = host.lower() if is_plain else None
        address = _spelled(host)
        self._depth = None if address is None else depth_of(address) or Depth.PUBLIC

    def allows_plain(self, host: str) -> bool:
        """Whether http will do: on the upstream's own machine, judging by names, or on this machine for a local upstream."""
        return host.lower() == self._plain_host or (self._depth == Depth.MACHINE and is_here(host))

    def seen_at(self, address: str) -> None:
        """Note where the upstream was reached."""
        depth = depth_of(address) or Depth.PUBLIC
        self._depth = depth if self._depth is None else min(self._depth, depth)

    def allows(self, address: str) -> bool:
        """Whether the upstream may name an address."""
        depth = depth_of(address)
        return depth is not None and depth <= (self._depth or Depth.PUBLIC)

    def allows_name(self, host: str) -> bool:
        """Whether the upstream may name a host, judging by the name alone and not by the host's addresses."""
        address = _spelled(host)
        return address is None or self.allows(address)


def is_here(host: str) -> bool:
    """Whether a host's name alone means this machine."""
    address = _spelled(host)
    return address is not None and depth_of(address) == Depth.MACHINE


def depth_of(address: str) -> Depth | None:
    """From where an IP address can be reached; None for addresses that nobody may name."""
    inner = _innermost(ip_address(address))
    if inner.is_loopback or inner.is_unspecified:  # whoever connects to the latter comes to this machine
        return Depth.MACHINE
    if inner.is_link_local or inner.is_multicast or inner.is_reserved:
        return None
    is_site = isinstance(inner, IPv6Address) and inner.is_site_local
    return Depth.PUBLIC if inner.is_global and not is_site else Depth.NETWORK


def _innermost(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address behind an IPv6 address, or the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _spelled(host: str) -> str | None:
    """The address that a host's name spells, in every notation of the system; None for real names."""
    if is_loopback(host) or host.lower().rstrip(".").endswith(".localhost"):
        return "127.0.0.1"
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return str(infos[0][4][0])
