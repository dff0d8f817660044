"""Pipes on the event loop: what is written arrives in order, what nobody takes is not read, what nobody reads waits."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import IO

import anyio
import anyio.lowlevel
import pytest

from tui_host.capture.record import NOWHERE, Place
from tui_host.capture.stdio import pipes
from tui_host.capture.stdio.pipes import LineWriter, chunks
from tui_host.errors import JSON

LARGE = b"x" * 300_000 + b"\n"


@contextmanager
def pipe() -> Generator[tuple[IO[bytes], IO[bytes]]]:
    """The end to read from and the end to write to."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as source, os.fdopen(writing, "wb", buffering=0) as sink:
        yield source, sink


class Written:
    """Lines sent through a writer, and what was recorded of them."""

    def __init__(self, sink: IO[bytes]) -> None:
        self.recorded: list[bytes] = []
        self.writer = LineWriter(sink, self._record, lambda: 5, lambda: None)

    def _record(self, line: bytes, value: Mapping[str, JSON], place: Place, at: int) -> None:
        assert (value, place, at) == ({"size": len(line)}, NOWHERE, 5)
        self.recorded.append(line)

    async def send(self, *lines: bytes) -> None:
        for line in lines:
            await self.writer.send(line, {"size": len(line)}, NOWHERE)


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(90):
        while not is_so():
            await anyio.lowlevel.checkpoint()


async def read(source: IO[bytes], size: int) -> bytes:
    data = b""
    with anyio.fail_after(90):
        async for chunk in chunks(source):
            data += chunk
            if len(data) >= size:
                break
    return data


async def test_a_line_is_written_where_it_is_sent() -> None:
    with pipe() as (source, sink):
        written = Written(sink)
        await written.send(b"{}\n")
        assert written.recorded == [b"{}\n"]
        assert os.read(source.fileno(), 100) == b"{}\n"
        assert written.writer.waiting == 0


async def test_lines_that_find_no_room_arrive_whole_and_in_order() -> None:
    with pipe() as (source, sink):
        written = Written(sink)
        lines = [LARGE, b"1\n", LARGE, b"2\n"]
        async with anyio.create_task_group() as group:
            group.start_soon(written.writer.run)
            await written.send(*lines)
            assert written.recorded == [LARGE]  # the others are not on their way yet
            assert await read(source, sum(map(len, lines))) == b"".join(lines)
            assert written.recorded == lines
            assert written.writer.waiting == 0
            written.writer.close()


async def test_that_nobody_reads_is_told_until_somebody_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "UNREAD_SECONDS", 0.0)
    with pipe() as (source, sink):
        written = Written(sink)
        async with anyio.create_task_group() as group:
            group.start_soon(written.writer.run)
            await written.send(LARGE)
            await until(lambda: written.writer.unread_since is not None)
            await read(source, len(LARGE))
            await until(lambda: written.writer.unread_since is None)
            written.writer.close()


async def test_a_sender_waits_while_too_much_waits_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "WRITES_WAITING", 100_000)
    with pipe() as (source, sink):
        written = Written(sink)
        async with anyio.create_task_group() as group:
            group.start_soon(written.writer.run)
            await written.send(LARGE)
            with anyio.move_on_after(0.01) as scope:
                await written.send(b"1\n")
            assert scope.cancelled_caught
            group.start_soon(written.send, b"2\n")
            assert await read(source, len(LARGE) + 2) == LARGE + b"2\n"
            written.writer.close()


async def test_nothing_is_sent_to_a_pipe_that_is_closed_at_either_end() -> None:
    with pipe() as (source, sink):
        written = Written(sink)
        source.close()
        await written.send(b"1\n")  # whether that is the server's end its output will tell
        with pytest.raises(anyio.ClosedResourceError):
            await written.send(b"2\n")
