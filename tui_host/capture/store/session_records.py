"""Finds the records of a session.

Its own: those whose place names it. With them, of each connection that one of its own was on (a call, or the link of a
request that offered its tools: they were used then, called or not):
- the *preamble*: what belongs to no session and came on the connection before the session's first own record on it
  (the start, the listing of tools);
- what belongs to no session and came between the session's first and last own record of that capture (a server's own
  notifications, its standard error).
What came while another session's turn was running and none of this one's is left out, once anybody had used the connection:
it may tell of that other turn. Other sessions' records are never among them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

_RECORDS = "FROM places CROSS JOIN records ON records.place = places.key"  # CROSS: the few places first
_OWN = f"""
    SELECT capture, turn, min(records.key), max(records.key) {_RECORDS} WHERE session = ? GROUP BY 1, 2 ORDER BY 3
"""
_CONNECTIONS = f"""
    SELECT capture, connection, min(records.key) {_RECORDS}
    WHERE session = ? AND connection IS NOT NULL GROUP BY 1, 2
"""
_UNPLACED = f"""
    SELECT records.key {_RECORDS} WHERE capture = ? AND connection = ? AND session IS NULL AND records.key <= ? ORDER BY 1
"""
_OTHERS = f"""
    SELECT min(records.key), max(records.key) {_RECORDS}
    WHERE capture = ? AND session IS NOT NULL AND session <> ? AND records.key <= ? GROUP BY session, turn
"""
_FIRST_USE = f"SELECT min(records.key) {_RECORDS} WHERE capture = ? AND connection = ? AND session IS NOT NULL"
_USERS = "SELECT 1 FROM places WHERE capture = ? AND connection = ? AND session <> ? LIMIT 1"
_LAST_KEY = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Selection:
    """The keys of a session's records, in order."""

    preamble: list[int]
    belonging: list[int]


def select_session(connection: sqlite3.Connection, session: str) -> Selection:
    """Select the records of a session: the preamble, and the rest."""
    own = _turns(connection, session)
    preamble: list[int] = []
    belonging: list[int] = [
        row[0] for row in connection.execute(f"SELECT records.key {_RECORDS} WHERE session = ?", (session,))
    ]
    spoken_over: dict[int, list[tuple[int, int]]] = {}
    for capture, name, first in connection.execute(_CONNECTIONS, (session,)).fetchall():
        turns = own[capture]
        end = max(high for _, high in turns)
        if capture not in spoken_over:
            spoken_over[capture] = connection.execute(_OTHERS, (capture, session, end)).fetchall()
        used: int = connection.execute(_FIRST_USE, (capture, name)).fetchone()[0]
        for (key,) in connection.execute(_UNPLACED, (capture, name, end)):
            if used < key and _within(key, spoken_over[capture]) and not _within(key, turns):
                continue
            (preamble if key < first else belonging).append(key)
    return Selection(sorted(preamble), sorted(belonging))


def doomed_keys(connection: sqlite3.Connection, session: str, is_live: Callable[[str | None], bool]) -> list[int]:
    """Return the keys to delete with a session, last first: its records, and its connections' if unused elsewhere.

    A connection of a process that still runs keeps its beginning: a later session may use it.
    """
    keys = set(select_session(connection, session).belonging)
    for capture, name, _ in connection.execute(_CONNECTIONS, (session,)).fetchall():
        is_shared = connection.execute(_USERS, (capture, name, session)).fetchone() is not None
        if not is_shared and not _is_open(connection, capture, is_live):
            keys.update(row[0] for row in connection.execute(_UNPLACED, (capture, name, _LAST_KEY)))
    return sorted(keys, reverse=True)


def _turns(connection: sqlite3.Connection, session: str) -> dict[int, list[tuple[int, int]]]:
    """First and last own key of each turn, by capture."""
    turns: dict[int, list[tuple[int, int]]] = {}
    for capture, _, low, high in connection.execute(_OWN, (session,)):
        turns.setdefault(capture, []).append((low, high))
    return turns


def _within(key: int, spans: list[tuple[int, int]]) -> bool:
    return any(low <= key <= high for low, high in spans)


def _is_open(connection: sqlite3.Connection, capture: int, is_live: Callable[[str | None], bool]) -> bool:
    row: tuple[int | None, str | None] | None = connection.execute(
        "SELECT ended, owner FROM captures WHERE key = ?", (capture,)
    ).fetchone()
    return row is not None and row[0] is None and is_live(row[1])
