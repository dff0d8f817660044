"""Stores the records of a model's answer in one row, since many small rows take twice the room.

The row stands at the key of the first record and has its kind. Its `data` unpacks to the number of records (4 bytes), a header for
each (see `_HEADER`), then the heads and the data of all, in order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import pairwise
from struct import Struct, error
from typing import Final, NamedTuple

from tui_host.capture.record import Kind
from tui_host.capture.store.bodies import LARGE, Packer

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

_STORED = f"""
    SELECT key, time, mono, kind, encoding, head, data FROM records
    WHERE place = ? AND direction = 'in' AND malformed IS NULL AND redacted IS NULL AND size IS NULL AND length(data) < {LARGE}
    ORDER BY key
"""  # noqa: S608 - a constant alone
"""Without large ones: they have been packed by themselves, or were found not to shrink."""
_DELETE = "DELETE FROM records WHERE key = ?"
_INSERT = """
    INSERT INTO records (key, place, time, mono, kind, direction, encoding, base, size, last, data)
    VALUES (?, ?, ?, ?, ?, 'in', ?, ?, ?, ?, ?)
"""


class Piece(NamedTuple):
    """One record of an answer."""

    key: int
    time_ns: int
    mono_ns: int
    kind: Kind
    encoding: str | None
    head: str | None
    data: bytes


class Answers:
    """Joins the records of answers, in the writer's open transaction."""

    def __init__(self, connection: sqlite3.Connection, packer: Packer) -> None:
        self._connection = connection
        self._packer = packer

    def join(self, place: int, session: str | None, new: Sequence[Piece]) -> Sequence[Piece]:
        """Join the stored records of a place and the new ones; returns those of the new that need rows of their own."""
        stored = [Piece(*row) for row in self._connection.execute(_STORED, (place,)).fetchall()]
        last = stored[-1].key if stored else 0
        alone: list[Piece] = []
        for run in _runs_of([*stored, *new]):
            if len(run) > 1:
                self._connection.executemany(_DELETE, ((piece.key,) for piece in run if piece.key <= last))
                self._insert(place, session, run)
            elif run[0].key > last:
                alone += run
        return alone

    def _insert(self, place: int, session: str | None, run: Sequence[Piece]) -> None:
        first, whole = run[0], pack_run(run)
        packed = self._packer.pack_answer(first.key, session, whole)
        stamps = first.key, place, first.time_ns, first.mono_ns
        row = (*stamps, first.kind, first.encoding, packed.base, packed.size, run[-1].key, packed.data)
        self._connection.execute(_INSERT, row)


def _runs_of(pieces: Sequence[Piece]) -> Iterator[Sequence[Piece]]:
    run: list[Piece] = []
    for piece in pieces:
        if run and (len(run) >= LONGEST or piece.key - run[0].key >= SPAN or piece.encoding != run[0].encoding):
            yield run
            run = []
        run.append(piece)
    if run:
        yield run


def pack_run(run: Sequence[Piece]) -> bytes:
    """Return the bytes of some records, before compression."""
    headers: list[bytes] = [_COUNT.pack(len(run))]
    contents: list[bytes] = []
    for before, piece in pairwise((run[0], *run)):
        head, mono_step = (piece.head or "").encode(), piece.mono_ns - before.mono_ns
        wall_step = piece.time_ns - before.time_ns - mono_step
        kind = KINDS.index(piece.kind)
        headers.append(_HEADER.pack(kind, piece.key - before.key, mono_step, wall_step, len(head), len(piece.data)))
        contents += head, piece.data
    return b"".join((*headers, *contents))


def unpack_run(first: Piece) -> Iterator[Piece]:
    """Yield the records of a row, in order.

    Raises:
        ValueError: The data is none of a row of records.
    """
    key, time_ns, mono_ns, _, encoding, _, whole = first
    try:
        (count,) = _COUNT.unpack_from(whole)
        at = _COUNT.size + count * _HEADER.size
        headers = [*_HEADER.iter_unpack(whole[_COUNT.size : at])]
    except error as damage:
        raise ValueError(str(damage)) from damage
    for kind, key_step, mono_step, wall_step, head_size, size in headers:
        key, mono_ns, time_ns = key + key_step, mono_ns + mono_step, time_ns + mono_step + wall_step
        head = whole[at : at + head_size].decode() if head_size else None
        at += head_size + size
        yield Piece(key, time_ns, mono_ns, KINDS[kind], encoding, head, whole[at - size : at])
