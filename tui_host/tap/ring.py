"""The recorder's side of the ring: reads whole items in order, and frees those whose records are stored."""

from __future__ import annotations

import mmap
import os
import threading
from typing import NamedTuple

from tui_host.tap.relay import (
    ADDED,
    BASE,
    FREED,
    FREED_SEQ,
    HEAD_BYTES,
    ITEM,
    RECORDERS,
    SKIPPED,
    TAKEN,
    TRIES,
)

AT_ONCE, MOST_AT_ONCE = 256 << 10, 2 << 20
"""Bytes to read at once, so that what is stored is freed soon; and if an item is larger, more than any item has."""
MOST_TRIES = 3
"""Number of recorders that may die over the same items before another one passes over these."""


class Item(NamedTuple):
    """What a relay reported: one of the kinds in `relay`, the exchange's number, the monotonic clock, the data."""

    kind: bytes
    number: int
    at_ns: int
    data: bytes


class RingReader:
    """Reads a relay's items. A recorder that follows another one begins after the last item that was freed.

    Args:
        file: The ring's descriptor.

    Attributes:
        words: The ring's counters.
        taken: Number of bytes read since the ring began, by all recorders.
        earlier: Number of recorders before this one.
        stored_seq: The number of the last record of the recorder before whose item was freed.
    """

    def __init__(self, file: int) -> None:
        self._memory = mmap.mmap(file, os.fstat(file).st_size)
        self._room = len(self._memory) - HEAD_BYTES
        self._barrier = threading.Lock()
        self.words = words = memoryview(self._memory)[:HEAD_BYTES].cast("Q")
        self.earlier, self.stored_seq = words[RECORDERS], words[FREED_SEQ]
        words[RECORDERS] += 1
        words[FREED_SEQ] = 0
        words[TRIES] += 1
        if words[TRIES] > MOST_TRIES:
            words[SKIPPED] += words[TAKEN] - words[FREED]
            words[FREED], words[TRIES] = words[TAKEN], 1
        self.taken = words[FREED]

    def read(self) -> list[Item]:
        """Return the next items and take them."""
        return self._read(AT_ONCE) or self._read(MOST_AT_ONCE)

    def _read(self, most: int) -> list[Item]:
        added = self.words[ADDED]
        with self._barrier:  # what a counter counts may otherwise be seen after the counter
            size = min(added - self.taken, most)
        start = HEAD_BYTES + (self.taken - self.words[BASE]) % self._room
        block = self._memory[start : start + size]
        block += self._memory[HEAD_BYTES : HEAD_BYTES + size - len(block)]
        items: list[Item] = []
        at = 0
        while size - at >= ITEM.size:
            kind, at_ns, length, number = ITEM.unpack_from(block, at)
            end = at + ITEM.size + length
            if end > size:
                break
            items.append(Item(kind, number, at_ns, block[at + ITEM.size : end]))
            at = end
        self.taken += at
        self.words[TAKEN] = self.taken
        return items

    def free(self, seq: int = 0) -> None:
        """Free all that was taken, because its records are stored, up to the one with this number."""
        self.words[FREED], self.words[FREED_SEQ] = self.taken, seq
        self.words[TRIES] = 0

    @property
    def unfreed(self) -> int:
        """Number of bytes that were taken and not freed."""
        return self.taken - self.words[FREED]

    @property
    def has_more(self) -> bool:
        """Whether there are items to take."""
        return self.words[ADDED] != self.taken
