"""The recorder's side of the ring: reads whole items in order, and frees those whose records are stored."""

from __future__ import annotations

import mmap
import os
import threading
from typing import NamedTuple

from tui_host.tap.relay import (
    ADDED,
    FREED,
    FREED_SEQ,
    GROUP,
    HEAD_BYTES,
    IS_ENDED,
    IS_WELL,
    ITEM,
    RECORDERS,
    SKIP,
    SKIPPED,
    TAKEN,
    TRIES,
)

AT_ONCE = 1 << 20
"""Bytes to read at once."""
MOST_TRIES = 3
"""Number of recorders that may die over the same items before another one passes over these."""
PUNCH_BYTES = 1 << 20
"""Bytes to free before their memory is returned to the system."""


class Item(NamedTuple):
    """What a relay reported.

    Attributes:
        kind: One of the kinds in `relay`.
        number: Number of the exchange; 0 without exchanges.
        at_ns: Time on the monotonic clock.
    """

    kind: bytes
    number: int
    at_ns: int
    data: bytes


class RingReader:
    """Reads a relay's items. A recorder that follows another one begins after the last item that was freed.

    Args:
        file: The ring's descriptor.

    Attributes:
        taken: Number of bytes read since the ring began, by all recorders.
        recorders: Number of recorders before this one.
        freed_seq: The number of the last record of the recorder before whose item was freed.
    """

    def __init__(self, file: int) -> None:
        self._memory = mmap.mmap(file, os.fstat(file).st_size)
        self._words = memoryview(self._memory)[:HEAD_BYTES].cast("Q")
        self._room = len(self._memory) - HEAD_BYTES
        self._barrier = threading.Lock()
        self.recorders, self.freed_seq = self._words[RECORDERS], self._words[FREED_SEQ]
        self._words[RECORDERS] += 1
        self._words[FREED_SEQ] = 0
        self._words[TRIES] += 1
        if self._words[TRIES] > MOST_TRIES:
            self._words[SKIPPED] += self._words[TAKEN] - self._words[FREED]
            self._words[FREED], self._words[TRIES] = self._words[TAKEN], 1
        self.taken = self._punched = self._words[FREED]

    def read(self) -> list[Item]:
        """Return the next items, about a megabyte of them, and take them."""
        added = self._words[ADDED]
        with self._barrier:  # what a counter counts may otherwise be seen after the counter
            pass
        items: list[Item] = []
        until = min(added, self.taken + AT_ONCE)
        while self.taken < until:
            at = HEAD_BYTES + self.taken % self._room
            rest = len(self._memory) - at
            if rest < ITEM.size:  # too narrow for an item: the next one is at the beginning
                self.taken += rest
                continue
            kind, at_ns, size, number = ITEM.unpack_from(self._memory, at)
            start = at + ITEM.size
            if kind != SKIP:
                items.append(Item(kind, number, at_ns, self._memory[start : start + size]))
            self.taken += ITEM.size + size
        self._words[TAKEN] = self.taken
        return items

    def free(self, seq: int = 0) -> None:
        """Free all that was taken, because its records are stored, up to the one with this number."""
        while hasattr(mmap, "MADV_REMOVE") and self.taken - self._punched >= PUNCH_BYTES:
            self._punch()
        self._words[FREED], self._words[FREED_SEQ] = self.taken, seq
        self.forgive()

    def forgive(self) -> None:
        """Begin to count anew how many recorders die over the same items."""
        self._words[TRIES] = 0

    def _punch(self) -> None:
        """Return the memory of freed items to the system, up to the end of the ring."""
        start = self._punched % self._room
        end = min(start + self.taken - self._punched, self._room)
        self._punched += end - start
        # Pages that hold more than freed items stay.
        first = -(-(HEAD_BYTES + start) // mmap.PAGESIZE) * mmap.PAGESIZE
        last = (HEAD_BYTES + end) // mmap.PAGESIZE * mmap.PAGESIZE
        if last > first:
            self._memory.madvise(mmap.MADV_REMOVE, first, last - first)

    @property
    def unfreed(self) -> int:
        """Number of bytes that were taken and not freed."""
        return self.taken - self._words[FREED]

    @property
    def has_more(self) -> bool:
        """Whether there are items to take."""
        return self._words[ADDED] != self.taken

    @property
    def is_ended(self) -> bool:
        """Whether the relay has ended in order."""
        return self._words[IS_ENDED] != 0

    @property
    def group(self) -> int:
        """The process group of the relay's server; 0 without one."""
        return self._words[GROUP]

    def say_well(self, *, is_well: bool) -> None:
        """Let the relay know whether recording works."""
        self._words[IS_WELL] = is_well
