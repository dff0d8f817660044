"""Keeps bodies small: each request of a conversation repeats the last one and adds a little.

A body is a zstd frame whose prefix is an earlier body. The requests of a conversation go in groups of four: the first of a group
stands against the first of the group before, the others against the first of their own, and every 64th by itself. So no body is
farther than 17 frames from its bytes; the first of a branch stands against the last one that it shares, where that is not farther
than 64 already. The records of an answer share one row, at the key of the first, since many small rows take
twice the room: it unpacks to the number of records (4 bytes), a header for each, then the heads and the data of all, in order.
An answer stands against the first answer of its session. Frames and lines that come in a burst share a row of the same form.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from struct import Struct, error
from typing import Final, NamedTuple, TypeAlias

from tui_host.capture.content_codings import compress, decompress
from tui_host.capture.record import Direction, Kind
from tui_host.capture.store.schema import SEQ_BITS
from tui_host.capture.store.session_records import line_of

PlainRow: TypeAlias = "tuple[int, int, int, int, Kind, Direction | None, str | None, str | None, bytes]"
"""A record as it is stored without packing: key, place, time, monotonic time, kind, direction, encoding, head, data."""
Part: TypeAlias = "tuple[int, int, int, Kind, Direction | None, str | None, bytes]"
"""One of the records in a row: key, time, monotonic time, kind, direction, head, data."""

LONGEST, SPAN = 1024, 1 << 14
"""Records in one row, and keys from its first to its last, at most: where a record may stand is looked for no farther."""
BURST, MOST_OF_BURST = 8, 128
"""Frames or lines, one behind the other at one place, that share a row: at least, since few gain nothing, and at most, since a damaged page costs all."""
OF_ANSWERS: Final[Sequence[Kind]] = ("response", "chunk", "end", "error")
OF_BURSTS: Final[Sequence[tuple[Kind, Direction | None]]] = (("frame", "in"), ("frame", "out"), ("line", "in"))
_JOINED: Sequence[tuple[Kind, Direction | None]] = (*((kind, "in") for kind in OF_ANSWERS), *OF_BURSTS)
_NUMBERS: Mapping[tuple[Kind, Direction | None], int] = {
    joined: number for number, joined in enumerate(_JOINED)
}  # the order is part of the form
_HEADER = Struct("<BHqqII")
"""The place in `_JOINED`; the distances to the record before in key, in monotonic clock, and how much farther the wall clock
went; the bytes of its head, 0 without one; the bytes of its data."""
_COUNT = Struct("<I")
SMALL, LARGE, GREAT = 512, 16 << 10, 16 << 20
"""Bytes of a request's body below which packing gains nothing; from which anything else is packed too, by itself; and from which
a body stands by itself: packed against another it takes several times the memory of both."""
WORTH, ALIKE = 0.9, 0.25
"""The part of itself to which something must shrink, else it is kept as it is; and to which a body that repeats its prefix does."""
GROUP, WHOLE, FARTHEST = 4, 64, 64
CHAINS, RECENT = 64, 8 << 20
"""Chains of bodies that are remembered, and bytes of bodies that are held in memory, at most."""
_BASE = "SELECT base FROM records WHERE key = ?"
_REQUEST = """
    SELECT max(records.key) FROM places CROSS JOIN records ON records.place = places.key
    WHERE session = ? AND turn <= ? AND wire = 'llm' AND kind = 'request' AND size >= ? AND records.key < ?
"""
_PACKED = "SELECT data, size, base FROM records WHERE key = ?"


class Packed(NamedTuple):
    """Data as it is stored: a zstd frame with the number of its bytes and the key of its prefix; or the bytes as they are."""

    data: bytes
    size: int | None = None
    base: int | None = None


@dataclass(slots=True, eq=False)
class Bodies:
    """Reads stored data; the last bodies read are cached."""

    _held: int = 0
    _recent: OrderedDict[int, bytes] = field(default_factory=OrderedDict[int, bytes])

    def hold(self, key: int, data: bytes) -> None:
        self._held += len(data) - len(self._recent.pop(key, b""))
        self._recent[key] = data
        while self._held > RECENT and len(self._recent) > 1:
            self._held -= len(self._recent.popitem(last=False)[1])

    def unpack(self, connection: sqlite3.Connection, key: int, packed: Packed | None = None) -> bytes:
        """Return the data of a record, as stored here or `packed`; raises ValueError where it, or its base, is damaged or missing."""
        if packed is None:
            row: tuple[bytes, int | None, int | None] | None = connection.execute(_PACKED, (key,)).fetchone()
            if row is None:
                raise ValueError("what it stands against is not there")
            packed = Packed(*row)
        if packed.size is None:
            return packed.data
        if key not in self._recent:
            base, prefix = packed.base, b""
            if base is not None:
                if base >= key:
                    raise ValueError("it stands against what came after it")
                prefix = self._recent.get(base) or self.unpack(connection, base)
            self.hold(key, decompress(packed.data, prefix))
        return self._recent[key]


@dataclass(slots=True)
class _Chain:
    """Bodies of one session that repeat each other."""

    count: int = 0
    head: int = 0  # the key of the first of the last group


@dataclass(slots=True, eq=False)
class Packer:
    """Compresses data before insertion, in the writer's transaction; remembers earlier bodies."""

    connection: sqlite3.Connection
    _bodies: Bodies = field(default_factory=Bodies)
    _chains: dict[tuple[str, int], _Chain] = field(default_factory=dict[tuple[str, int], _Chain])

    def pack_answer(self, key: int, session: str | None, data: bytes) -> Packed:
        """Compress the records of a model's answer; returns a frame, whether it is smaller or not."""
        chain, prefix = self._chain(key, session, 0)
        if not prefix and len(data) > SMALL:
            chain.head = key
            self._bodies.hold(key, data)
        return Packed(compress(data, prefix), len(data), chain.head if prefix else None)

    def pack_request(self, key: int, session: str | None, data: bytes) -> Packed:
        """Compress the body of a model's request against an earlier one of the session, whose key is smaller."""
        if not SMALL <= len(data) <= GREAT:
            return pack(data) if data[SMALL:] else Packed(data)
        # Between the requests of a conversation come others, for a title or a summary: they are told apart by size.
        chain, prefix = self._chain(key, session, len(data).bit_length() // 2)
        packed = pack(data, prefix, chain.head) if chain.count % WHOLE and prefix else Packed(data)
        if packed.base is None or len(packed.data) > len(data) * ALIKE:
            chain.count = 0  # what comes will not repeat what came before either
            packed = pack(data)
        if chain.count % GROUP == 0:
            chain.head = key
        chain.count += 1
        self._bodies.hold(key, data)
        return packed

    def _chain(self, key: int, session: str | None, size: int) -> tuple[_Chain, bytes]:
        """Return the bodies of a session, or of a capture for what belongs to no session: both are deleted as a whole."""
        name = session or str(key >> SEQ_BITS), size
        if name not in self._chains and len(self._chains) >= CHAINS:
            self._chains.clear()
        chain = self._chains.get(name)
        if chain is None:
            chain = self._chains[name] = self._branched(key, session, 1 << size) if session and size else _Chain()
        try:
            return chain, self._bodies.unpack(self.connection, chain.head)
        except ValueError:
            return chain, b""  # there is none yet, it was deleted meanwhile, or is damaged

    def _branched(self, key: int, session: str, root: int) -> _Chain:
        """Return a chain that goes on from the last request that a branch shares, of a size like the square of `root`."""
        for part in reversed(line_of(self.connection, session)[:-1]):
            values = part.session, part.turn, root * root // 8, key
            head: int | None = self.connection.execute(_REQUEST, values).fetchone()[0]
            if head is None:
                continue
            base: int | None = head
            for _ in range(FARTHEST):
                (base,) = self.connection.execute(_BASE, (base,)).fetchone() or (None,)
                if base is None:
                    return _Chain(count=1, head=head)
        return _Chain()


def pack(data: bytes, prefix: bytes = b"", base: int | None = None) -> Packed:
    """Compress data, against a prefix or by itself, where that is worth it."""
    frame = compress(data, prefix)
    return Packed(data) if len(frame) > len(data) * WORTH else Packed(frame, len(data), base)


def pack_run(run: Sequence[PlainRow]) -> bytes:
    """Return the bytes of some records, before compression."""
    headers: list[bytes] = [_COUNT.pack(len(run))]
    contents: list[bytes] = []
    for (last_key, _, last_time, last_mono, *_), row in pairwise((run[0], *run)):
        key, _, time_ns, mono_ns, kind, direction, _, text, data = row
        head, step = (text or "").encode(), mono_ns - last_mono
        drift = time_ns - last_time - step
        headers.append(_HEADER.pack(_NUMBERS[kind, direction], key - last_key, step, drift, len(head), len(data)))
        contents += head, data
    return b"".join((*headers, *contents))


def unpack_run(key: int, time_ns: int, mono_ns: int, packed: bytes) -> Iterator[Part]:
    """Yield the records of a row, of which the first has these stamps; raises ValueError for data of none."""
    try:
        (count,) = _COUNT.unpack_from(packed)
        at = _COUNT.size + count * _HEADER.size
        headers = [*_HEADER.iter_unpack(packed[_COUNT.size : at])]
    except error as damage:
        raise ValueError(str(damage)) from damage
    for number, key_step, step, drift, head_size, size in headers:
        key, mono_ns, time_ns = key + key_step, mono_ns + step, time_ns + step + drift
        head = packed[at : at + head_size].decode() if head_size else None
        at += head_size + size
        yield key, time_ns, mono_ns, *_JOINED[number], head, packed[at - size : at]
