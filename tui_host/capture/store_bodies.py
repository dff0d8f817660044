"""Bodies kept against earlier ones: each request of a conversation repeats the one before it and adds a little.

The bodies of one conversation are numbered as they come. Number n is a zstd frame whose prefix is the body of the number n with
its lowest bit cleared (5 against 4, 6 against 4, 8 against 0): half of them stand against the one just before, and none is more
than the number's bits away from a whole one. Source: performance.md, Capture.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tui_host.capture.schema import SEQ_BITS
from tui_host.capture.store_zstd import LONGEST, compress, decompress

SMALL = 512
"""Bytes of a request's body below which packing gains nothing."""
LARGE = 16 << 10
"""Bytes from which anything else is packed too, by itself."""
GOOD = 8
"""A body packed to less than this part of it has found what it repeats."""
WORTH = 0.9
"""The part of itself to which something must shrink, else it is kept as it is."""
CHAINS = 3
"""Conversations told apart in one session: its own, and other calls in between."""
SESSIONS = 8
"""Sessions whose chains are remembered."""
DEEPEST = 16
"""Bodies to be unpacked for one; a longer way begins anew with a whole body."""
RECENT = 8 << 20
"""Bytes of bodies held in memory, at most."""

_PACKED = "SELECT base, size, data FROM records WHERE key = ?"
_LAST = """
    SELECT max(records.key) FROM places JOIN records ON records.place = places.key
    WHERE session = ? AND wire = 'llm' AND direction = 'out' AND kind = 'request' AND records.key < ?
"""


@dataclass(frozen=True, slots=True)
class Packed:
    """Data as the database keeps it.

    Attributes:
        data: A zstd frame, or the bytes as they are.
        size: Of the bytes that the frame unpacks to; None if it is none.
        base: The key of the record whose data is the frame's prefix; None if it has none.
    """

    data: bytes
    size: int | None = None
    base: int | None = None


class Bodies:
    """Reads data back, whatever it stands against; the last ones read are remembered."""

    def __init__(self, room: int = RECENT) -> None:
        self._room = room
        self._held = 0
        self._recent: OrderedDict[int, bytes] = OrderedDict()

    def forget(self) -> None:
        """Read from the database again."""
        self._recent.clear()
        self._held = 0

    def hold(self, key: int, data: bytes) -> None:
        """Remember a body."""
        self._held += len(data) - len(self._recent.pop(key, b""))
        self._recent[key] = data
        while self._held > self._room and len(self._recent) > 1:
            self._held -= len(self._recent.popitem(last=False)[1])

    def read(self, connection: sqlite3.Connection, key: int) -> bytes:
        """The data of a record, unpacked.

        Raises:
            ValueError: It is damaged, or not there.
        """
        held = self._recent.get(key)
        if held is not None:
            self._recent.move_to_end(key)
            return held
        row: tuple[int | None, int | None, bytes] | None = connection.execute(_PACKED, (key,)).fetchone()
        if row is None:
            raise ValueError("what it stands against is not there")
        return self.unpack(connection, key, Packed(data=row[2], size=row[1], base=row[0]))

    def unpack(self, connection: sqlite3.Connection, key: int, packed: Packed) -> bytes:
        """The data of a record whose row is at hand.

        Raises:
            ValueError: It, or what it stands against, is damaged.
        """
        if packed.size is None:
            return packed.data
        waiting = [(key, packed)]
        prefix = b""
        while (base := waiting[-1][1].base) is not None:
            if base in self._recent:
                prefix = self.read(connection, base)
                break
            row: tuple[int | None, int | None, bytes] | None = connection.execute(_PACKED, (base,)).fetchone()
            if row is None:
                raise ValueError("what it stands against is not there")
            waiting.append((base, Packed(data=row[2], size=row[1], base=row[0])))
        for each, part in reversed(waiting):
            prefix = part.data if part.size is None else decompress(part.data, prefix)
            self.hold(each, prefix)
        return prefix


@dataclass(slots=True)
class _Chain:
    """Bodies that repeat each other.

    Attributes:
        count: How many came.
        path: Number, key and depth of those that the next ones may stand against, the last one last.
        size: Of the last one.
    """

    count: int = 0
    path: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    size: int = 0

    def base(self) -> tuple[int, int]:
        """Key and depth of the body that the next one stands against."""
        number = self.count & (self.count - 1)
        return next((key, depth) for at, key, depth in reversed(self.path) if at <= number)

    def add(self, key: int, depth: int, size: int) -> None:
        """The next one has come."""
        number = self.count & (self.count - 1)
        while self.path and self.path[-1][0] > number:
            self.path.pop()
        self.path.append((self.count, key, depth))
        self.count += 1
        self.size = size


class Packer:
    """Packs what the writer is about to insert, in its open transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._bodies = Bodies()
        self._sessions: OrderedDict[str, list[_Chain]] = OrderedDict()

    def forget(self) -> None:
        """Begin anew: what was packed last may be gone with its transaction, or deleted."""
        self._sessions.clear()
        self._bodies.forget()

    def pack(self, data: bytes) -> Packed:
        """Something that repeats nothing, as small as it gets by itself."""
        if len(data) < LARGE:
            return Packed(data)
        return _smaller(data, compress(data))

    def pack_request(self, key: int, session: str | None, data: bytes) -> Packed:
        """A model request's body, against an earlier one of the same session.

        Args:
            key: The key that its record will have: greater than those of all that it may stand against.
            session: The session; None for what belongs to none.
            data: The body.
        """
        if len(data) < SMALL:
            return Packed(data)
        chains = self._chains(session, key)
        best: tuple[bytes, _Chain, int, int] | None = None
        for chain, base, depth, prefix in self._candidates(chains, data):
            frame = compress(data, prefix)
            if best is None or len(frame) < len(best[0]):
                best = frame, chain, base, depth
            if len(frame) * GOOD < len(data):
                break
        self._bodies.hold(key, data)
        if best is None or len(best[0]) * GOOD >= len(data):
            frame = compress(data)
            if best is None or len(frame) <= len(best[0]):
                chain = _Chain()
                chain.add(key, 0, len(data))
                chains[:] = [chain, *chains[: CHAINS - 1]]
                return _smaller(data, frame)
        frame, chain, base, depth = best
        chain.add(key, depth + 1, len(data))
        chains.remove(chain)
        chains.insert(0, chain)
        return Packed(data=frame, size=len(data), base=base)

    def _candidates(self, chains: list[_Chain], data: bytes) -> Iterator[tuple[_Chain, int, int, bytes]]:
        """What the body may stand against, the likeliest first: with the key, the depth and the bytes."""
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
        """The session's chains, that of the last one used first; at first what an earlier process kept of it."""
        name = session or str(key >> SEQ_BITS)  # a capture goes as a whole, and so does a session
        chains = self._sessions.get(name)
        if chains is None:
            chains = self._sessions[name] = []
            if session:
                chains += self._earlier(session, key)
            while len(self._sessions) > SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(name)
        return chains

    def _earlier(self, session: str, key: int) -> list[_Chain]:
        last: int | None = self._connection.execute(_LAST, (session, key)).fetchone()[0]
        if last is None:
            return []
        chain = _Chain()
        depth, base = -1, last
        size = 0
        while base is not None and depth < DEEPEST:
            row: tuple[int | None, int | None, int] | None = self._connection.execute(
                "SELECT base, size, length(data) FROM records WHERE key = ?", (base,)
            ).fetchone()
            if row is None:
                return []
            size = size or row[1] or row[2]
            depth, base = depth + 1, row[0]
        chain.add(last, depth, size)
        return [chain]


def _smaller(data: bytes, frame: bytes) -> Packed:
    return Packed(data=frame, size=len(data)) if len(frame) < len(data) * WORTH else Packed(data)
