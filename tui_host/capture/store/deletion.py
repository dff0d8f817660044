"""Deletion that really removes: rows, then the pages they stood on, then what the write-ahead log still has of them.

`secure_delete`, which every connection has on, overwrites what is freed. Functions run on the writer's connection.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from tui_host.capture.store.schema import SEQ_BITS

SLICE = 1000
"""Records deleted in one transaction: what is recorded meanwhile waits no longer than for these."""
PAGES = 2000
"""Pages given back to the system at once, for the same reason."""

LOG_MILLISECONDS = 1000
"""How long other processes are waited for when the log is emptied: what is recorded meanwhile waits, too."""

_OF_SESSION = (
    "DELETE FROM places WHERE session = ?",
    "DELETE FROM messages WHERE session = ?",
    "DELETE FROM items WHERE session = ?",
    "DELETE FROM turns WHERE session = ?",
    "DELETE FROM sessions WHERE id = ?",
)
_EMPTY = f"""
    SELECT key, ended, owner FROM captures WHERE NOT EXISTS
        (SELECT 1 FROM records WHERE records.key BETWEEN captures.key << {SEQ_BITS} AND (captures.key + 1 << {SEQ_BITS}) - 1)
"""  # noqa: S608 - constants alone
_OF_CAPTURE = (
    "DELETE FROM places WHERE capture = ?",
    "DELETE FROM connections WHERE capture = ?",
    "DELETE FROM captures WHERE key = ?",
)


def copies_of(database: Path) -> list[Path]:
    """The copies of older forms beside the database, each as it was before it was brought to the next form."""
    return list(database.parent.glob(f"{database.name}.form*"))


def delete_records(connection: sqlite3.Connection, keys: Sequence[int]) -> None:
    """Delete records; in a transaction. Of two that stand against each other the later goes first or in the same one."""
    connection.executemany("DELETE FROM records WHERE key = ?", ((key,) for key in keys))


def delete_session(connection: sqlite3.Connection, session: str) -> None:
    """Delete all of a session but records, of which none may be left; in a transaction."""
    for statement in _OF_SESSION:
        connection.execute(statement, (session,))


def delete_capture(connection: sqlite3.Connection, capture: int) -> None:
    """Delete all of a capture but records, of which none may be left; in a transaction."""
    for statement in _OF_CAPTURE:
        connection.execute(statement, (capture,))


def delete_empty_captures(connection: sqlite3.Connection, is_live: Callable[[str | None], bool]) -> None:
    """Delete captures that are over and have no records; in a transaction."""
    for key, ended, owner in connection.execute(_EMPTY).fetchall():
        if ended is not None or not is_live(owner):
            delete_capture(connection, key)


def give_pages_back(connection: sqlite3.Connection) -> bool:
    """Give some free pages back to the system; outside a transaction.

    Returns:
        Whether there are more.
    """
    # a script: `execute` stops after a statement's first step, which is one page
    connection.executescript(f"PRAGMA incremental_vacuum({PAGES})")
    free: int = connection.execute("PRAGMA freelist_count").fetchone()[0]
    return free > 0


def empty_log(connection: sqlite3.Connection) -> bool:
    """Bring the write-ahead log into the file, and cut it off.

    Returns:
        Whether it is empty; it cannot be while another process reads in it.
    """
    waits: int = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.execute(f"PRAGMA busy_timeout = {LOG_MILLISECONDS}").fetchall()
    try:
        busy: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.execute(f"PRAGMA busy_timeout = {waits}").fetchall()
    return not busy


def give_back(run: Callable[[Callable[[sqlite3.Connection], bool]], bool]) -> bool:
    """Give all free pages back, and empty the log: in pieces, between which the writer does what waits.

    Args:
        run: Does something on the writer's connection, and waits for it.

    Returns:
        Whether nothing that was deleted is left in the log.
    """
    while run(give_pages_back):
        pass
    return run(empty_log)
