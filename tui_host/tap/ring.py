"""The recorder's side of the ring: reads whole items in order, and frees those whose records are stored."""

from __future__ import annotations

import mmap
import os
from typing import NamedTuple

from tui_host.tap import relay

AT_ONCE = 256 << 10  # bytes to read, so that what is stored is freed soon
MOST_AT_ONCE = 2 << 20  # if an item is larger; more than any item has
BURST, MOST_HELD = 4 << 10, 10
"""Bytes since the last look, with which a host is busy and gets the processor, for so many looks."""


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
        self.words = words = memoryview(self._memory)[: relay.HEAD_BYTES].cast("Q")
        self.earlier = words[relay.RECORDERS]
        self.stored_seq = words[relay.FREED_SEQ]  # the last record of the recorder before whose item was freed
        words[relay.RECORDERS] += 1
        words[relay.FREED_SEQ] = 0
        self.taken = words[relay.TAKEN] = words[relay.FREED]  # bytes read, by all recorders
        self._seen: int = self.taken
        self._held = 0

    def read(self, most: int = AT_ONCE) -> list[Item]:
        """Take the next items that were there at the last call, so that their bytes have reached this processor."""
        added, seen = self.words[relay.ADDED], self._seen
        size, self._seen = min(seen - self.taken, most), added
        if added - seen > BURST and size < most == AT_ONCE and self._held < MOST_HELD:
            self._held += 1
            return []
        self._held = 0
        start = relay.HEAD_BYTES + (self.taken - self.words[relay.BASE]) % self._room
        block = self._memory[start : start + size]
        block += self._memory[relay.HEAD_BYTES : relay.HEAD_BYTES + size - len(block)]
        items, at = list[Item](), 0
        while size - at >= relay.ITEM.size:
            kind, at_ns, length, number = relay.ITEM.unpack_from(block, at)
            data_at = at + relay.ITEM.size
            if data_at + length > size:
                break
            at = data_at + length
            items.append(Item(kind, number, at_ns, block[data_at:at]))
        if size == most == AT_ONCE and not items:
            self._seen = seen  # what came since then may not have reached this processor
            return self.read(MOST_AT_ONCE)
        self.taken = self.words[relay.TAKEN] = self.taken + at
        return items

    def free(self, seq: int = 0) -> None:
        """Free all that was taken, because its records are stored, up to the one with this number.

        Bytes still held for a request or a redactor are freed too, and die with the recorder.
        """
        self.words[relay.FREED], self.words[relay.FREED_SEQ] = self.taken, seq
