"""The pipes of a stdio server. Every line is recorded before it is used, also lines of standard error.

Nothing here knows the SDK. Source: MCP 2025-11-25 and 2026-07-28, Transports, stdio.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from tui_host.capture.frames.frame_heads import Frame
from tui_host.capture.stdio.lines import LINE_KEPT, LINE_LIMIT, Lines, Splitter
from tui_host.capture.stdio.pipes import LineWriter, chunks
from tui_host.guard.child_process import Process

JUNK_LIMIT = 64 << 20
"""Bytes of standard output without messages to accept in the life of a connection."""
PATIENCE = 2.0
"""Seconds for each step of ending a server: after closing stdin, after SIGTERM."""

_SLICE = 20  # a key waits for some ten turns of the loop, each with a slice between
_LINE_COST = 256
_JUNK_BURST, _ERROR_BURST = 1 << 20, 8 << 20
_REFILL_PER_SECOND = 128 << 10
_TAIL = 64 << 10  # bytes of standard error to show

Listener: TypeAlias = Callable[[bytes, Frame], None]
"""Handles the next message, which is already recorded; also broken messages, for which a caller may wait."""


@dataclass(slots=True, eq=False)
class _Budget:
    """How many lines may still be recorded one by one: a burst, then a steady trickle."""

    burst: int
    _spent: float = 0
    _at: float = field(default_factory=time.monotonic)

    def take(self, cost: float) -> bool:
        now = time.monotonic()
        self._spent, self._at = max(0, self._spent - (now - self._at) * _REFILL_PER_SECOND), now
        is_enough = cost <= self.burst - self._spent
        self._spent += cost * is_enough
        return is_enough


@dataclass(eq=False)
class Errors:
    """Standard error: records its lines unless too many come at once, and keeps the last."""

    _lines: Lines
    unrecorded: int = 0  # bytes that came too fast to be recorded
    _tail: bytes = b""
    _splitter: Splitter = field(default_factory=Splitter)
    _budget: _Budget = field(default_factory=lambda: _Budget(_ERROR_BURST))
    _is_skipping: bool = False

    def feed(self, chunk: bytes) -> None:
        """Take in a chunk."""
        self._tail = (self._tail + chunk)[-_TAIL:]
        if self._budget.take(len(chunk) + chunk.count(b"\n") * _LINE_COST):
            self._is_skipping = False
            for line in self._splitter.feed(chunk):
                self._lines.error(line)
            if self._splitter.size > LINE_KEPT:
                self._lines.error(self._splitter.rest(), "cut: over 1 MB without a line end")
            return
        if not self._is_skipping:
            self._is_skipping = True
            if rest := self._splitter.rest():
                self._lines.error(rest, "cut")
            self._lines.error(b"", "standard error comes too fast to be recorded; it is counted")
        self.unrecorded += len(chunk)

    def finish(self) -> None:
        """Record the last line without a line end."""
        if rest := self._splitter.rest():
            self._lines.error(rest, "unfinished")
        if self.unrecorded:
            self._lines.error(b"", f"{self.unrecorded:,} bytes in all came too fast to be recorded")

    def last(self, count: int) -> tuple[str, ...]:
        """Return the newest lines up to a count, newest last, each cut at 500 characters."""
        lines = self._tail.decode("utf-8", "backslashreplace").split("\n")
        return tuple([line.rstrip("\r")[:500] for line in lines if line.strip()][-count:])


class StdioChild:
    """A server's process with its pipes.

    Call `run` in the connection's task group. It ends when the process has ended and its output is read.

    Attributes:
        input: Writes to its standard input.
        listener: Handles recorded messages; None while there is no handler.
        over: Set when nothing more will arrive.
        fault: What the server did that ends its connection, None if nothing.
    """

    def __init__(self, process: Process, lines: Lines, changed: Callable[[], None]) -> None:
        self.process = process
        self.errors = Errors(lines)
        self.input = LineWriter(process.stdin, lines, changed)
        self.listener: Listener | None = None
        self.over = anyio.Event()
        self.fault: str | None = None
        self._lines = lines
        self._changed = changed
        self._splitter = Splitter()
        self._junk = 0
        self._junk_budget = _Budget(_JUNK_BURST)
        self._output_ended = anyio.Event()
        self._errors_ended = anyio.Event()

    async def run(self) -> None:
        """Serve the pipes until the process has ended and all output is read."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self.input.run)
                group.start_soon(self._read_errors)
                group.start_soon(self._watch)
                await self._read_output()
        finally:
            self._end()

    async def stop(self) -> None:
        """End the process: close standard input, wait, SIGTERM, wait, SIGKILL; under 5 seconds, shielded.

        Meanwhile its output is recorded but not handled. Other processes that hold its pipes are not waited for.
        """
        with anyio.CancelScope(shield=True):
            self.listener = None
            with anyio.move_on_after(0.1):
                while self.input.waiting and self.process.exit_code is None:  # a last notification
                    await anyio.sleep(0.01)
            self.input.close()
            await self.process.end(patience=PATIENCE)
            with anyio.move_on_after(0.3):
                await self._output_ended.wait()
                await self._errors_ended.wait()
            self._changed()

    def _end(self, fault: str | None = None) -> None:
        """Say that nothing more will arrive, and with which fault of the server."""
        self.fault = fault or self.fault
        if fault is None:
            self.input.close()
        self.over.set()
        self._changed()

    async def _watch(self) -> None:
        """Notice the end of the process, although somebody else may hold the pipes."""
        while not await self.process.wait(60, step=0.1):
            pass
        with anyio.move_on_after(0.5):
            await self._output_ended.wait()
        self._end()

    async def _read_errors(self) -> None:
        try:
            async for chunk in chunks(self.process.stderr):
                self.errors.feed(chunk)
                self._changed()
        finally:
            self.errors.finish()
            self._errors_ended.set()

    async def _read_output(self) -> None:
        try:
            async for chunk in chunks(self.process.stdout):
                lines = self._splitter.feed(chunk) if self.fault is None else []
                for start in range(0, len(lines), _SLICE):
                    if start:
                        await checkpoint()
                    if self.fault is None:
                        self._record(lines[start : start + _SLICE])
                if self._splitter.size > LINE_LIMIT and self.fault is None:
                    self._too_long(self._splitter.rest())
            if (rest := self._splitter.rest()) and self.fault is None:
                self._lines.take("in", rest, "unfinished: the output ended in the middle of the line")
        finally:
            self._output_ended.set()
            self.over.set()
            self._changed()

    def _record(self, lines: list[bytes]) -> None:
        """Record lines, and pass messages on; none once the connection cannot go on."""
        block: list[bytes] = []
        for line in lines:
            plausible = line[:1] in {b"{", b"["} or line.lstrip()[:1] in {b"{", b"["}
            if not plausible and not self._junk_budget.take(len(line) + _LINE_COST):
                block.append(line)
                self._junk += len(line)
                continue
            self._lines.junk(block)
            if len(line) > LINE_LIMIT:
                self._too_long(line)
                return
            frame = self._lines.take("in", line)
            if not frame.is_message:
                self._junk += len(line)
            if self.listener is not None and (plausible or frame.is_message):
                self.listener(line, frame)
        self._lines.junk(block)
        if self._junk > JUNK_LIMIT:
            self._end(f"wrote {self._junk:,} bytes to standard output that are no messages")
        self._changed()

    def _too_long(self, line: bytes) -> None:
        fault = f"a line of {len(line):,} bytes or more; the limit is {LINE_LIMIT:,}"
        self._lines.take("in", line[:LINE_KEPT], f"{fault}; the first {LINE_KEPT:,} are kept")
        self._end(fault)
