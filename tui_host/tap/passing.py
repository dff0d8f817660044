"""How a relay tells the process that records beside it what passed, of which exchange, when. It never waits for it.

It goes through a pipe; what finds no room there waits in memory, and beyond that in a file without a name that both have open.
Imported before the first byte flows: nothing here imports more than `threading`.
"""

from __future__ import annotations

import os
import select
import threading
import time

from tui_host.tap.kinds import PIECES, SPOOLED, lost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    Item: TypeAlias = tuple[bytes, int, int, bytes]

BYE = b"bye\n"
"""On the lifeline, after the server's group: the relay ends in order."""
CONSUMED = b"\0"
"""Before a number, among the notices: the file was read up to there."""
HOPEFUL = b"\1\n"
"""Among the notices: nothing stands against recording, as far as that can be seen in a moment; nobody need wait for more."""

_HEAD = 17
_PIPE_BYTES = 1 << 20
_IN_MEMORY, _EACH = 4 << 20, 4 << 10
"""Bytes that wait in memory, about, and what an item counts besides its own; what comes then waits in the file."""
_IN_FILE = 1 << 30
"""Bytes that wait in the file, at most: what comes then is counted, and not recorded."""
_AT_ONCE = 64
_BURST_NS = 2_000_000
TICK = 0.005
"""Seconds in which what comes in a burst is sent, and read, together."""


def head(kind: bytes, number: int, mono_ns: int, size: int) -> bytes:
    """What stands before an item's data: its kind, its exchange, the monotonic clock, how many bytes follow."""
    return kind + number.to_bytes(4, "little") + mono_ns.to_bytes(8, "little") + size.to_bytes(4, "little")


def taken_from(data: bytearray) -> Sequence[Item]:
    """The whole items at the beginning of the bytes, which are then taken away: kind, exchange, monotonic clock, data."""
    items: list[Item] = []
    at, size = 0, len(data)
    with memoryview(data) as view:
        while size - at >= _HEAD:
            start = at + _HEAD
            end = start + int.from_bytes(view[at + 13 : start], "little")
            if size < end:
                break
            number, mono_ns = (
                int.from_bytes(view[at + 1 : at + 5], "little"),
                int.from_bytes(view[at + 5 : at + 13], "little"),
            )
            items.append((bytes(view[at : at + 1]), number, mono_ns, bytes(view[start:end])))
            at = end
    del data[:at]
    return items


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
        later: Has something done so many seconds later in the one thread that calls this; None where there are several, or it waits.
    """

    def __init__(
        self,
        descriptor: int,
        spool: int | None,
        broke: Callable[[], None],
        later: Callable[[float, Callable[[], None]], object] | None = None,
    ) -> None:
        self._descriptor = descriptor
        self._spool = spool
        self._broke = broke
        self._later = later
        self._is_open = True
        self._queue: list[Item] = []
        self._spooled: list[int] = []  # offset and end of what is told next of the file
        self._end = 0  # of the file
        self._late: dict[tuple[bytes, int], Item] = {}  # what finds no room in the file; of pieces how many bytes
        self._rest: list[bytes | memoryview] = []
        self._turn = threading.Lock()  # to send
        self._adding = threading.Lock()  # to the file
        self._went_ns = 0
        self._is_due = False
        os.set_blocking(descriptor, False)
        _widen(descriptor)
        self._begin()

    def _begin(self) -> None:
        self._due = threading.Event()
        if self._later is None:
            threading.Thread(target=self._catch_up, daemon=True).start()

    def passed(self, kind: bytes, data: bytes, number: int = 0, at_ns: int | None = None) -> None:
        """Put it where nothing overtakes it; `go` sends it.

        Args:
            kind: What it is.
            data: The bytes.
            number: Of which exchange it is, where there are several.
            at_ns: When it happened, on the monotonic clock, if not just now.
        """
        if not self._is_open:
            return
        item = kind, number, time.monotonic_ns() if at_ns is None else at_ns, data
        if self._spooled or self._late or len(self._queue) * (len(data) + _EACH) > _IN_MEMORY:
            self._put_aside(item)
        else:
            self._queue.append(item)

    def go(self) -> None:
        """See that it is sent: at once, but in a burst some of it together, soon. Never waits."""
        if self._is_due:
            return
        now = time.monotonic_ns()
        if now - self._went_ns < _BURST_NS or not self._turn.acquire(blocking=False):
            self._rouse()
            return
        self._went_ns = now
        try:
            is_sent = self._send()
        finally:
            self._turn.release()
        if not is_sent:
            self._rouse()

    def consumed(self, end: int) -> None:
        """The file was read up to here."""
        with self._adding:
            if self._spool is not None and end == self._end and not self._spooled:
                os.ftruncate(self._spool, 0)
                self._end = 0

    def close(self) -> bool:
        """Nothing follows: hand over what finds room. False if something is left, for a `fork` to `finish`."""
        with self._turn:
            is_sent = self._send()
            if is_sent:
                self._is_open = False
                os.close(self._descriptor)
        return is_sent

    def fork(self) -> int:
        """As `os.fork`: what was not handed over yet is the child's, which is to `go_on` or to `finish`.

        Raises:
            OSError: There can be no other process.
        """
        with self._turn, self._adding:
            child = os.fork()
            if child:
                self._is_open = False
                self._clear()
                os.close(self._descriptor)
        return child

    def go_on(self) -> None:
        """In the child: what passes is told from here."""
        self._begin()
        self._rouse()

    def finish(self, descriptor: int) -> None:
        """In the child: nothing follows; hand over all that is left, however long that takes.

        Args:
            descriptor: The pipe's end as it is numbered there.
        """
        self._descriptor = descriptor
        os.set_blocking(descriptor, True)
        self._send()
        os.close(descriptor)

    def _put_aside(self, item: Item) -> None:
        with self._adding:
            if self._late or not self._write_aside(item):
                self._add_late(item)

    def _add_late(self, item: Item) -> None:
        kind, number, mono_ns, data = item
        if kind not in PIECES:
            self._late[kind, number] = item
            return
        key = lost(kind), number
        earlier = self._late.get(key)
        size = len(data) + (int(earlier[3]) if earlier else 0)
        self._late[key] = (*key, mono_ns, b"%d" % size)

    def _write_aside(self, item: Item) -> bool:
        """Append to the file; False if it is full."""
        kind, number, mono_ns, data = item
        if self._spool is None or self._end + len(data) > _IN_FILE:
            return False
        at = self._end
        try:
            rest: list[bytes | memoryview] = [head(kind, number, mono_ns, len(data)), data]
            while rest:
                written = os.pwritev(self._spool, rest, at)
                at += written
                _take_away(rest, written)
        except OSError:
            return False
        if self._spooled:
            self._spooled[1] = at
        else:
            self._spooled = [self._end, at]
        self._end = at
        return True

    def _batch(self) -> list[Item]:
        """What is sent next: what waits in memory, after that what stands in the file, and then what found no room there."""
        with self._adding:
            batch = self._queue[:_AT_ONCE]
            del self._queue[: len(batch)]
            if not batch and self._spooled:
                start, end = self._spooled
                self._spooled = []
                batch.append((SPOOLED, 0, time.monotonic_ns(), b"%d %d" % (start, end)))
            elif not batch:
                batch += self._late.values()
                self._late.clear()
            return batch

    def _send(self) -> bool:
        """Send; False if there is no more room."""
        rest = self._rest
        while rest or self._queue or self._spooled or self._late:
            if not rest:
                for kind, number, mono_ns, data in self._batch():
                    rest += (head(kind, number, mono_ns, len(data)), data)
            try:
                written = os.writev(self._descriptor, rest)
            except BlockingIOError:
                return False
            except OSError:
                self._give_up()
                return True
            _take_away(rest, written)
        return True

    def _give_up(self) -> None:
        """Nobody records any more."""
        self._clear()
        if self._is_open:
            self._is_open = False
            self._broke()

    def _clear(self) -> None:
        self._queue.clear()
        self._spooled.clear()
        self._late.clear()
        self._rest.clear()

    def _rouse(self) -> None:
        """See that it is tried again in a moment.

        By the thread that passes bytes, where it never waits for them: another one would now and then lose the processor while it holds
        the interpreter, and what passes would wait until it has it again.
        """
        self._is_due = True
        if self._later is None:
            self._due.set()
        else:
            self._later(TICK, self._try_again)

    def _try_again(self) -> None:
        self._is_due = False
        if not self._is_open:
            return
        self._went_ns = time.monotonic_ns()
        with self._turn:
            is_sent = self._send()
        if not is_sent:
            self._rouse()

    def _catch_up(self) -> None:
        """Send what comes in a burst, and what found no room."""
        room = select.poll()
        room.register(self._descriptor, select.POLLOUT)
        while self._due.wait():
            time.sleep(TICK)
            self._due.clear()
            self._is_due = False
            is_sent = False
            while not is_sent and self._is_open:
                room.poll()
                with self._turn:
                    is_sent = not self._is_open or self._send()


def _take_away(pieces: list[bytes | memoryview], size: int) -> None:
    """So many bytes of them, from the beginning."""
    while pieces and size >= len(pieces[0]):
        size -= len(pieces.pop(0))
    if size:
        pieces[0] = memoryview(pieces[0])[size:]


def _widen(descriptor: int) -> None:
    """Let a burst find room in the pipe, where the system allows it."""
    try:
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except (AttributeError, OSError):
        return  # macOS widens its pipes by itself
