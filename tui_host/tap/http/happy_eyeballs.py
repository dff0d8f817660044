"""Connecting to the first of a host's addresses to answer. Source: RFC 8305, sections 4 and 5.

asyncio's own way to do that forgets a connection that it has just made where nobody wants it any more: it stays open for a while.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from typing import TypeAlias

import anyio

TURN_SECONDS = 0.25
"""How long an address may take before the next is tried too."""

_Address: TypeAlias = "tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]"
Found: TypeAlias = "tuple[socket.AddressFamily, socket.SocketKind, int, str, _Address]"


async def connected(host: str, port: int, allows: Callable[[str], bool]) -> socket.socket:
    """Connect to a host by any of its addresses.

    Args:
        host: A name or an address.
        port: The port.
        allows: Whether an address may be connected to.

    Raises:
        OSError: No address can be connected to.
    """
    allowed = [info for info in await _addresses(host, port) if allows(str(info[4][0]))]
    if not allowed:
        raise ConnectionError(
            "an address further inside than the server's own, whose metadata therefore does not lead there"
        )
    return await _connected_to(allowed[0]) if len(allowed) == 1 else await first_of(_in_turn(allowed))


async def first_of(found: Sequence[Found]) -> socket.socket:
    """Connect to the first address to answer, closing all further connections.

    Args:
        found: Addresses from `getaddrinfo`, in the order of the attempts.

    Raises:
        OSError: Every attempt failed; the first error.
    """
    made: list[socket.socket] = []
    faults: list[OSError] = []

    async def attempt(one: Found, failed: anyio.Event) -> None:
        try:
            made.append(await _connected_to(one))
        except OSError as error:
            faults.append(error)
            failed.set()
        else:
            group.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as group:
            for info in found:
                failed = anyio.Event()
                group.start_soon(attempt, info, failed)
                with anyio.move_on_after(TURN_SECONDS):
                    await failed.wait()
    except BaseException:
        _close(made)
        raise
    if not made:
        raise faults[0]
    _close(made[1:])
    return made[0]


async def _addresses(host: str, port: int) -> Sequence[Found]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except OSError:  # it is a name, for which a thread has to wait
        return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)


async def _connected_to(found: Found) -> socket.socket:
    family, kind, protocol, _, address = found
    made = socket.socket(family, kind, protocol)
    try:
        made.settimeout(0)
        await asyncio.get_running_loop().sock_connect(made, address)
    except BaseException:
        made.close()
        raise
    return made


def _in_turn(found: Sequence[Found]) -> Sequence[Found]:
    """The addresses of each family by turns, beginning with the first one's."""
    families = list(dict.fromkeys(info[0] for info in found))
    of_each = [[info for info in found if info[0] == family] for family in families]
    return [info for info in chain.from_iterable(zip_longest(*of_each)) if info is not None]


def _close(sockets: Sequence[socket.socket]) -> None:
    for made in sockets:
        made.close()
