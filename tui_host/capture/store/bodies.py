"""Keeps bodies small: each request of a conversation repeats the last one and adds a little.

A body is a zstd frame whose prefix is an earlier body. The requests of a conversation go in groups of four: the first of a group
stands against the first of the group before, the others against the first of their own, and every 64th by itself. So no body is
farther than 17 frames from its bytes. An answer stands against the first answer of its session.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar

from tui_host.capture.store.schema import SEQ_BITS

SMALL = 512
"""Bytes of a request's body below which packing gains nothing."""
LARGE = 16 << 10
"""Bytes from which anything else is packed too, by itself."""
GREAT = 16 << 20
"""Bytes from which a body stands by itself: to pack it against another takes several times the memory of both."""
WORTH = 0.9
"""The part of itself to which something must shrink, else it is kept as it is."""
ALIKE = 4
"""A body packed to less than this part of it repeats its prefix."""
GROUP, WHOLE = 4, 64
SESSIONS = 8
"""Sessions whose conversations are remembered."""
RECENT = 8 << 20
"""Bytes of bodies held in memory, at most."""

T = TypeVar("T")
_PACKED = "SELECT data, size, base FROM records WHERE key = ?"


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
    """Reads stored data; the last bodies read are cached."""

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
        body = self._recent.get(key)
        return self.unpack(connection, key, _packed(connection, key)) if body is None else body

    def unpack(self, connection: sqlite3.Connection, key: int, packed: Packed) -> bytes:
        """Return the data of a record with a row at hand.

        Raises:
            ValueError: The data, or its base, is damaged.
        """
        if packed.size is None:
            return packed.data
        from tui_host.capture.content_codings import decompress

        prefix, waiting = b"", [(key, packed)]
        while (base := waiting[-1][1].base) is not None:
            if base in self._recent:
                prefix = self._recent[base]
                break
            waiting.append((base, _packed(connection, base)))
        for base, part in reversed(waiting):
            prefix = part.data if part.size is None else decompress(part.data, prefix)
            self.hold(base, prefix)
        return prefix


def _packed(connection: sqlite3.Connection, key: int) -> Packed:
    row: tuple[bytes, int | None, int | None] | None = connection.execute(_PACKED, (key,)).fetchone()
    if row is None:
        raise ValueError("what it stands against is not there")
    return Packed(*row)


@dataclass(slots=True)
class _Conversation:
    """Requests that repeat each other.

    Attributes:
        size: Bytes of the last one.
        head: Key of the first one of the last group.
    """

    size: int
    count: int = 0
    head: int = 0

    def add(self, key: int, size: int) -> None:
        if self.count % GROUP == 0:
            self.head = key
        self.count += 1
        self.size = size


class Packer:
    """Compresses data before insertion, in the writer's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._bodies = Bodies()
        self._conversations: OrderedDict[str, list[_Conversation]] = OrderedDict()
        self._answers: OrderedDict[str, int] = OrderedDict()

    def forget(self) -> None:
        """Forget earlier bodies, which may be rolled back or deleted."""
        self._conversations.clear()
        self._answers.clear()
        self._bodies.forget()

    def pack(self, data: bytes) -> Packed:
        """Compress data by itself."""
        return Packed(data) if len(data) < LARGE else _smaller(data, b"", None)

    def pack_answer(self, key: int, session: str | None, whole: bytes) -> Packed:
        """Compress the records of a model's answer; returns a frame, whether it is smaller or not."""
        from tui_host.capture.content_codings import compress

        name = _name(key, session)
        base = self._answers.get(name)
        prefix = self._prefix(base)
        if not prefix and len(whole) > SMALL:
            self._bodies.hold(key, whole)
            _remember(self._answers, name, key)
        return Packed(compress(whole, prefix), len(whole), base if prefix else None)

    def pack_request(self, key: int, session: str | None, data: bytes) -> Packed:
        """Compress the body of a model's request against an earlier one of the session.

        Args:
            key: The key that its record will have: greater than those of all that it may stand against.
            session: The session; None for what belongs to none.
            data: The body.
        """
        if not SMALL <= len(data) <= GREAT:
            return self.pack(data)
        conversation = self._conversation(_name(key, session), len(data))
        base = conversation.head if conversation.count % WHOLE else None
        prefix = self._prefix(base)
        packed = _smaller(data, prefix, base)
        if packed.base is None or len(packed.data) * ALIKE > len(data):
            conversation.count = 0  # what comes will not repeat what came before either
            packed = _smaller(data, b"", None) if prefix else packed
        conversation.add(key, len(data))
        self._bodies.hold(key, data)
        return packed

    def _prefix(self, base: int | None) -> bytes:
        """Return the bytes of a base; empty without one, and where it is damaged, or deleted meanwhile."""
        if base is None or self._connection.execute("SELECT 1 FROM records WHERE key = ?", (base,)).fetchone() is None:
            return b""
        try:
            return self._bodies.read(self._connection, base)
        except ValueError:
            return b""

    def _conversation(self, name: str, size: int) -> _Conversation:
        """Return the one of a session's two conversations, its own and other calls in between, whose size is nearer."""
        conversations = self._conversations.get(name) or []
        _remember(self._conversations, name, conversations)
        near = min(conversations, key=lambda other: _unlikeness(other.size, size), default=None)
        if near is None or (len(conversations) == 1 and _unlikeness(near.size, size) > 2):
            near = _Conversation(size)
            conversations.append(near)
        return near


def _name(key: int, session: str | None) -> str:
    """Return the group within which bodies may be bases: a session is deleted as a whole, and so is a capture."""
    return session or str(key >> SEQ_BITS)


def _unlikeness(size: int, other: int) -> float:
    return max(size, other) / min(size, other)


def _remember(recent: OrderedDict[str, T], name: str, value: T) -> None:
    recent[name] = value
    recent.move_to_end(name)
    if len(recent) > SESSIONS:
        recent.popitem(last=False)


def _smaller(data: bytes, prefix: bytes, base: int | None) -> Packed:
    from tui_host.capture.content_codings import compress

    frame = compress(data, prefix)
    if len(frame) > len(data) * WORTH:
        return Packed(data)
    return Packed(frame, len(data), base if prefix else None)
