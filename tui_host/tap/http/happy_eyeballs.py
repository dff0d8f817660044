"""Connects to the first of a host's addresses that answers. Source: RFC 8305, sections 4 and 5.

Replaces `asyncio.create_connection`, which may leave a new connection open for a while if cancelled.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from typing import TypeAlias

import anyio

TURN_SECONDS = 0.25
"""Seconds until the next address is tried as well."""

_Place: TypeAlias = "tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]"
Address: TypeAlias = "tuple[socket.AddressFamily, socket.SocketKind, int, str, _Place]"


async def connected(host: str, port: int, allows: Callable[[str], bool]) -> socket.socket:
    """Connect to the first address of a host that answers.

    Args:
        host: A name or an IP address.
        port: The port.
        allows: Returns whether connecting to an address is allowed.

    Raises:
        OSError: No address of the host accepts a connection.
    """
    allowed = [info for info in await _addresses(host, port) if allows(str(info[4][0]))]
    if not allowed:
        raise ConnectionError("the server's metadata leads further inside a network than the server itself is")
    return await first_of(_in_turn(allowed))


async def first_of(addresses: Sequence[Address]) -> socket.socket:
    """Connect to the first address that answers, and close all other connections.

    Args:
        addresses: Addresses from `getaddrinfo`, in the order in which to try them.

    Raises:
        OSError: Every attempt failed. Raises the first error.
    """
    if len(addresses) == 1:
        return await _connected_to(addresses[0])
    sockets: list[socket.socket] = []
    faults: list[OSError] = []

    async def attempt(address: Address, failed: anyio.Event) -> None:
        try:
            sockets.append(await _connected_to(address))
        except OSError as error:
            faults.append(error)
            failed.set()
        else:
            group.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as group:
            for address in addresses:
                failed = anyio.Event()
                group.start_soon(attempt, address, failed)
                with anyio.move_on_after(TURN_SECONDS):
                    await failed.wait()
    except BaseException:
        _close(sockets)
        raise
    if not sockets:
        raise faults[0]
    _close(sockets[1:])
    return sockets[0]


async def _addresses(host: str, port: int) -> Sequence[Address]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except OSError:  # the host is a name, which only a thread can look up
        return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)


async def _connected_to(address: Address) -> socket.socket:
    family, kind, protocol, _, place = address
    connection = socket.socket(family, kind, protocol)
    try:
        connection.settimeout(0)
        await asyncio.get_running_loop().sock_connect(connection, place)
    except BaseException:
        connection.close()
        raise
    return connection


def _in_turn(addresses: Sequence[Address]) -> Sequence[Address]:
    """Order addresses so that the IP versions alternate, starting with that of the first address."""
    by_family: dict[int, list[Address]] = {}
    for address in addresses:
        by_family.setdefault(address[0], []).append(address)
    return [address for address in chain.from_iterable(zip_longest(*by_family.values())) if address is not None]


def _close(sockets: Sequence[socket.socket]) -> None:
    for connection in sockets:
        connection.close()
