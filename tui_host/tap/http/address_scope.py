"""Limits which addresses a server's metadata may name: none deeper inside a network than the server itself.

Source: MCP, Security Best Practices, Server-Side Request Forgery.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from tui_host.settings.urls import is_loopback

PUBLIC, NETWORK, MACHINE = range(3)
"""How deep inside a network an address is: who can reach it."""
_FORBIDDEN = 3
_TRANSLATED = IPv6Network("64:ff9b::/96")  # RFC 6052: the last bytes are an IPv4 address


def depth_of(address: str) -> int:
    """Return how deep inside a network an IP address is; more than any depth for addresses that nobody may name."""
    inner = ip_address(address)
    if isinstance(inner, IPv6Address):
        translated = IPv4Address(int(inner) & 0xFFFFFFFF) if inner in _TRANSLATED else None
        inner = translated or inner.ipv4_mapped or inner.sixtofour or inner
    if inner.is_loopback or inner.is_unspecified:  # connecting to an unspecified address reaches this machine
        return MACHINE
    if inner.is_link_local or inner.is_multicast or inner.is_reserved:
        return _FORBIDDEN
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
