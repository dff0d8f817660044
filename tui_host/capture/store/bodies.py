"""Keeps bodies small: each request of a conversation repeats the last one and adds a little.

A body is a zstd frame whose prefix is an earlier body. The requests of a conversation go in groups of four: the first of a group
stands against the first of the group before, the others against the first of their own, and every 64th by itself. So no body is
farther than 17 frames from its bytes. An answer stands against the first answer of its session.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

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

_PACKED = "SELECT data, size, base FROM records WHERE key = ?"


class Packed(NamedTuple):
    """Data as it is stored: a zstd frame with the number of its bytes and the key of its prefix; or the bytes as they are."""

    data: bytes
    size: int | None = None
    base: int | None = None


class Bodies:
    """Reads stored data; the last bodies read are cached."""

    def __init__(self) -> None:
        self._held = 0
        self._recent: OrderedDict[int, bytes] = OrderedDict()

    def hold(self, key: int, data: bytes) -> None:
        """Remember a body."""
        self._held += len(data) - len(self._recent.pop(key, b""))
        self._recent[key] = data
        while self._held > RECENT and len(self._recent) > 1:
            self._held -= len(self._recent.popitem(last=False)[1])

    def unpack(self, connection: sqlite3.Connection, key: int, packed: Packed) -> bytes:
        """Return the data of a record.

        Raises:
            ValueError: The data, or its base, is damaged or missing.
        """
        if packed.size is None:
            return packed.data
        from tui_host.capture.content_codings import decompress

        prefix, waiting = b"", [(key, packed)]
        while (base := waiting[-1][1].base) is not None:
            if base in self._recent:
                prefix = self._recent[base]
                break
            row: tuple[bytes, int | None, int | None] | None = connection.execute(_PACKED, (base,)).fetchone()
            if row is None:
                raise ValueError("what it stands against is not there")
            waiting.append((base, Packed(*row)))
        for base, part in reversed(waiting):
            prefix = part.data if part.size is None else decompress(part.data, prefix)
            self.hold(base, prefix)
        return prefix

    def prefix(self, connection: sqlite3.Connection, base: int | None) -> bytes:
        """Return the bytes of a base; empty without one, and where it is damaged or was deleted meanwhile."""
        row: tuple[bytes, int | None, int | None] | None = connection.execute(_PACKED, (base,)).fetchone()
        if row is None or base is None:
            return b""
        try:
            return self._recent.get(base) or self.unpack(connection, base, Packed(*row))
        except ValueError:
            return b""


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

    def unlikeness(self, size: int) -> float:
        return max(size, self.size) / min(size, self.size)


@dataclass(slots=True)
class _Group:
    """What is remembered of a session; of a capture, for what belongs to no session: both are deleted as a whole."""

    conversations: list[_Conversation]
    first_answer: int | None = None


class Packer:
    """Compresses data before insertion, in the writer's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._bodies = Bodies()
        self._groups: OrderedDict[str, _Group] = OrderedDict()

    def forget(self) -> None:
        """Forget earlier bodies, which may be rolled back or deleted."""
        self._groups.clear()
        self._bodies = Bodies()

    def pack(self, data: bytes) -> Packed:
        """Compress data by itself."""
        return Packed(data) if len(data) < LARGE else _smaller(data, b"", None)

    def pack_answer(self, key: int, session: str | None, whole: bytes) -> Packed:
        """Compress the records of a model's answer; returns a frame, whether it is smaller or not."""
        from tui_host.capture.content_codings import compress

        group = self._group(key, session)
        prefix = self._bodies.prefix(self._connection, group.first_answer)
        if not prefix and len(whole) > SMALL:
            self._bodies.hold(key, whole)
            group.first_answer = key
        return Packed(compress(whole, prefix), len(whole), group.first_answer if prefix else None)

    def pack_request(self, key: int, session: str | None, data: bytes) -> Packed:
        """Compress the body of a model's request against an earlier one of the session, whose key is smaller."""
        if not SMALL <= len(data) <= GREAT:
            return self.pack(data)
        conversation = _conversation(self._group(key, session).conversations, len(data))
        base = conversation.head if conversation.count % WHOLE else None
        prefix = self._bodies.prefix(self._connection, base)
        packed = _smaller(data, prefix, base)
        if packed.base is None or len(packed.data) * ALIKE > len(data):
            conversation.count = 0  # what comes will not repeat what came before either
            packed = _smaller(data, b"", None) if prefix else packed
        conversation.add(key, len(data))
        self._bodies.hold(key, data)
        return packed

    def _group(self, key: int, session: str | None) -> _Group:
        name = session or str(key >> SEQ_BITS)
        group = self._groups[name] = self._groups.pop(name, None) or _Group([])
        if len(self._groups) > SESSIONS:
            self._groups.popitem(last=False)
        return group


def _conversation(conversations: list[_Conversation], size: int) -> _Conversation:
    """Return the one of a session's two conversations, its own and other calls in between, whose size is nearer."""
    near = min(conversations, key=lambda conversation: conversation.unlikeness(size), default=None)
    if near is None or (len(conversations) == 1 and near.unlikeness(size) > 2):
        near = _Conversation(size)
        conversations.append(near)
    return near


def _smaller(data: bytes, prefix: bytes, base: int | None) -> Packed:
    from tui_host.capture.content_codings import compress

    frame = compress(data, prefix)
    if len(frame) > len(data) * WORTH:
        return Packed(data)
    return Packed(frame, len(data), base if prefix else None)
