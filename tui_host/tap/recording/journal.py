"""Memory that a relay and its recorder share, with a file for the overflow: holds bytes not yet recorded. Imported early.

Bytes in the journal outlive a relay that is killed at any moment. Adding to memory makes no system call and wakes no
process. Bytes that do not fit are appended to a file without a name, and no more are added to memory until the recorder
has read that file to its end, so memory always holds the older bytes. One process adds and one takes, and each counter
has a single writer. Imported before the first byte flows: imports only `mmap` and `threading`.
"""

from __future__ import annotations

import mmap
import os
import select
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ROOM = 4 << 20
"""Largest number of bytes that wait in memory."""
FOLDERS = ("/var/tmp", "/tmp")  # noqa: S108 - a name there is random, new, and gone at once
"""Folders for the file if TMPDIR is unsuitable."""
_COUNTERS = mmap.PAGESIZE
"""Size of the area for counters, before the data. Counters of bytes start at 0 and only grow."""
_ADDED, _FILE_ADDED, _FILE_BEGAN, _HELD = 0, 1, 2, 3
"""Counters written by the relay: bytes added to memory and to the file, the emptied file's beginning, bytes held."""
_TAKEN, _FILE_TAKEN, _IS_AWAITED, _KEPT, _UNFINISHED, _IS_WELL, _IS_FAULT_TOLD = 32, 33, 34, 35, 36, 37, 38
"""Counters written by the recorder, on another page than the relay's so that processors do not contend for a cache line."""
_MISSED_BELL_SECONDS = 1.0
"""Longest wait of a recorder that missed the bell because of memory reordering, in seconds."""


class Journal:
    """Memory and a file that a relay shares with its recorder. Made before the recorder is forked.

    Args:
        room: Largest number of bytes that wait in memory.

    Attributes:
        is_over: Whether no process is left that could add. Updated for the recorder by `wait` and `look`.

    Raises:
        OSError: Memory is not available, or too many files are open.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._memory = mmap.mmap(-1, _COUNTERS + room)
        self._counters = memoryview(self._memory)[:_COUNTERS].cast("Q")
        self._file = _open_file()
        self._hang_bell()
        self._end = _COUNTERS + room
        self._at, self._until = _COUNTERS, self._end  # position for the next byte, and end of the room known to be free
        self._offset = -_COUNTERS  # difference between `_at` and the count of all bytes added
        fence = _fence()
        self._release, self._acquire = fence.release, fence.acquire
        self._reader_fence = _fence()
        self._emptying = threading.Lock()
        self._is_in_file = False  # whether the last look was into the file
        self.is_over = False

    def _hang_bell(self) -> None:
        self._heard, self._bell = os.pipe()
        os.set_blocking(self._bell, False)

    # The relay's side; used by one thread at a time.

    def add_only(self) -> None:
        """Leave taking bytes to the process just forked."""
        os.close(self._heard)
        self._heard = -1

    def begin_anew(self) -> None:
        """Prepare to fork a new recorder after the last one died.

        Raises:
            OSError: Too many files are open.
        """
        heard, bell = self._heard, self._bell
        self._hang_bell()
        os.close(bell)
        if heard >= 0:  # forking has failed before
            os.close(heard)
        self._counters[_IS_AWAITED] = 0

    def give_up(self) -> int:
        """Skip the bytes that a dead recorder took and did not store; returns their number."""
        counters = self._counters
        lost = self.taken - counters[_KEPT] + counters[_UNFINISHED]
        counters[_KEPT], counters[_UNFINISHED] = self.taken, 0
        counters[_IS_WELL] = counters[_IS_FAULT_TOLD] = 0
        return lost

    def add(self, head: bytes, data: bytes) -> bool:
        """Append to memory; returns False if there is no room. Bytes that were added stay.

        Args:
            head: Bytes to put before the data.
            data: The data.
        """
        at = self._at
        middle = at + len(head)
        end = middle + len(data)
        if end > self._until:
            return self._add_around(head + data)
        self._memory[at:middle] = head
        self._memory[middle:end] = data
        self._release()
        self._acquire()
        self._at = end
        self._counters[_ADDED] = end + self._offset
        return True

    def _add_around(self, data: bytes) -> bool:
        """Add into room that was freed meanwhile, wrapping around the end of memory."""
        counters = self._counters
        size = len(data)
        room = self._room - (counters[_ADDED] - counters[_TAKEN])
        if size > room or counters[_FILE_TAKEN] != counters[_FILE_ADDED]:
            return False
        at = self._at
        fitting = min(size, self._end - at)
        self._memory[at : at + fitting] = data[:fitting]
        at += fitting
        if at == self._end:
            at = _COUNTERS + size - fitting
            self._memory[_COUNTERS:at] = data[fitting:]
            self._offset += self._room
        self._release()
        self._acquire()
        self._at = at
        self._until = min(self._end, at + room - size)
        counters[_ADDED] = at + self._offset
        return True

    def add_to_file(self, head: bytes, data: bytes, limit: int | None) -> bool:
        """Append to the file; returns False if there is no room.

        Args:
            head: Bytes to put before the data.
            data: The data.
            limit: Largest size of the file afterwards; None for as much as the disk holds.
        """
        counters = self._counters
        rest = memoryview(head + data)
        with self._emptying:
            at = counters[_FILE_ADDED] - counters[_FILE_BEGAN]
            if self._file is None or (limit is not None and at + len(rest) > limit):
                return False
            try:
                while rest:
                    written = os.pwrite(self._file, rest, at)
                    at += written
                    rest = rest[written:]
            except OSError:
                return False
            counters[_FILE_ADDED] += len(head) + len(data)
            self._until = 0  # add nothing to memory until the file has been read
            return True

    def empty_file(self) -> None:
        """Empty the file once it has been read to the end. May be called from any thread."""
        with self._emptying:
            counters = self._counters
            end = counters[_FILE_ADDED]
            if self._file is not None and counters[_FILE_BEGAN] != end == counters[_FILE_TAKEN]:
                os.ftruncate(self._file, 0)
                counters[_FILE_BEGAN] = end

    @property
    def held(self) -> int:
        """Number of bytes that fit neither in memory nor in the file, which the relay holds or counts."""
        return self._counters[_HELD]

    @held.setter
    def held(self, size: int) -> None:
        self._counters[_HELD] = size

    @property
    def is_awaited(self) -> bool:
        """Whether the recorder waits to be woken."""
        return self._counters[_IS_AWAITED] != 0

    def ring(self) -> None:
        """Wake the recorder."""
        self._counters[_IS_AWAITED] = 0
        try:
            os.write(self._bell, b"!")
        except OSError:
            return  # the bell rings already, or the recorder has gone

    def close(self) -> None:
        """Tell the recorder that no more bytes follow."""
        os.close(self._bell)

    # The recorder's side.

    @property
    def descriptors(self) -> Sequence[int]:
        """The descriptors that the recorder needs."""
        return [self._heard] if self._file is None else [self._heard, self._file]

    def look_at(self, limit: int) -> bytes:
        """Return the oldest waiting bytes, up to the limit, without taking them.

        Raises:
            OSError: The file cannot be read.
        """
        counters = self._counters
        file_end = counters[_FILE_ADDED]
        self._pass_fence()  # bytes that are in memory after this fence are older than those in the file before it
        start, end = counters[_TAKEN], counters[_ADDED]
        self._pass_fence()
        size = min(end - start, limit)
        self._is_in_file = not size
        if size:
            at = start % self._room
            fitting = min(size, self._room - at)
            data = self._memory[_COUNTERS + at : _COUNTERS + at + fitting]
            return data if fitting == size else data + self._memory[_COUNTERS : _COUNTERS + size - fitting]
        start = counters[_FILE_TAKEN]
        if self._file is None or start == file_end:
            return b""
        return os.pread(self._file, min(file_end - start, limit), start - counters[_FILE_BEGAN])

    def take(self, size: int) -> None:
        """Remove bytes from the front of the last look, so that the relay may overwrite them."""
        self._pass_fence()
        self._counters[_FILE_TAKEN if self._is_in_file else _TAKEN] += size

    @property
    def taken(self) -> int:
        """Number of bytes taken since the journal began."""
        return self._counters[_TAKEN] + self._counters[_FILE_TAKEN]

    def keep(self, unfinished: int = 0) -> None:
        """Record that everything taken is stored, except bytes of unfinished lines and requests."""
        self._counters[_UNFINISHED] = unfinished
        self._counters[_KEPT] = self.taken

    @property
    def kept(self) -> int:
        """Number of bytes that had been taken at the last call of `keep`."""
        return self._counters[_KEPT]

    @property
    def unfinished(self) -> int:
        """Number of bytes of unfinished lines and requests at the last call of `keep`."""
        return self._counters[_UNFINISHED]

    @property
    def is_well(self) -> bool:
        """Whether the recorder stores records, as the recorder itself reports."""
        return self._counters[_IS_WELL] != 0

    @is_well.setter
    def is_well(self, value: bool) -> None:
        self._counters[_IS_WELL] = value

    @property
    def is_fault_told(self) -> bool:
        """Whether the recorder has told the user why nothing is stored."""
        return self._counters[_IS_FAULT_TOLD] != 0

    @is_fault_told.setter
    def is_fault_told(self, value: bool) -> None:
        self._counters[_IS_FAULT_TOLD] = value

    def _pass_fence(self) -> None:
        self._reader_fence.release()
        self._reader_fence.acquire()

    @property
    def left(self) -> int:
        """Number of waiting bytes."""
        counters = self._counters
        return counters[_ADDED] - counters[_TAKEN] + counters[_FILE_ADDED] - counters[_FILE_TAKEN]

    @property
    def needs_care(self) -> bool:
        """Whether the relay has to empty the file or write items it holds back."""
        counters = self._counters
        return counters[_FILE_ADDED] != counters[_FILE_BEGAN] or counters[_HELD] != 0

    def wait(self, seconds: float | None, known: int = 0) -> None:
        """Wait for more bytes than `known`, or for the relay's end. May return early."""
        counters = self._counters
        counters[_IS_AWAITED] = 1
        self._pass_fence()
        if self.left <= known:
            self.look(_MISSED_BELL_SECONDS if seconds is None else min(seconds, _MISSED_BELL_SECONDS))
        counters[_IS_AWAITED] = 0

    def look(self, seconds: float) -> None:
        """Wait to be woken, or for the relay's end."""
        bell = select.poll()
        bell.register(self._heard, select.POLLIN)
        if bell.poll(1000 * seconds):
            self.is_over = not os.read(self._heard, 4096)


def _fence() -> threading.Lock:
    """A lock that a single thread acquires and releases as a memory barrier.

    Without a barrier another processor could see a counter before the bytes that it counts. No other operation in
    Python is certain to be one without a system call.
    """
    fence = threading.Lock()
    fence.acquire()
    return fence


def _open_file() -> int | None:
    """Open a file without a name, readable only by this user; None if no folder allows this."""
    for folder in (os.environ.get("TMPDIR", FOLDERS[0]), *FOLDERS):
        path = f"{folder}/tui-host-{os.urandom(8).hex()}"
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            os.unlink(path)  # noqa: PTH108 - pathlib takes as long to import as all else
        except OSError:
            continue
        return file
    return None
