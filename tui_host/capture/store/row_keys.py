"""Keys of captures, connections and places in the database, each made when a record first needs it."""

from __future__ import annotations

import os
import sqlite3
import time
from typing import Protocol, TypeAlias

from tui_host.capture.record import Draft
from tui_host.capture.store.migrations import SEQ_BITS

SQLValue: TypeAlias = "int | str | bytes | None"
Like: TypeAlias = "tuple[str, str | None, str | None, str, str, str | None, int | None, int | None, str | None]"
"""What makes a place: the ids of capture, exchange and connection; peer, wire; session, turn, step, call."""

KNOWN = 4096
"""Keys remembered at most, of each kind."""

_CAPTURE = "INSERT INTO captures (id, kind, started, pid, owner) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO"
_TAKE_OVER = f"{_CAPTURE} UPDATE SET pid = excluded.pid, owner = excluded.owner"
_LEAVE = f"{_CAPTURE} NOTHING"
_CONNECTION = "INSERT OR IGNORE INTO connections (capture, id, peer) VALUES (?, ?, ?)"
_NEW_PLACE = """
    INSERT INTO places (capture, wire, peer, session, turn, step, call, connection, exchange)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def storable(text: str) -> str:
    """The text without lone surrogates, which SQLite refuses (PRO-12)."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def storable_or_none(text: str | None) -> str | None:
    """The same for a text that may be absent."""
    return None if text is None else storable(text)


def begin_capture(capture: str, kind: str, time_ns: int, owner: str) -> tuple[str, tuple[SQLValue, ...]]:
    """The statement that makes a capture this process's, which goes on with it where it is there already, with its values."""
    return _TAKE_OVER, (capture, kind, time_ns, os.getpid(), owner)


class Stamped(Protocol):
    """A record, or what becomes one."""

    @property
    def capture(self) -> str:
        """The capture's id."""
        ...

    @property
    def seq(self) -> int:
        """Its number in the capture."""
        ...

    @property
    def time_ns(self) -> int:
        """Wall clock."""
        ...

    @property
    def mono_ns(self) -> int | None:
        """Monotonic clock."""
        ...

    @property
    def draft(self) -> Draft:
        """What was captured."""
        ...


class Places:
    """Finds keys, or makes them, in the writer's open transaction.

    Args:
        connection: The writer's.
        owner: The lock that this process holds.
    """

    def __init__(self, connection: sqlite3.Connection, owner: str) -> None:
        self._connection = connection
        self._owner = owner
        self._captures: dict[str, int] = {}
        self._known: dict[Like, tuple[int, int]] = {}

    def forget(self) -> None:
        """Ask the database again: what was made in a transaction is gone with it, and others may have deleted."""
        self._captures.clear()
        self._known.clear()

    def capture(self, capture: str) -> int:
        """A capture's key; the capture is made if whoever began it did not say so."""
        key = self._captures.get(capture)
        if key is None:
            self._connection.execute(_LEAVE, (capture, "app", time.time_ns(), os.getpid(), self._owner))
            key = self._captures[capture] = self._key("SELECT key FROM captures WHERE id = ?", capture)
        return key

    def of(self, record: Stamped) -> tuple[int, int]:
        """The key of a record's place, and the key at which the numbers of its capture begin."""
        draft, at = record.draft, record.draft.place
        like = (
            record.capture,
            draft.exchange,
            draft.connection,
            draft.peer,
            draft.wire,
            at.session,
            at.turn,
            at.step,
            at.call,
        )
        return self._known.get(like) or self._add(like)

    def _add(self, like: Like) -> tuple[int, int]:
        name, exchange, connected, peer, wire, session, turn, step, call = like
        capture, peer = self.capture(name), storable(peer)
        connection = None
        if connected is not None:
            connected = storable(connected)
            self._connection.execute(_CONNECTION, (capture, connected, peer))
            connection = self._key("SELECT key FROM connections WHERE capture = ? AND id = ?", capture, connected)
        session, call, exchange = map(storable_or_none, (session, call, exchange))
        row = (capture, wire, peer, session, turn, step, call, connection, exchange)
        key = self._connection.execute(_NEW_PLACE, row).lastrowid
        assert key is not None  # noqa: S101 - the statement inserts
        if len(self._known) >= KNOWN:
            self._known.clear()
        found = self._known[like] = key, capture << SEQ_BITS
        return found

    def _key(self, sql: str, *values: SQLValue) -> int:
        key: int = self._connection.execute(sql, values).fetchone()[0]
        return key
