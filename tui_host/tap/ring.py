"""The recorder's side of the ring: reads whole items in order, and frees those whose records are stored."""

from __future__ import annotations

import mmap
import os
import threading
from typing import NamedTuple

from tui_host.tap import relay

AT_ONCE = 256 << 10  # bytes to read, so that what is stored is freed soon
MOST_AT_ONCE = 2 << 20  # if an item is larger; more than any item has


class Item(NamedTuple):
    """What a relay reported: one of the kinds in `relay`, the exchange's number, the monotonic clock, the data."""

    kind: bytes
    number: int
    at_ns: int
    data: bytes


class RingReader:
    """Reads a relay's items. A recorder that follows `earlier` ones begins after the last item that was freed."""

    def __init__(self, file: int) -> None:
        self._memory = mmap.mmap(file, os.fstat(file).st_size)
        self._room = len(self._memory) - relay.HEAD_BYTES
        self._barrier = threading.Lock()
        self.words = words = memoryview(self._memory)[: relay.HEAD_BYTES].cast("Q")
        self.earlier = words[relay.RECORDERS]
        self.stored_seq = words[relay.FREED_SEQ]  # the last record of the recorder before whose item was freed
        words[relay.RECORDERS] += 1
        words[relay.FREED_SEQ] = 0
        self.taken = words[relay.FREED]  # bytes read since the ring began, by all recorders

    def read(self, most: int = AT_ONCE) -> list[Item]:
        """Return the next items and take them."""
        added = self.words[relay.ADDED]
        with self._barrier:  # what a counter counts may otherwise be seen after the counter
            size = min(added - self.taken, most)
        start = relay.HEAD_BYTES + (self.taken - self.words[relay.BASE]) % self._room
        block = self._memory[start : start + size]
        block += self._memory[relay.HEAD_BYTES : relay.HEAD_BYTES + size - len(block)]
        items: list[Item] = []
        at = 0
        while size - at >= relay.ITEM.size:
            kind, at_ns, length, number = relay.ITEM.unpack_from(block, at)
            data_at = at + relay.ITEM.size
            if data_at + length > size:
                break
            at = data_at + length
            items.append(Item(kind, number, at_ns, block[data_at:at]))
        self.taken += at
        return self.read(MOST_AT_ONCE) if size == most == AT_ONCE and not items else items

    def free(self, seq: int = 0) -> None:
        """Free all that was taken, because its records are stored, up to the one with this number."""
        self.words[relay.FREED], self.words[relay.FREED_SEQ] = self.taken, seq

    @property
    def has_more(self) -> bool:
        """Whether there are items to take."""
        return self.words[relay.ADDED] != self.taken
