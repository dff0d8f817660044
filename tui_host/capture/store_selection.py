"""Which records belong to a session.

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
from dataclasses import dataclass

from tui_host.capture.schema import SEQ_BITS
from tui_host.capture.store_process import is_running

_OWN = f"""
    SELECT key >> {SEQ_BITS}, turn, min(key), max(key) FROM records WHERE session = ? GROUP BY 1, 2 ORDER BY 3
"""  # noqa: S608 - constants alone
_CONNECTIONS = f"""
    SELECT key >> {SEQ_BITS}, connection, min(key) FROM records
    WHERE session = ? AND connection IS NOT NULL GROUP BY 1, 2
"""  # noqa: S608 - constants alone
_UNPLACED = """
    SELECT key FROM records WHERE connection = ? AND key BETWEEN ? AND ? AND session IS NULL ORDER BY key
"""
_OTHERS = """
    SELECT min(key), max(key) FROM records
    WHERE session IS NOT NULL AND session <> ? AND key BETWEEN ? AND ? GROUP BY session, turn
"""
_FIRST_USE = "SELECT min(key) FROM records WHERE connection = ? AND key BETWEEN ? AND ? AND session IS NOT NULL"
_USERS = "SELECT 1 FROM records WHERE connection = ? AND key BETWEEN ? AND ? AND session <> ? LIMIT 1"


@dataclass(frozen=True, slots=True)
class Selection:
    """Keys of a session's records, each in order."""

    preamble: list[int]
    belonging: list[int]


def select_session(connection: sqlite3.Connection, session: str) -> Selection:
    """Find what belongs to a session; its preamble, and the rest with its own."""
    own = _turns(connection, session)
    preamble: list[int] = []
    belonging: list[int] = [
        row[0] for row in connection.execute("SELECT key FROM records WHERE session = ?", (session,))
    ]
    spoken_over: dict[int, list[tuple[int, int]]] = {}
    for capture, name, first in connection.execute(_CONNECTIONS, (session,)).fetchall():
        turns = own[capture]
        end = max(high for _, high in turns)
        if capture not in spoken_over:
            spoken_over[capture] = connection.execute(_OTHERS, (session, capture << SEQ_BITS, end)).fetchall()
        used: int = connection.execute(_FIRST_USE, (name, capture << SEQ_BITS, end)).fetchone()[0]
        for (key,) in connection.execute(_UNPLACED, (name, capture << SEQ_BITS, end)):
            if used < key and _within(key, spoken_over[capture]) and not _within(key, turns):
                continue
            (preamble if key < first else belonging).append(key)
    return Selection(sorted(preamble), sorted(belonging))


def delete_session_records(connection: sqlite3.Connection, session: str) -> None:
    """Delete a session's records, and of its connections what no other session used; inside a transaction.

    A connection of a process that still runs keeps its beginning: a later session may use it.
    """
    doomed = select_session(connection, session)
    keys = list(doomed.belonging)
    for capture, name, _ in connection.execute(_CONNECTIONS, (session,)).fetchall():
        low, high = capture << SEQ_BITS, (capture + 1 << SEQ_BITS) - 1
        is_shared = connection.execute(_USERS, (name, low, high, session)).fetchone() is not None
        if not is_shared and not _is_open(connection, capture):
            keys += [row[0] for row in connection.execute(_UNPLACED, (name, low, high))]
    connection.executemany("DELETE FROM records WHERE key = ?", ((key,) for key in keys))


def _turns(connection: sqlite3.Connection, session: str) -> dict[int, list[tuple[int, int]]]:
    """First and last own key of each turn, by capture."""
    found: dict[int, list[tuple[int, int]]] = {}
    for capture, _, low, high in connection.execute(_OWN, (session,)):
        found.setdefault(capture, []).append((low, high))
    return found


def _within(key: int, spans: list[tuple[int, int]]) -> bool:
    return any(low <= key <= high for low, high in spans)


def _is_open(connection: sqlite3.Connection, capture: int) -> bool:
    row: tuple[int | None, int, str] | None = connection.execute(
        "SELECT ended, pid, pid_started FROM captures WHERE key = ?", (capture,)
    ).fetchone()
    return row is not None and row[0] is None and is_running(row[1], row[2])
