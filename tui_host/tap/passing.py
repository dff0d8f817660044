"""What a stdio relay tells the process that records beside it: what passed, on which stream, when. It never waits for it.

It goes through a pipe; what finds no room there waits in memory, and beyond that in a file without a name that both have open.
Imported before the first byte flows: nothing here imports more than `threading`.
"""

from __future__ import annotations

import os
import select
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    Item: TypeAlias = tuple[bytes, int, bytes]

OUT, IN, ERROR = b"o", b"i", b"e"
"""A chunk of the server's standard input, output, error."""
LOST = {OUT: b"O", IN: b"I", ERROR: b"E"}
"""So many bytes of a stream could not be told; a number in ASCII."""
SPOOLED = b"s"
"""What follows stands in the file: offset and end, in ASCII."""
BYE = b"bye\n"
"""On the lifeline, after the server's group: the relay ends in order."""
CONSUMED = b"\0"
"""Before a number, among the notices: the file was read up to there."""

_HEAD = 13
_PIPE_BYTES = 1 << 20
_IN_MEMORY, _SMALL_IN_MEMORY = 64, 1000
"""Chunks that wait in memory, and small ones; what comes then waits in the file."""
_SMALL = 4096
_IN_FILE = 1 << 30
"""Bytes that wait in the file, at most: what comes then is counted, and not recorded."""
_AT_ONCE = 64
_BURST_NS = 2_000_000
TICK = 0.005
"""Seconds in which what comes in a burst is sent, and read, together."""


def head(kind: bytes, mono_ns: int, size: int) -> bytes:
    """What stands before an item's data: its kind, the monotonic clock, how many bytes follow."""
    return kind + mono_ns.to_bytes(8, "little") + size.to_bytes(4, "little")


def taken_from(data: bytearray) -> Iterator[Item]:
    """The whole items at the beginning of the bytes, which are then taken away: kind, monotonic clock, data."""
    at = 0
    while len(data) - at >= _HEAD:
        end = at + _HEAD + int.from_bytes(data[at + 9 : at + _HEAD], "little")
        if len(data) < end:
            break
        mono_ns = int.from_bytes(data[at + 1 : at + 9], "little")
        yield bytes(data[at : at + 1]), mono_ns, bytes(data[at + _HEAD : end])
        at = end
    del data[:at]


def open_spool() -> int | None:
    """A file without a name, that this user alone can reach; None where there is no place for one."""
    for folder in (os.environ.get("TMPDIR"), "/var/tmp", "/tmp"):  # noqa: S108 - the name is random, new, and gone at once
        if not folder:
            continue
        path = f"{folder}/tui-host-{os.urandom(8).hex()}"
        try:
            spool = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            os.unlink(path)  # noqa: PTH108 - pathlib takes as long to import as all else
        except OSError:
            continue
        return spool
    return None


class Telling:
    """Tells what passed, in the order of `passed`, whichever thread calls it.

    Args:
        descriptor: The pipe's end to write to.
        spool: The file, None for none.
        broke: Called once if nobody reads there any more.
    """

    def __init__(self, descriptor: int, spool: int | None, broke: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._spool = spool
        self._broke = broke
        self._is_open = True
        self._is_closing = False
        self._queue: list[Item] = []
        self._spooled: list[int] = []  # offset and end of what is told next of the file
        self._end = 0  # of the file
        self._lost = {OUT: 0, IN: 0, ERROR: 0}  # bytes
        self._rest: list[bytes | memoryview] = []
        self._turn = threading.Lock()  # to send
        self._adding = threading.Lock()  # to the file
        self._went_ns = 0
        self._is_due = False
        self._due = threading.Event()
        self._is_sent = threading.Event()
        os.set_blocking(descriptor, False)
        _widen(descriptor)
        threading.Thread(target=self._catch_up, daemon=True).start()

    def passed(self, kind: bytes, data: bytes) -> None:
        """Put it where nothing overtakes it; `go` sends it."""
        if not self._is_open:
            return
        item = kind, time.monotonic_ns(), data
        if self._spooled or len(self._queue) > (_SMALL_IN_MEMORY if len(data) < _SMALL else _IN_MEMORY):
            self._put_aside(item)
        else:
            self._queue.append(item)

    def go(self) -> None:
        """See that it is sent: at once, but in a burst by a thread, some of it together. Never waits."""
        if self._is_due:
            return
        now = time.monotonic_ns()
        if now - self._went_ns < _BURST_NS or not self._turn.acquire(blocking=False):
            self._is_due = True
            self._due.set()
            return
        self._went_ns = now
        try:
            is_sent = self._send()
        finally:
            self._turn.release()
        if not is_sent:
            self._is_due = True
            self._due.set()

    def consumed(self, end: int) -> None:
        """The file was read up to here."""
        with self._adding:
            if self._spool is not None and end == self._end and not self._spooled:
                os.ftruncate(self._spool, 0)
                self._end = 0

    def close(self, seconds: float) -> None:
        """Nothing follows: hand over what is left, at most so long."""
        with self._adding:
            now = time.monotonic_ns()
            self._queue += [(LOST[kind], now, b"%d" % size) for kind, size in self._lost.items() if size]
        self._is_closing = True
        self._is_sent.clear()
        self._due.set()
        self._is_sent.wait(seconds)
        self._is_open = False
        os.close(self._descriptor)

    def _put_aside(self, item: Item) -> None:
        kind, mono_ns, data = item
        with self._adding:
            lost = self._lost[kind]
            if lost and self._write_aside((LOST[kind], mono_ns, b"%d" % lost)):
                self._lost[kind] = 0
            if not self._write_aside(item):
                self._lost[kind] += len(data)

    def _write_aside(self, item: Item) -> bool:
        """Append to the file; False if it is full."""
        kind, mono_ns, data = item
        if self._spool is None or self._end + len(data) > _IN_FILE:
            return False
        at = self._end
        try:
            rest = memoryview(head(kind, mono_ns, len(data)) + data)
            while rest:
                written = os.pwrite(self._spool, rest, at)
                rest = rest[written:]
                at += written
        except OSError:
            return False
        if self._spooled:
            self._spooled[1] = at
        else:
            self._spooled = [self._end, at]
        self._end = at
        return True

    def _batch(self) -> list[Item]:
        """What is sent next: what waits in memory, and after that what stands in the file."""
        with self._adding:
            batch = self._queue[:_AT_ONCE]
            del self._queue[: len(batch)]
            if not batch and self._spooled:
                start, end = self._spooled
                self._spooled = []
                batch.append((SPOOLED, time.monotonic_ns(), b"%d %d" % (start, end)))
            return batch

    def _send(self) -> bool:
        """Send; False if there is no more room."""
        rest = self._rest
        while rest or self._queue or self._spooled:
            if not rest:
                for kind, mono_ns, data in self._batch():
                    rest += (head(kind, mono_ns, len(data)), data)
            try:
                written = os.writev(self._descriptor, rest)
            except BlockingIOError:
                return False
            except OSError:
                self._give_up()
                return True
            while rest and written >= len(rest[0]):
                written -= len(rest.pop(0))
            if written:
                rest[0] = memoryview(rest[0])[written:]
        return True

    def _give_up(self) -> None:
        """Nobody records any more."""
        self._queue.clear()
        self._spooled.clear()
        self._rest.clear()
        if self._is_open:
            self._is_open = False
            self._broke()

    def _catch_up(self) -> None:
        """Send what comes in a burst, and what found no room."""
        room = select.poll()
        room.register(self._descriptor, select.POLLOUT)
        while self._due.wait():
            if not self._is_closing:
                time.sleep(TICK)
            self._due.clear()
            self._is_due = False
            is_sent = False
            while not is_sent and self._is_open:
                room.poll()
                with self._turn:
                    is_sent = self._send()
            self._is_sent.set()


def _widen(descriptor: int) -> None:
    """Let a burst find room in the pipe, where the system allows it."""
    try:
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except (AttributeError, OSError):
        return  # macOS widens its pipes by itself
