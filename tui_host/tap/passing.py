"""What a stdio relay tells the process that records beside it: what passed, on which stream, when; through a pipe, never waiting.

Imported before the first byte flows: nothing here imports more than Python has loaded already, but `threading`.
"""

from __future__ import annotations

import os
import select
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OUT, IN, ERROR = b"o", b"i", b"e"
"""A chunk of the server's standard input, output, error."""
GROUP = b"g"
"""The server's process group, as a number in ASCII."""
LOST = {OUT: b"O", IN: b"I", ERROR: b"E"}
"""So many bytes of a stream could not be told, as a number in ASCII."""
BYE = b"."
"""The relay has ended in order; nothing follows."""

HEAD_BYTES = 13
WAITING_LIMIT = 32 << 20
"""Bytes that wait in the relay for a recorder that does not keep pace; what comes then is counted, not kept."""
_AT_ONCE = 64


def head(kind: bytes, mono_ns: int, size: int) -> bytes:
    """What stands before each item: its kind, the monotonic clock, how many bytes follow."""
    return kind + mono_ns.to_bytes(8, "little") + size.to_bytes(4, "little")


def items(data: bytearray) -> list[tuple[bytes, int, bytes]]:
    """The whole items at the beginning of the bytes, which are taken away: kind, monotonic clock, bytes."""
    found: list[tuple[bytes, int, bytes]] = []
    at = 0
    while len(data) - at >= HEAD_BYTES:
        size = int.from_bytes(data[at + 9 : at + HEAD_BYTES], "little")
        end = at + HEAD_BYTES + size
        if len(data) < end:
            break
        mono_ns = int.from_bytes(data[at + 1 : at + 9], "little")
        found.append((bytes(data[at : at + 1]), mono_ns, bytes(data[at + HEAD_BYTES : end])))
        at = end
    del data[:at]
    return found


class Telling:
    """Tells what passed, in the order of `passed`, whichever thread calls it.

    Args:
        descriptor: The pipe's end to write to.
        broke: Called once if nobody reads there any more.
    """

    def __init__(self, descriptor: int, broke: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._broke = broke
        self._is_open = True
        self._queue: list[tuple[bytes, int, bytes]] = []
        self._came = {OUT: 0, IN: 0, ERROR: 0, GROUP: 0, BYE: 0}  # bytes; each is counted by one thread alone
        self._lost = {OUT: 0, IN: 0, ERROR: 0}
        self._went = 0
        self._rest: list[bytes | memoryview] = []
        self._turn = threading.Lock()
        self._is_full = threading.Event()
        self._is_empty = threading.Event()
        os.set_blocking(descriptor, False)
        threading.Thread(target=self._catch_up, daemon=True).start()

    def passed(self, kind: bytes, data: bytes) -> None:
        """Put it where nothing overtakes it; `go` sends it."""
        if not self._is_open:
            return
        if kind in self._lost:
            if sum(self._came.values()) - self._went > WAITING_LIMIT:
                self._lost[kind] += len(data)
                return
            if lost := self._lost[kind]:
                self._lost[kind] = 0
                self._queue.append((LOST[kind], time.monotonic_ns(), b"%d" % lost))
        self._came[kind] += len(data)
        self._queue.append((kind, time.monotonic_ns(), data))

    def go(self) -> None:
        """Send what there is room for. Never waits: the rest is sent by a thread."""
        while self._queue and self._turn.acquire(blocking=False):
            try:
                if not self._send():
                    self._is_empty.clear()
                    self._is_full.set()
                    return
            finally:
                self._turn.release()

    def close(self, seconds: float) -> None:
        """Say that the relay has ended in order, and wait until all is sent, at most so long."""
        for kind, lost in self._lost.items():
            if lost:
                self._queue.append((LOST[kind], time.monotonic_ns(), b"%d" % lost))
        self.passed(BYE, b"")
        self._is_empty.clear()
        self._is_full.set()
        self._is_empty.wait(seconds)
        self._is_open = False
        os.close(self._descriptor)

    def _send(self) -> bool:
        """Send; False if there is no more room."""
        rest, queue = self._rest, self._queue
        while rest or queue:
            if not rest:
                batch = queue[:_AT_ONCE]
                del queue[: len(batch)]
                for kind, mono_ns, data in batch:
                    rest += (head(kind, mono_ns, len(data)), data)
                    if kind in self._came:
                        self._went += len(data)
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
        self._rest.clear()
        if self._is_open:
            self._is_open = False
            self._broke()

    def _catch_up(self) -> None:
        """Send what found no room."""
        room = select.poll()
        room.register(self._descriptor, select.POLLOUT)
        while self._is_full.wait():
            self._is_full.clear()
            is_sent = False
            while not is_sent and self._is_open:
                room.poll()
                with self._turn:
                    is_sent = self._send()
            self._is_empty.set()
