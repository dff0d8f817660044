"""What the upstream does not take in is not read from the client: it would stand in the tap's memory, however large it is."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.tap.relaying import Relaying, answer, relaying, until, until_has

LIMITS = Path("/proc/sys/net/ipv4")


def most(name: str, otherwise: int) -> int:
    """Bytes that the system itself holds of one way of a connection, at most. Source: Linux, tcp(7), tcp_rmem and tcp_wmem."""
    limits = LIMITS / name
    return int(limits.read_text().split()[2]) if limits.exists() else otherwise


ROOM = 2 * most("tcp_wmem", 4 << 20) + most("tcp_rmem", 6 << 20) + (4 << 20)
"""Bytes that stand outside the tap, at most: on both its sides, and next to none at the upstream."""
SIZE = ROOM + (8 << 20)


@asynccontextmanager
async def far_away() -> AsyncGenerator[socket.socket]:
    """A listener whose connections hold little that nobody reads, as those to other machines do."""
    with socket.socket() as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        yield listener


def head(relay: Relaying, size: int) -> bytes:
    return b"POST /v1/files HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n" % (relay.host, size)


@pytest.mark.exhaustive
@pytest.mark.parametrize("unread", [0, 2 << 20])
async def test_what_the_upstream_does_not_take_is_not_read_from_the_client(unread: int) -> None:
    """Neither before it is connected to, nor behind a request that it has answered and not read."""
    loop = asyncio.get_running_loop()
    sent = came = 0

    async def send(data: bytes) -> None:
        nonlocal sent
        for at in range(0, len(data), 1 << 20):
            await client.send(data[at : at + (1 << 20)])
            sent += 1 << 20

    async with (
        far_away() as listener,
        relaying(f"http://127.0.0.1:{listener.getsockname()[1]}") as relay,
        await relay.client() as client,
        anyio.create_task_group() as group,
    ):
        if unread:
            await client.send(head(relay, unread) + bytes(unread))
        else:
            group.start_soon(send, head(relay, SIZE) + bytes(SIZE))
        accepted, _ = await loop.sock_accept(listener)
        with accepted:
            if unread:
                await loop.sock_sendall(accepted, answer(b"no"))
                await until_has(client, b"no")
                group.start_soon(send, head(relay, SIZE) + bytes(SIZE))
            seen, still = -1, 0
            while still < 10:  # until nothing moves any more
                seen, still = sent, still + 1 if seen == sent and sent else 0
                await anyio.sleep(0.03)
            assert sent < ROOM
            while came < unread + SIZE:
                came += len(await loop.sock_recv(accepted, 1 << 20))
            await until(lambda: sent >= SIZE)
