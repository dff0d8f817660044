"""Keys of captures, connections and places in the database, each made when a record first needs it."""

from __future__ import annotations

import os
import sqlite3
import time
from typing import TypeAlias

from tui_host.capture.record import Record

SQLValue: TypeAlias = "int | str | bytes | None"
_PLACE: TypeAlias = "tuple[str | int | None, ...]"

KNOWN = 4096
"""Keys remembered at most, of each kind."""

_CAPTURE = "INSERT OR IGNORE INTO captures (id, kind, started, pid, owner) VALUES (?, ?, ?, ?, ?)"
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
    """The statement that makes a capture of this process, if it is not there yet, with its values."""
    return _CAPTURE, (capture, kind, time_ns, os.getpid(), owner)


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
        self._places: dict[_PLACE, int] = {}

    def forget(self) -> None:
        """Ask the database again: what was made in a transaction is gone with it, and others may have deleted."""
        self._captures.clear()
        self._places.clear()

    def capture(self, capture: str) -> int:
        """A capture's key; the capture is made if whoever began it did not say so."""
        key = self._captures.get(capture)
        if key is None:
            self._connection.execute(*begin_capture(capture, "app", time.time_ns(), self._owner))
            key = self._captures[capture] = self._key("SELECT key FROM captures WHERE id = ?", capture)
        return key

    def place(self, record: Record) -> int:
        """The key of the place that a record has in its capture."""
        draft = record.draft
        at = draft.place
        known = (
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
        key = self._places.get(known)
        if key is None:
            if len(self._places) >= KNOWN:
                self._places.clear()
            key = self._places[known] = self._new_place(record)
        return key

    def _new_place(self, record: Record) -> int:
        draft, at = record.draft, record.draft.place
        capture, peer = self.capture(record.capture), storable(draft.peer)
        connection = None
        if draft.connection is not None:
            name = storable(draft.connection)
            self._connection.execute(_CONNECTION, (capture, name, peer))
            connection = self._key("SELECT key FROM connections WHERE capture = ? AND id = ?", capture, name)
        session, call = storable_or_none(at.session), storable_or_none(at.call)
        exchange = storable_or_none(draft.exchange)
        row = (capture, draft.wire, peer, session, at.turn, at.step, call, connection, exchange)
        key = self._connection.execute(_NEW_PLACE, row).lastrowid
        assert key is not None  # noqa: S101 - the statement inserts
        return key

    def _key(self, sql: str, *values: SQLValue) -> int:
        key: int = self._connection.execute(sql, values).fetchone()[0]
        return key
