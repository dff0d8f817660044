"""Deletes for good: rows, then the pages of the rows, then their copies in the write-ahead log.

`secure_delete`, which every connection has on, overwrites what is freed. Functions run on the writer's connection.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from tui_host.capture.store.schema import SEQ_BITS

SLICE, SLICE_BYTES = 1000, 512 << 10
"""Records, and bytes of them, deleted in one transaction: what is recorded meanwhile waits no longer than for these.

On a full disk there must be room for what they become in the log.
"""
PAGES = 200
"""Pages given back to the system at once, for the same reasons."""
T = TypeVar("T")

LOG_MILLISECONDS = 1000
"""How long other processes are waited for when the log is emptied: what is recorded meanwhile waits, too."""


class Run(Protocol):
    """Runs work on the writer's connection and waits for the result."""

    def __call__(self, work: Callable[[sqlite3.Connection], T], /) -> T:
        """Run the work."""
        ...


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


def in_transaction(work: Callable[[sqlite3.Connection], T]) -> Callable[[sqlite3.Connection], T]:
    """Wrap work in one transaction; on failure the job rolls back."""

    def perform(connection: sqlite3.Connection) -> T:
        connection.execute("BEGIN IMMEDIATE")
        done = work(connection)
        connection.execute("COMMIT")
        return done

    return perform


def delete_all(run: Run, keys: Sequence[int]) -> None:
    """Delete records in slices, so that the writer can work between slices. Later records go before their base."""
    at = 0
    while at < len(keys):
        at += run(in_transaction(partial(_delete_some, keys=keys[at : at + SLICE])))


def _delete_some(connection: sqlite3.Connection, keys: Sequence[int]) -> int:
    """Delete the first of some records; return the number deleted."""
    size = count = 0
    for key in keys:
        row: tuple[int] | None = connection.execute("SELECT length(data) FROM records WHERE key = ?", (key,)).fetchone()
        delete_records(connection, (key,))
        size += row[0] if row else 0
        count += 1
        if size >= SLICE_BYTES:
            break
    return count


def delete_records(connection: sqlite3.Connection, keys: Sequence[int]) -> None:
    """Delete records in a transaction, later records before their base."""
    connection.executemany("DELETE FROM records WHERE key = ?", ((key,) for key in keys))


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


def give_pages_back(connection: sqlite3.Connection) -> bool:
    """Return some free pages to the system, outside a transaction; returns whether there are more."""
    # a script: `execute` stops after a statement's first step, which is one page
    connection.executescript(f"PRAGMA incremental_vacuum({PAGES})")
    free: int = connection.execute("PRAGMA freelist_count").fetchone()[0]
    return free > 0


def empty_log(connection: sqlite3.Connection) -> bool:
    """Write the log into the file and truncate the log; returns False while another process reads the log."""
    waits: int = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.execute(f"PRAGMA busy_timeout = {LOG_MILLISECONDS}").fetchall()
    try:
        busy: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.execute(f"PRAGMA busy_timeout = {waits}").fetchall()
    return not busy


def give_back(run: Run) -> bool:
    """Return all free pages to the system and empty the log; returns whether the log is empty."""
    while run(give_pages_back):
        pass
    return run(empty_log)
