"""A body is read by a task of its own: what has come is taken at once, in order, and nothing is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel

from tui_host.llm.answer_stream import MOST_WAITING, Incoming


async def body(*pieces: bytes, fault: Exception | None = None) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
    if fault is not None:
        raise fault


async def test_what_came_together_is_taken_at_once_and_then_the_end() -> None:
    incoming = Incoming(body(b"one ", b"two ", b"three"))
    async with anyio.create_task_group() as group:
        group.start_soon(incoming.run)
        assert [await incoming.take(), await incoming.take(), await incoming.take()] == [b"one two three", b"", b""]


async def test_no_more_is_read_ahead_than_has_its_room() -> None:
    read: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            read.append(1)
            yield bytes(MOST_WAITING // 4)

    incoming = Incoming(endless())
    async with anyio.create_task_group() as group:
        group.start_soon(incoming.run)
        assert len(await incoming.take()) == len(read) * MOST_WAITING // 4 == MOST_WAITING * 5 // 4
        await anyio.lowlevel.checkpoint()
        await incoming.stop()


async def test_what_is_stopped_reads_no_further() -> None:
    async def silent() -> AsyncIterator[bytes]:
        yield b"one"
        await anyio.sleep_forever()

    incoming = Incoming(silent())
    with anyio.fail_after(90):
        async with anyio.create_task_group() as group:
            group.start_soon(incoming.run)
            assert await incoming.take() == b"one"
            await incoming.rest(0)
            await incoming.stop()
            assert await incoming.take() == b""
