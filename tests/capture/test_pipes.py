"""Pipes on the event loop: what is written arrives in order, what nobody takes is not read, what nobody reads waits."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import IO

import anyio
import anyio.lowlevel
import pytest

from tests.capture.wires import Kept
from tui_host.capture.record import NOWHERE
from tui_host.capture.stdio import pipes
from tui_host.capture.stdio.lines import Lines
from tui_host.capture.stdio.pipes import LineWriter, chunks
from tui_host.errors import JSON

LARGE = b"x" * 300_000 + b"\n"
PING: dict[str, JSON] = {"jsonrpc": "2.0", "method": "ping"}


class Written:
    """Lines sent through a writer, and what was recorded of them."""

    def __init__(self, source: IO[bytes], sink: IO[bytes]) -> None:
        self.source = source
        self.kept = Kept()
        self.writer = LineWriter(sink, Lines(self.kept, peer="math", connection="math#1"), lambda: None)

    async def send(self, *lines: bytes) -> None:
        for line in lines:
            await self.writer.send(line, PING, NOWHERE)

    def recorded(self) -> list[bytes]:
        return [draft.data for draft in self.kept.of("frame")]

    async def read(self, size: int) -> bytes:
        data = b""
        async for chunk in chunks(self.source):
            data += chunk
            if len(data) >= size:
                break
        return data

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def writing() -> AsyncGenerator[Written]:
    reading, to_write = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as source, os.fdopen(to_write, "wb", buffering=0) as sink:
        written = Written(source, sink)
        with anyio.fail_after(90):
            async with anyio.create_task_group() as group:
                group.start_soon(written.writer.run)
                yield written
                written.writer.close()


async def test_lines_are_written_where_they_are_sent_or_whole_and_in_order_as_soon_as_there_is_room() -> None:
    async with writing() as written:
        await written.send(b"{}\n")
        assert os.read(written.source.fileno(), 100) == b"{}\n"
        lines = [LARGE, b"1\n", LARGE, b"2\n"]
        await written.send(*lines)
        assert written.recorded() == [b"{}\n", LARGE]  # the others are not on their way yet
        assert await written.read(sum(map(len, lines))) == b"".join(lines)
        assert written.recorded() == [b"{}\n", *lines]
        assert written.writer.waiting == 0


async def test_that_nobody_reads_is_told_until_somebody_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "UNREAD_SECONDS", 0.0)
    async with writing() as written:
        await written.send(LARGE)
        await written.until(lambda: written.writer.unread_since is not None)
        await written.read(len(LARGE))
        await written.until(lambda: written.writer.unread_since is None)


async def test_a_sender_waits_while_too_much_waits_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "WRITES_WAITING", 100_000)
    async with writing() as written, anyio.create_task_group() as group:
        await written.send(LARGE)
        with anyio.move_on_after(0.01) as scope:
            await written.send(b"1\n")
        assert scope.cancelled_caught
        group.start_soon(written.send, b"2\n")
        assert await written.read(len(LARGE) + 2) == LARGE + b"2\n"


async def test_nothing_is_sent_to_a_pipe_that_is_closed_at_either_end() -> None:
    async with writing() as written:
        written.source.close()
        await written.send(b"1\n")  # whether that is the server's end its output will tell
        with pytest.raises(anyio.ClosedResourceError):
            await written.send(b"2\n")
