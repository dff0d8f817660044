"""Finds the records of a session.

Its own: those whose place names it. With them, of each connection that one of its own was on (a call, or the link of a request
that offered its tools), what belongs to no session: the *preamble*, which came before the first own record on the connection (the
start, the listing of tools), and what came up to the last own record of that capture (notifications, standard error). What came
while another session's turn was running and none of this one's is left out, once anybody had used the connection: it may tell of
that other turn. Other sessions' records are never among them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TypeAlias

_RECORDS = "FROM places CROSS JOIN records ON records.place = places.key"  # CROSS: the few places first
_SPAN = f"SELECT min(records.key), max(records.key) {_RECORDS} WHERE"
_OWN = f"SELECT records.key {_RECORDS} WHERE session = ?"
_TURNS = f"{_SPAN} capture = ? AND session = ? GROUP BY turn"
_OTHERS = f"{_SPAN} capture = ? AND session IS NOT NULL AND session <> ? AND records.key <= ? GROUP BY session, turn"
_FIRST_USE = f"{_SPAN} capture = ? AND connection = ? AND session IS NOT NULL"
_CONNECTIONS = f"""
    SELECT capture, connection, min(records.key) {_RECORDS}
    WHERE session = ? AND connection IS NOT NULL GROUP BY 1, 2
"""
_UNPLACED = f"""
    SELECT records.key {_RECORDS} WHERE capture = ? AND connection = ? AND session IS NULL AND records.key <= ? ORDER BY 1
"""
_SHARED = """
    SELECT EXISTS (SELECT 1 FROM places WHERE capture = ? AND connection = ? AND session <> ?), ended, owner
    FROM captures WHERE key = ?
"""
_LAST_KEY = (1 << 63) - 1
_Spans: TypeAlias = "list[tuple[int, int]]"


def select_records(connection: sqlite3.Connection, session: str) -> tuple[list[int], list[int]]:
    """Return the keys of a session's records, in order: of the preamble, and of the rest."""
    preamble: list[int] = []
    belonging: list[int] = [key for (key,) in connection.execute(_OWN, (session,))]
    spans: dict[int, tuple[_Spans, _Spans]] = {}
    for capture, name, first in connection.execute(_CONNECTIONS, (session,)).fetchall():
        if capture not in spans:
            turns: _Spans = connection.execute(_TURNS, (capture, session)).fetchall()
            end = max(high for _, high in turns)
            spans[capture] = turns, connection.execute(_OTHERS, (capture, session, end)).fetchall()
        turns, spoken_over = spans[capture]
        end = max(high for _, high in turns)
        used: int = connection.execute(_FIRST_USE, (capture, name)).fetchone()[0]
        for (key,) in connection.execute(_UNPLACED, (capture, name, end)):
            is_others = used < key and any(low <= key <= high for low, high in spoken_over)
            if is_others and not any(low <= key <= high for low, high in turns):
                continue
            (preamble if key < first else belonging).append(key)
    return sorted(preamble), sorted(belonging)


def doomed_keys(connection: sqlite3.Connection, session: str, is_live: Callable[[str | None], bool]) -> list[int]:
    """Return the keys to delete with a session, in order: its records, and its connections' if unused elsewhere.

    A connection of a process that still runs keeps its beginning: a later session may use it.
    """
    keys = set(select_records(connection, session)[1])
    for capture, name, _ in connection.execute(_CONNECTIONS, (session,)).fetchall():
        is_shared, ended, owner = connection.execute(_SHARED, (capture, name, session, capture)).fetchone()
        if not is_shared and (ended is not None or not is_live(owner)):
            keys.update(key for (key,) in connection.execute(_UNPLACED, (capture, name, _LAST_KEY)))
    return sorted(keys)
