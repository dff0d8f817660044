"""How a relay connects: to whichever address takes it first, and leaving nothing behind. Source: RFC 8305."""

from __future__ import annotations

import errno
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tui_host.tap.http.happy_eyeballs import Address, connected, first_of


def found(port: int) -> Address:
    return socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port)


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@asynccontextmanager
async def silent() -> AsyncGenerator[int]:
    """A port that says nothing to who connects: it has more waiting than it has room for."""
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for each in (first, second):
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


async def test_where_an_address_refuses_or_says_nothing_the_next_one_is_connected_to(free_tcp_port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        async with silent() as unheard:
            before = descriptors()
            for others in ((), (free_tcp_port,), (unheard,), (unheard, free_tcp_port, unheard)):
                with await first_of([*map(found, others), found(port), found(unheard)]) as made:
                    assert made.getpeername() == listener.getsockname()
                    assert descriptors() == before + 1
            assert descriptors() == before


async def test_where_all_addresses_refuse_it_is_told_why(free_tcp_port: int) -> None:
    with pytest.raises(ConnectionRefusedError) as refused:
        await first_of([found(free_tcp_port), found(free_tcp_port)])
    assert refused.value.errno == errno.ECONNREFUSED


async def test_a_name_is_connected_to_by_one_of_its_addresses_that_is_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with await connected("localhost", port, lambda address: ":" not in address) as made:
            assert made.getpeername() == listener.getsockname()
        with pytest.raises(ConnectionError, match="further inside"):
            await connected("localhost", port, lambda _address: False)
