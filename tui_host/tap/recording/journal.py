"""What a relay has passed on and nobody has recorded yet: memory that the process which records shares, and a file behind it.

Whatever stands there outlives a relay that is killed at any moment. To add to it wakes nobody and asks nothing of the system while there is
room in memory; what finds none there goes into a file without a name, until that has been read to its end. So what stands in memory is always
older than what stands in the file. One process adds, another takes; of each number here, one alone writes it.
Imported before the first byte flows: nothing here imports more than `mmap` and `threading`.
"""

from __future__ import annotations

import mmap
import os
import select
import threading

from tui_host.tap.recording.unsettled import Unsettled
from tui_host.tap.threads import fork

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ROOM = 4 << 20
"""Bytes that wait in memory, at most."""
_NUMBERS = mmap.PAGESIZE
"""Bytes before them, for what follows. All of it counts from the beginning of all, and never goes back."""
_ADDED, _FILE_ADDED, _FILE_BEGAN, _HELD = 0, 1, 2, 3
"""Bytes that were added to memory, and to the file; how many of those stood there before it was emptied; those that wait elsewhere."""
_TAKEN, _FILE_TAKEN, _IS_AWAITED = 32, 33, 34
"""Bytes that were taken; whether somebody waits for more. Away from the others: two processors would pass that piece of memory to and fro."""
FOLDERS = ("/var/tmp", "/tmp")  # noqa: S108 - a name there is random, new, and gone at once
"""Where a file is made, if TMPDIR is no place for it."""
_LOOK_SECONDS = 1.0
"""How long at most somebody waits who missed the bell, which a processor may let happen that reorders what it writes and reads."""


class Journal:
    """Made before the process that takes is forked.

    Args:
        room: Bytes that wait in memory, at most.

    Attributes:
        is_over: Nobody is left who could add. The one who takes knows that from `wait` or `look`.
        unsettled: What was taken, and may have to be taken in again.

    Raises:
        OSError: There is no room for it, or too many files are open.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._memory = mmap.mmap(-1, _NUMBERS + room)
        self._numbers = memoryview(self._memory)[:_NUMBERS].cast("Q")
        self._file = _open_file()
        self._hang_bell()
        self._end = _NUMBERS + room
        self._at, self._until = _NUMBERS, self._end  # where is added, and up to where, as far as is known
        self._before = -_NUMBERS  # what is added to that gives what was added of all
        fence = _fence()
        self._release, self._acquire = fence.release, fence.acquire
        self._before_taken = _fence()
        self._emptying = threading.Lock()
        self._is_in_file = False  # where the bytes stand that were looked at
        self.is_over = False
        self.unsettled = Unsettled()

    def _hang_bell(self) -> None:
        self._heard, self._bell = os.pipe()
        os.set_blocking(self._bell, False)

    # Who adds. In one thread at a time.

    def add_only(self) -> None:
        """Another process takes."""
        os.close(self._heard)
        self._heard = -1

    def begin_anew(self) -> None:
        """Another process is about to be forked that takes: the one that took is no more.

        Raises:
            OSError: Too many files are open.
        """
        heard, bell = self._heard, self._bell
        self._hang_bell()
        os.close(bell)
        if heard >= 0:  # one was about to be forked before, and could not be
            os.close(heard)

    def add(self, head: bytes, data: bytes) -> bool:
        """Put it behind all that is there; False if it finds no room in memory. Once it is there, it stays there.

        Args:
            head: What stands before the data.
            data: The bytes.
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
        self._numbers[_ADDED] = end + self._before
        return True

    def _add_around(self, data: bytes) -> bool:
        """See how much room there is now; where that is in two pieces, fill both."""
        numbers = self._numbers
        size = len(data)
        room = self._room - (numbers[_ADDED] - numbers[_TAKEN])
        if size > room or numbers[_FILE_TAKEN] != numbers[_FILE_ADDED]:
            return False
        at = self._at
        fitting = min(size, self._end - at)
        self._memory[at : at + fitting] = data[:fitting]
        at += fitting
        if at == self._end:
            at = _NUMBERS + size - fitting
            self._memory[_NUMBERS:at] = data[fitting:]
            self._before += self._room
        self._release()
        self._acquire()
        self._at = at
        self._until = min(self._end, at + room - size)
        numbers[_ADDED] = at + self._before
        return True

    def add_to_file(self, head: bytes, data: bytes, limit: int | None) -> bool:
        """Put it behind all that is there, into the file; False if it finds no room there either.

        Args:
            head: What stands before the data.
            data: The bytes.
            limit: Bytes that the file has with it, at most; None for what the disk holds.
        """
        pieces: list[bytes | memoryview] = [head, data]
        size = len(head) + len(data)
        with self._emptying:
            at = self._numbers[_FILE_ADDED] - self._numbers[_FILE_BEGAN]
            if self._file is None or (limit is not None and at + size > limit):
                return False
            try:
                while pieces:
                    written = os.pwritev(self._file, pieces, at)
                    at += written
                    _take_away(pieces, written)
            except OSError:
                return False
            self._numbers[_FILE_ADDED] += size
            self._until = 0  # until it has been read, nothing is added to memory
            return True

    def empty_file(self) -> None:
        """Give back the disk, if all that stands there was taken. In any thread: who adds to memory does not wait for it."""
        with self._emptying:
            numbers = self._numbers
            end = numbers[_FILE_ADDED]
            if self._file is not None and numbers[_FILE_BEGAN] != end == numbers[_FILE_TAKEN]:
                os.ftruncate(self._file, 0)
                numbers[_FILE_BEGAN] = end

    @property
    def held(self) -> int:
        """Bytes that found no room: who adds has them still, or has left them out and counts them."""
        return self._numbers[_HELD]

    @held.setter
    def held(self, size: int) -> None:
        self._numbers[_HELD] = size

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for the bell."""
        return self._numbers[_IS_AWAITED] != 0

    def ring(self) -> None:
        """Let who waits know that something is there."""
        self._numbers[_IS_AWAITED] = 0
        try:
            os.write(self._bell, b"!")
        except OSError:
            return  # it rings already, or nobody listens any more

    def fork(self) -> int:
        """As `os.fork`, in the thread that adds; only one of the two is to go on.

        Raises:
            OSError: There can be no other process.
        """
        with self._emptying:
            return fork()

    def close(self) -> None:
        """Nothing follows."""
        os.close(self._bell)

    # Who takes.

    @property
    def descriptors(self) -> Sequence[int]:
        """Those that are needed for it."""
        return [self._heard] if self._file is None else [self._heard, self._file]

    def look_at(self, limit: int) -> bytes:
        """The oldest bytes that are there, or so many of them; empty if there are none. What was added at once is all there.

        Raises:
            OSError: The disk does not give them.
        """
        numbers = self._numbers
        file_end = numbers[_FILE_ADDED]
        self._look_anew()  # what is found in memory after this is older than what stood in the file before
        start, end = numbers[_TAKEN], numbers[_ADDED]
        self._look_anew()
        size = min(end - start, limit)
        self._is_in_file = not size
        if size:
            at = start % self._room
            fitting = min(size, self._room - at)
            data = self._memory[_NUMBERS + at : _NUMBERS + at + fitting]
            return data if fitting == size else data + self._memory[_NUMBERS : _NUMBERS + size - fitting]
        start = numbers[_FILE_TAKEN]
        if self._file is None or start == file_end:
            return b""
        return os.pread(self._file, min(file_end - start, limit), start - numbers[_FILE_BEGAN])

    def take(self, data: bytes) -> None:
        """Take these, with which begins what was looked at last."""
        self.unsettled.add(data, self.taken)
        self._look_anew()
        self._numbers[_FILE_TAKEN if self._is_in_file else _TAKEN] += len(data)

    @property
    def taken(self) -> int:
        """Bytes of all that were taken."""
        return self._numbers[_TAKEN] + self._numbers[_FILE_TAKEN]

    def _look_anew(self) -> None:
        self._before_taken.release()
        self._before_taken.acquire()

    @property
    def left(self) -> int:
        """Bytes that are there."""
        numbers = self._numbers
        return numbers[_ADDED] - numbers[_TAKEN] + numbers[_FILE_ADDED] - numbers[_FILE_TAKEN]

    @property
    def needs_care(self) -> bool:
        """Whether who adds has something to do once all is taken: to give back the disk, or to add what found no room."""
        numbers = self._numbers
        return numbers[_FILE_ADDED] != numbers[_FILE_BEGAN] or numbers[_HELD] != 0

    def wait(self, seconds: float | None) -> None:
        """Wait until something is there, or nobody is left who could add, or for so long; now and then for less."""
        numbers = self._numbers
        numbers[_IS_AWAITED] = 1
        self._look_anew()
        if not self.left:
            self.look(_LOOK_SECONDS if seconds is None else min(seconds, _LOOK_SECONDS))
        numbers[_IS_AWAITED] = 0

    def look(self, seconds: float) -> None:
        """See whether nobody is left who could add; wait so long for that, or for the bell."""
        listening = select.poll()
        listening.register(self._heard, select.POLLIN)
        if listening.poll(1000 * seconds):
            self.is_over = not os.read(self._heard, 4096)


def _fence() -> threading.Lock:
    """A lock that one thread gives back and takes again: what it wrote and read before has happened then, for every other processor.

    Else a number could be seen earlier than the bytes that it tells of, on a processor that reorders what it writes. This is the one thing
    in Python that is sure to forbid it, and asks nothing of the system.
    """
    fence = threading.Lock()
    fence.acquire()
    return fence


def _open_file() -> int | None:
    """A file without a name, that this user alone can reach; None where there is no place for one."""
    for folder in (os.environ.get("TMPDIR", FOLDERS[0]), *FOLDERS):
        path = f"{folder}/tui-host-{os.urandom(8).hex()}"
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            os.unlink(path)  # noqa: PTH108 - pathlib takes as long to import as all else
        except OSError:
            continue
        return file
    return None


def _take_away(pieces: list[bytes | memoryview], size: int) -> None:
    """So many bytes of them, from the beginning."""
    while pieces and size >= len(pieces[0]):
        size -= len(pieces.pop(0))
    if size:
        pieces[0] = memoryview(pieces[0])[size:]
