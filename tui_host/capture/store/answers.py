"""Stores the records of a model's answer in one row, since many small rows take twice the room.

The row stands at the key of the first record and has its kind. Its `data` unpacks to the number of records (4 bytes), a header for
each (see `_HEADER`), then the heads and the data of all, in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from struct import Struct, error
from typing import Final, TypeAlias

from tui_host.capture.record import Direction, Kind

PlainRow: TypeAlias = "tuple[int, int, int, int, Kind, Direction | None, str | None, str | None, bytes]"
"""A record as it is stored without packing: key, place, time, monotonic time, kind, direction, encoding, head, data."""
Part: TypeAlias = "tuple[int, int, int, Kind, str | None, bytes]"
"""One record of an answer: key, time, monotonic time, kind, head, data."""

LONGEST = 1024
"""Records in one row, at most."""
SPAN = 1 << 14
"""Keys from its first to its last, at most: where a record may stand is looked for no farther."""
KINDS: Final[Sequence[Kind]] = ("response", "chunk", "end", "error")
"""The order is part of the form."""
_HEADER = Struct("<BHqqII")
"""The kind's place in `KINDS`; the distances to the record before in key, in monotonic clock, and how much farther the wall clock
went; the bytes of its head, 0 without one; the bytes of its data."""
_COUNT = Struct("<I")


def pack_run(run: Sequence[PlainRow]) -> bytes:
    """Return the bytes of some records, before compression."""
    headers: list[bytes] = [_COUNT.pack(len(run))]
    contents: list[bytes] = []
    for (last_key, _, last_time, last_mono, *_), row in pairwise((run[0], *run)):
        key, _, time_ns, mono_ns, kind, _, _, text, data = row
        head, step = (text or "").encode(), mono_ns - last_mono
        drift = time_ns - last_time - step
        headers.append(_HEADER.pack(KINDS.index(kind), key - last_key, step, drift, len(head), len(data)))
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
    for kind, key_step, step, drift, head_size, size in headers:
        key, mono_ns, time_ns = key + key_step, mono_ns + step, time_ns + step + drift
        head = packed[at : at + head_size].decode() if head_size else None
        at += head_size + size
        yield key, time_ns, mono_ns, KINDS[kind], head, packed[at - size : at]
