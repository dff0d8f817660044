"""Stores a complete answer of a model as a single row, since many small rows take twice the room.

A run stands at the key of its first record, and has that one's kind. What its row's `data` unpacks to: how many records there are
(4 bytes); for each the distances to the one before it in key, monotonic clock, and how much farther the wall clock went; its
kind's place in `KINDS`; whether it has the row's encoding; the bytes of its head, 0 without one; the bytes of its data. Numbers are
doubled, and one less than that negative where they are negative; 8 bytes each, in the machine's byte order; of one column the first bytes of all
stand first, then the second, so that they pack well. Then heads and data of all, in order.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tui_host.capture.record import Kind
from tui_host.capture.store.stored_bodies import LARGE, Packer

LONGEST = 1024
"""Records in one run, at most."""
SPAN = 1 << 14
"""Keys from its first to its last, at most: where a record may stand is looked for no farther."""
KINDS: Final[Sequence[Kind]] = ("response", "chunk", "end", "error")
"""The order is part of the form."""
_NUMBERS = 7

_PIECES = f"""
    SELECT key, time, mono, kind, encoding, head, data FROM records
    WHERE place = ? AND direction = 'in' AND malformed IS NULL AND redacted IS NULL AND size IS NULL AND length(data) < {LARGE}
    ORDER BY key
"""  # noqa: S608 - a constant alone
"""Without large ones: they have been packed by themselves, or were found not to shrink."""
_INSERT = """
    INSERT INTO records (key, place, time, mono, kind, direction, encoding, base, size, last, data)
    VALUES (?, ?, ?, ?, ?, 'in', ?, ?, ?, ?, ?)
"""


@dataclass(frozen=True, slots=True)
class Piece:
    """One record of a run.

    Attributes:
        encoding: Its content coding; all that have one have the same.
    """

    key: int
    time_ns: int
    mono_ns: int
    kind: Kind
    encoding: str | None
    head: str | None
    data: bytes


class Runs:
    """Joins the records of answers, in the writer's open transaction."""

    def __init__(self, connection: sqlite3.Connection, packer: Packer) -> None:
        self._connection = connection
        self._packer = packer

    def pack(self, place: int, session: str | None) -> None:
        """Join the stored records of a place on the model's wire."""
        for run in _runs_of([Piece(*row) for row in self._connection.execute(_PIECES, (place,)).fetchall()]):
            if len(run) > 1:
                self._connection.executemany("DELETE FROM records WHERE key = ?", ((piece.key,) for piece in run))
                self._insert(place, session, run)

    def keep(self, place: int, session: str | None, pieces: Sequence[Piece]) -> Sequence[Piece]:
        """Store a whole answer as rows of many records; returns the records that need rows of their own."""
        alone: list[Piece] = []
        for run in _runs_of(pieces):
            if len(run) > 1:
                self._insert(place, session, run)
            else:
                alone += run
        return alone

    def _insert(self, place: int, session: str | None, run: Sequence[Piece]) -> None:
        first, last = run[0], run[-1]
        whole = pack_run(run)
        packed = self._packer.pack_answer(first.key, session, whole)
        stamps = first.key, place, first.time_ns, first.mono_ns
        self._connection.execute(
            _INSERT, (*stamps, first.kind, _encoding(run), packed.base, len(whole), last.key, packed.data)
        )


def _runs_of(pieces: Sequence[Piece]) -> Iterator[Sequence[Piece]]:
    run: list[Piece] = []
    for piece in pieces:
        if run and not _goes_on(run, piece):
            yield run
            run = []
        run.append(piece)
    if run:
        yield run


def _goes_on(run: Sequence[Piece], piece: Piece) -> bool:
    if len(run) >= LONGEST or piece.key - run[0].key >= SPAN:
        return False
    return piece.encoding is None or _encoding(run) in {None, piece.encoding}


def _encoding(run: Sequence[Piece]) -> str | None:
    return next((piece.encoding for piece in run if piece.encoding is not None), None)


def pack_run(run: Sequence[Piece]) -> bytes:
    """Return the bytes of a run, before compression."""
    heads = [(piece.head or "").encode() for piece in run]
    steps = list(pairwise([*run[:1], *run]))
    columns = (
        [after.key - before.key for before, after in steps],
        [after.mono_ns - before.mono_ns for before, after in steps],
        [(after.time_ns - before.time_ns) - (after.mono_ns - before.mono_ns) for before, after in steps],
        [KINDS.index(piece.kind) for piece in run],
        [piece.encoding is not None for piece in run],
        [len(head) for head in heads],
        [len(piece.data) for piece in run],
    )
    parts = (part for piece, head in zip(run, heads, strict=True) for part in (head, piece.data))
    return b"".join((len(run).to_bytes(4, "little"), *map(_spread, columns), *parts))


def unpack_run(first: Piece) -> Iterator[Piece]:
    """Yield the records of a run, in order.

    Raises:
        ValueError: The data is not a run.
    """
    whole = first.data
    count = int.from_bytes(whole[:4], "little")
    at = 4 + 8 * _NUMBERS * count
    if len(whole) < at:
        raise ValueError("the run is cut off")
    columns: list[list[int]] = [
        _gathered(whole[4 + 8 * count * i : 4 + 8 * count * (i + 1)], count) for i in range(_NUMBERS)
    ]
    key, time, mono = first.key, first.time_ns, first.mono_ns
    for number in range(count):
        key_step, mono_step, wall_step, kind, is_encoded, head, size = (column[number] for column in columns)
        key, mono, time = key + key_step, mono + mono_step, time + mono_step + wall_step
        yield Piece(
            key,
            time,
            mono,
            KINDS[kind],
            first.encoding if is_encoded else None,
            whole[at : at + head].decode() if head else None,
            whole[at + head : at + head + size],
        )
        at += head + size


def _spread(column: Sequence[int]) -> bytes:
    raw = array("Q", [number << 1 ^ number >> 63 for number in column]).tobytes()
    return b"".join(raw[place::8] for place in range(8))


def _gathered(spread: bytes, count: int) -> list[int]:
    raw = bytearray(8 * count)
    for place in range(8):
        raw[place::8] = spread[place * count : (place + 1) * count]
    return [number >> 1 ^ -(number & 1) for number in array("Q", bytes(raw))]
