"""What comes in pieces or stays half at either end of a relay is there at the other, and ends there as it did."""

from __future__ import annotations

import anyio
import pytest

from tests.tap.relaying import Kept, ending, peer, relaying, request, rest_of, until, until_has


@pytest.mark.parametrize("way", ["closed", "reset"])
@pytest.mark.parametrize("half", [b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 1"])
async def test_half_a_head_is_left_to_the_client(half: bytes, way: str) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    taken = anyio.Event()

    async def script(stream: Kept) -> None:
        await stream.head()
        await stream.send(hints + half)
        await taken.wait()
        if way == "reset":
            stream.reset()

    async with peer(script) as up, relaying(up.origin) as relay, await relay.client() as client:
        await client.send(request(relay.host))
        got = await until_has(client, hints)
        taken.set()
        with anyio.fail_after(20):
            while got != hints + half:
                got += await client.receive()
            with pytest.raises(anyio.BrokenResourceError if way == "reset" else anyio.EndOfStream):
                await client.receive()
    assert ending(relay).reason == "cut by peer"


async def test_a_client_that_changes_the_protocol_and_has_said_all_before_it_is_answered_is_heard() -> None:
    asked = anyio.Event()
    said = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"

    async def script(stream: Kept) -> None:
        await stream.head()
        await asked.wait()
        await stream.send(said)
        await stream.send(b"heard " + await rest_of(stream))

    async with peer(script) as up, relaying(up.origin) as relay, await relay.client() as client:
        more = b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        await client.send(b"GET /v1/realtime HTTP/1.1\r\nHost: %s\r\n" % relay.host + more)
        await until(lambda: bool(up.received and up.received[0]))
        await client.send(b"\x81early")
        await client.send_eof()
        asked.set()
        with anyio.fail_after(20):
            assert await rest_of(client) == said + b"heard \x81early"
