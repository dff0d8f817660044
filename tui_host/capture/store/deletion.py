"""Deletes for good: rows, then the pages of the rows, then their copies in the write-ahead log.

`secure_delete`, which every connection has on, overwrites what is freed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from tui_host.capture.store.access import OpenDatabase
from tui_host.capture.store.database import give_pages_back
from tui_host.capture.store.schema import SEQ_BITS

SLICE, SLICE_BYTES = 1000, 512 << 10
"""Records, and bytes of them, deleted in one transaction: what is recorded meanwhile waits no longer than for these.

On a full disk there must be room for what they become in the log.
"""
LOG_MILLISECONDS = 1000
"""How long other processes are waited for when the log is emptied: what is recorded meanwhile waits, too."""

_OF_SESSION = (
    "DELETE FROM places WHERE session = ?",
    "DELETE FROM messages WHERE session = ?",
    "DELETE FROM items WHERE session = ?",
    "DELETE FROM turns WHERE session = ?",
    "DELETE FROM marks WHERE session = ?",
    "DELETE FROM tap_links WHERE tap = ?",
    "DELETE FROM tap_links WHERE other = ?",
    "DELETE FROM sessions WHERE id = ?",
)
_EMPTY = f"""
    SELECT key, ended, owner FROM captures WHERE NOT EXISTS
        (SELECT 1 FROM records WHERE records.key BETWEEN captures.key << {SEQ_BITS} AND (captures.key + 1 << {SEQ_BITS}) - 1)
"""  # noqa: S608 - constants alone
_OF_CAPTURE = (
    "DELETE FROM places WHERE capture = ?",
    "DELETE FROM frame_choices WHERE capture = (SELECT id FROM captures WHERE key = ?)",
    "DELETE FROM captures WHERE key = ?",
)


def delete_all(store: OpenDatabase, keys: Sequence[int]) -> None:
    """Delete records in slices, so that the writer can work between slices. Pass later ones before their base."""
    at = 0

    def delete_some(connection: sqlite3.Connection) -> int:
        size = count = 0
        for key in keys[at : at + SLICE]:
            row: tuple[int] | None = connection.execute(
                "SELECT length(data) FROM records WHERE key = ?", (key,)
            ).fetchone()
            connection.execute("DELETE FROM records WHERE key = ?", (key,))
            size += row[0] if row else 0
            count += 1
            if size >= SLICE_BYTES:
                break
        return count

    while at < len(keys):
        at += store.change(delete_some)


def delete_session(connection: sqlite3.Connection, session: str) -> None:
    """Delete everything of a session except its records, in a transaction. Delete the records first."""
    for statement in _OF_SESSION:
        connection.execute(statement, (session,))


def delete_capture(connection: sqlite3.Connection, capture: int) -> None:
    """Delete everything of a capture except its records, in a transaction. Delete the records first."""
    for statement in _OF_CAPTURE:
        connection.execute(statement, (capture,))


def delete_empty_captures(connection: sqlite3.Connection, is_live: Callable[[str | None], bool]) -> None:
    """Delete ended captures without records, in a transaction."""
    for key, ended, owner in connection.execute(_EMPTY).fetchall():
        if ended is not None or not is_live(owner):
            delete_capture(connection, key)


def give_back(store: OpenDatabase) -> bool:
    """Return all free pages to the system and empty the log; returns whether no other process reads the log."""
    while store.run(give_pages_back, makes_room=True):
        pass
    return store.run(_empty_log, makes_room=True)


def _empty_log(connection: sqlite3.Connection) -> bool:
    waits: int = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.execute(f"PRAGMA busy_timeout = {LOG_MILLISECONDS}").fetchall()
    try:
        busy: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.execute(f"PRAGMA busy_timeout = {waits}").fetchall()
    return not busy
