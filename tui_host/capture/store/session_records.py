"""Finds the records of a session.

Its own: those whose place names it. With them, of each connection that one of its own was on (a call, or the link of a request
that offered its tools), what belongs to no session: the *preamble*, which came before the first own record on the connection (the
start, the listing of tools), and what came up to the last own record of that capture (notifications, standard error). What came
while another session's turn was running and none of this one's is left out, once anybody had used the connection: it may tell of
that other turn. Other sessions' records are never among them, but for those of the turns that a branch shares with older sessions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tui_host.capture.session_summary import SharedPart, parent_of

_RECORDS = "FROM places CROSS JOIN records ON records.place = places.key"  # CROSS: the few places first
_SPAN = f"SELECT min(records.key), max(records.key) {_RECORDS} WHERE"
_OWN = f"SELECT records.key {_RECORDS} WHERE session = ? AND coalesce(turn, 0) <= ?"
_TURNS = f"{_SPAN} capture = ? AND session = ? AND coalesce(turn, 0) <= ? GROUP BY turn"
_OTHERS = f"{_SPAN} capture = ? AND session IS NOT NULL AND session <> ? AND records.key <= ? GROUP BY session, turn"
_FIRST_USE = f"{_SPAN} capture = ? AND connection = ? AND session IS NOT NULL"
_CONNECTIONS = f"""
    SELECT capture, connection, min(records.key) {_RECORDS}
    WHERE session = ? AND coalesce(turn, 0) <= ? AND connection IS NOT NULL GROUP BY 1, 2
"""
_UNPLACED = f"""
    SELECT records.key {_RECORDS} WHERE capture = ? AND connection = ? AND session IS NULL AND records.key <= ? ORDER BY 1
"""
_SHARED = """
    SELECT EXISTS (SELECT 1 FROM places WHERE capture = ? AND connection = ? AND session <> ?), ended, owner
    FROM captures WHERE key = ?
"""
_LAST_KEY = _ALL = (1 << 63) - 1
_Spans: TypeAlias = "list[tuple[int, int]]"


def line_of(
    connection: sqlite3.Connection, session: str, shared: Sequence[SharedPart] | None = None
) -> Sequence[SharedPart]:
    """Return what a session is made of: what it shares with older sessions, as given or as stored, then all of itself."""
    if shared is None:
        row: tuple[str] | None = connection.execute("SELECT facts FROM sessions WHERE id = ?", (session,)).fetchone()
        parent = None if row is None else parent_of(row[0])
        shared = () if parent is None else parent.shared
    return *shared, SharedPart(session, _ALL, _ALL, _ALL)


def select_records(
    connection: sqlite3.Connection, session: str, shared: Sequence[SharedPart] | None = None
) -> tuple[list[int], list[int]]:
    """Return the keys of a session's records, in order: of the preamble, and of the rest."""
    preamble, belonging = set[int](), set[int]()
    firsts: dict[tuple[int, str], int] = {}  # an older session's first use of a connection counts for a branch
    for part in line_of(connection, session, shared):
        _select(connection, part.session, part.turn, firsts, preamble, belonging)
    return sorted(preamble - belonging), sorted(belonging)


def _select(
    connection: sqlite3.Connection,
    session: str,
    until: int,
    firsts: dict[tuple[int, str], int],
    preamble: set[int],
    belonging: set[int],
) -> None:
    """Add the keys of one session's records up to a turn."""
    belonging.update(key for (key,) in connection.execute(_OWN, (session, until)))
    spans: dict[int, tuple[_Spans, _Spans]] = {}
    for capture, name, own_first in connection.execute(_CONNECTIONS, (session, until)).fetchall():
        first = firsts.setdefault((capture, name), own_first)
        if capture not in spans:
            turns: _Spans = connection.execute(_TURNS, (capture, session, until)).fetchall()
            end = max(high for _, high in turns)
            spans[capture] = turns, connection.execute(_OTHERS, (capture, session, end)).fetchall()
        turns, spoken_over = spans[capture]
        end = max(high for _, high in turns)
        used: int = connection.execute(_FIRST_USE, (capture, name)).fetchone()[0]
        for (key,) in connection.execute(_UNPLACED, (capture, name, end)):
            is_others = used < key and any(low <= key <= high for low, high in spoken_over)
            if is_others and not any(low <= key <= high for low, high in turns):
                continue
            (preamble if key < first else belonging).add(key)


def doomed_keys(connection: sqlite3.Connection, session: str, is_live: Callable[[str | None], bool]) -> list[int]:
    """Return the keys to delete with a session, in order: its records, and its connections' if unused elsewhere.

    A connection of a process that still runs keeps its beginning: a later session may use it.
    """
    keys = set(select_records(connection, session, ())[1])
    for capture, name, _ in connection.execute(_CONNECTIONS, (session, _ALL)).fetchall():
        is_shared, ended, owner = connection.execute(_SHARED, (capture, name, session, capture)).fetchone()
        if not is_shared and (ended is not None or not is_live(owner)):
            keys.update(key for (key,) in connection.execute(_UNPLACED, (capture, name, _LAST_KEY)))
    return sorted(keys)
