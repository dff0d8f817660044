"""Compresses bodies against earlier ones: each request of a conversation repeats the last one and adds a little.

The bodies of one conversation are numbered as they come, and each is a zstd frame whose prefix is an earlier one: that of its
number without the lowest bit (5 against 4, 6 against 4), but never more than 16 before, save at every 128th, where it is half the
way back. So half of them stand against the one just before, and none of 200 is farther than 13 steps from a whole one.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from tui_host.capture.store.schema import SEQ_BITS

SMALL = 512
"""Bytes of a request's body below which packing gains nothing."""
LARGE = 16 << 10
"""Bytes from which anything else is packed too, by itself."""
GOOD = 16
"""A body packed to less than this part of it has found what it repeats: no other is tried."""
GOOD_ANSWER = 8
"""An answer packed to less than this part of it is not tried by itself."""
LIKE = 0.8
"""The part of what a body takes by itself to which an earlier one must bring it, else it begins a chain of its own."""
WORTH = 0.9
"""The part of itself to which something must shrink, else it is kept as it is."""
NEAR, ROUND = 16, 128
"""How far before it a body's prefix is at most; at multiples of the second it is farther, so that the way back stays short."""
CHAINS = 4
"""Conversations told apart in one session: its own, and other calls in between."""
SESSIONS = 8
"""Sessions whose chains are remembered."""
DEEPEST = 32
"""Bodies to be unpacked for one; a longer way begins anew with a whole body."""
RECENT = 8 << 20
"""Bytes of bodies held in memory, at most."""
GREAT = 16 << 20
"""Bytes from which a body stands by itself: to pack it against another takes several times the memory of both."""

_PACKED = "SELECT base, size, data FROM records WHERE key = ?"


@dataclass(frozen=True, slots=True)
class Packed:
    """Data as it is stored, possibly compressed.

    Attributes:
        data: A zstd frame, or the bytes as they are.
        size: Number of bytes after unpacking; None for data that is not compressed.
        base: Key of the record whose data is the frame's prefix; None without a prefix.
    """

    data: bytes
    size: int | None = None
    base: int | None = None


class Bodies:
    """Reads stored data, with all bases; the last bodies read are cached."""

    def __init__(self) -> None:
        self._held = 0
        self._recent: OrderedDict[int, bytes] = OrderedDict()

    def forget(self) -> None:
        """Forget the cache, to read from the database again."""
        self._recent.clear()
        self._held = 0

    def hold(self, key: int, data: bytes) -> None:
        """Remember a body."""
        self._held += len(data) - len(self._recent.pop(key, b""))
        self._recent[key] = data
        while self._held > RECENT and len(self._recent) > 1:
            self._held -= len(self._recent.popitem(last=False)[1])

    def read(self, connection: sqlite3.Connection, key: int) -> bytes:
        """Return the data of a record, unpacked.

        Raises:
            ValueError: The data is damaged or missing.
        """
        held = self._recent.get(key)
        if held is not None:
            self._recent.move_to_end(key)
            return held
        return self.unpack(connection, key, _packed(connection, key))

    def unpack(self, connection: sqlite3.Connection, key: int, packed: Packed) -> bytes:
        """Return the data of a record with a row at hand.

        Raises:
            ValueError: The data, or its base, is damaged.
        """
        if packed.size is None:
            return packed.data
        from tui_host.capture.content_codings import decompress

        waiting = [(key, packed)]
        prefix = b""
        while (base := waiting[-1][1].base) is not None:
            if base in self._recent:
                prefix = self.read(connection, base)
                break
            waiting.append((base, _packed(connection, base)))
        for base_key, part in reversed(waiting):
            prefix = part.data if part.size is None else decompress(part.data, prefix)
            self.hold(base_key, prefix)
        return prefix


def _packed(connection: sqlite3.Connection, key: int) -> Packed:
    row: tuple[int | None, int | None, bytes] | None = connection.execute(_PACKED, (key,)).fetchone()
    if row is None:
        raise ValueError("what it stands against is not there")
    return Packed(data=row[2], size=row[1], base=row[0])


@dataclass(slots=True)
class _Chain:
    """Bodies with common content.

    Attributes:
        count: How many came.
        path: Number, key and depth of those that the next ones may stand against, the last one last.
        size: Of the last one.
    """

    count: int = 0
    path: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    size: int = 0

    def base(self) -> tuple[int, int]:
        """Return key and depth of the base for the next body."""
        return next((key, depth) for at, key, depth in reversed(self.path) if at <= self._number())

    def add(self, key: int, depth: int, size: int) -> None:
        """Add the next body."""
        while self.path and self.path[-1][0] > self._number():
            self.path.pop()
        self.path.append((self.count, key, depth))
        self.count += 1
        self.size = size

    def _number(self) -> int:
        """Return the number of the base for the next body."""
        bit = self.count & -self.count
        if bit > NEAR and self.count % ROUND:
            return self.count - NEAR
        return self.count - bit or self.count // 2


class Packer:
    """Compresses data before insertion, in the writer's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._bodies = Bodies()
        self._sessions: OrderedDict[str, list[_Chain]] = OrderedDict()
        self._answers: OrderedDict[str, int] = OrderedDict()

    def forget(self) -> None:
        """Forget earlier bodies, which may be rolled back or deleted."""
        self._sessions.clear()
        self._answers.clear()
        self._bodies.forget()

    def pack(self, data: bytes) -> Packed:
        """Compress data without a base."""
        if len(data) < LARGE:
            return Packed(data)
        from tui_host.capture.content_codings import compress

        return _smaller(data, compress(data))

    def pack_answer(self, key: int, session: str | None, whole: bytes) -> Packed:
        """Compress the run of a model's answer against an earlier run of the session stored without a base.

        Returns:
            A frame, whether it is smaller or not.
        """
        from tui_host.capture.content_codings import compress

        name = _name(key, session)
        before = self._answers.get(name)
        frame: bytes | None = None
        if before is not None:
            with suppress(ValueError):  # damaged, or deleted since
                frame = compress(whole, self._bodies.read(self._connection, before))
            if frame is not None and len(frame) * GOOD_ANSWER < len(whole):
                return Packed(data=frame, size=len(whole), base=before)
        alone = compress(whole)
        if frame is not None and len(frame) < len(alone):
            return Packed(data=frame, size=len(whole), base=before)
        self._bodies.hold(key, whole)
        self._answers[name] = key
        if len(self._answers) > SESSIONS:
            self._answers.popitem(last=False)
        return Packed(data=alone, size=len(whole))

    def pack_request(self, key: int, session: str | None, data: bytes) -> Packed:
        """Compress the body of a model's request against an earlier body of the session.

        Args:
            key: The key that its record will have: greater than those of all that it may stand against.
            session: The session; None for what belongs to none.
            data: The body.
        """
        if len(data) < SMALL:
            return Packed(data)
        if len(data) > GREAT:
            return self.pack(data)
        from tui_host.capture.content_codings import compress

        chains = self._chains(session, key)
        best: tuple[bytes, _Chain, int, int] | None = None
        for chain, base, depth, prefix in self._candidates(chains, data):
            frame = compress(data, prefix)
            if best is None or len(frame) < len(best[0]):
                best = frame, chain, base, depth
            if len(frame) * GOOD < len(data):
                break
        self._bodies.hold(key, data)
        is_like = True
        if best is None or len(best[0]) * GOOD >= len(data):
            alone = compress(data)
            if best is None or len(best[0]) >= len(alone):
                _begin(chains, key, len(data))
                return _smaller(data, alone)
            is_like = len(best[0]) < len(alone) * LIKE
        frame, chain, base, depth = best
        if is_like and len(data) * 2 >= chain.size:
            chain.add(key, depth + 1, len(data))
            chains.remove(chain)
            chains.append(chain)
        else:  # a question about the conversation, or an answer of another kind: the next ones will not repeat it
            _begin(chains, key, len(data), depth + 1)
        return Packed(data=frame, size=len(data), base=base)

    def _candidates(self, chains: list[_Chain], data: bytes) -> Iterator[tuple[_Chain, int, int, bytes]]:
        """Yield possible bases, the likeliest first: with the key, the depth and the bytes."""
        from tui_host.capture.content_codings import LONGEST

        for chain in sorted(chains, key=lambda chain: abs(chain.size - len(data))):
            base, depth = chain.base()
            if depth + 1 >= DEEPEST:
                continue
            try:
                prefix = self._bodies.read(self._connection, base)
            except ValueError:
                continue  # damaged, or deleted since: what comes stands by itself
            if len(prefix) + len(data) <= LONGEST:
                yield chain, base, depth, prefix

    def _chains(self, session: str | None, key: int) -> list[_Chain]:
        """Return the chains of a session, last used last. None was begun by an earlier process."""
        name = _name(key, session)
        chains = self._sessions.get(name)
        if chains is None:
            chains = self._sessions[name] = []
            while len(self._sessions) > SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(name)
        return chains


def _name(key: int, session: str | None) -> str:
    """Return the group within which bodies may be bases: a session is deleted as a whole, and so is a capture."""
    return session or str(key >> SEQ_BITS)


def _begin(chains: list[_Chain], key: int, size: int, depth: int = 0) -> None:
    """Begin a chain; of too many chains drop one without a second body, or the least recently used."""
    if len(chains) >= CHAINS:
        chains.remove(next((chain for chain in chains if chain.count == 1), chains[0]))
    chain = _Chain()
    chain.add(key, depth, size)
    chains.append(chain)


def _smaller(data: bytes, frame: bytes) -> Packed:
    return Packed(data=frame, size=len(data)) if len(frame) < len(data) * WORTH else Packed(data)
