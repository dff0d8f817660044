"""Deletes sessions for good: rows, then the pages of the rows, then their copies in the write-ahead log.

`secure_delete`, which every connection has on, overwrites what is freed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tui_host.capture.session_summary import parent_of
from tui_host.capture.store.companion_files import room_given_up
from tui_host.capture.store.schema import BUSY_SECONDS, SEQ_BITS
from tui_host.capture.store.session_records import doomed_keys
from tui_host.capture.store.store import CAME, Store
from tui_host.capture.store.writer import give_pages_back
from tui_host.errors import TuiHostError

SLICE_BYTES, ROW_BYTES = 512 << 10, 500
"""Bytes deleted in one transaction, counting some for each row: what is recorded waits, and a full disk must take them in its log."""
LOG_MILLISECONDS = 1000
"""How long other processes are waited for when the log is emptied: what is recorded meanwhile waits, too."""

_LENGTH = "SELECT length(data) FROM records WHERE key = ?"
_REMOVE = "DELETE FROM records WHERE key = ?"
_OF_THING = "FROM records WHERE place IN (SELECT key FROM places WHERE"
_SIZE = "SELECT coalesce(sum(length(data) + 100), 0)"  # a record takes some 100 bytes besides its data
_USED = (
    "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
)
_SESSION_COLUMNS = (
    *((table, "session") for table in ("places", "messages", "items", "turns", "marks")),
    *(("tap_links", "tap"), ("tap_links", "other"), ("sessions", "id")),
)
_EMPTY = f"""
    SELECT key, id, ended, owner FROM captures WHERE NOT EXISTS
        (SELECT 1 FROM records WHERE records.key BETWEEN captures.key << {SEQ_BITS} AND (captures.key + 1 << {SEQ_BITS}) - 1)
"""  # noqa: S608 - constants alone
_OLD = f"""
    SELECT max(updated, coalesce({CAME}, 0)), 'session', id, title, id, owner, facts FROM sessions
    UNION ALL
    SELECT coalesce(ended, started), 'capture', id, '', key, CASE WHEN ended IS NULL THEN owner END, '' FROM captures
    WHERE NOT EXISTS (SELECT 1 FROM places JOIN sessions ON sessions.id = session WHERE capture = captures.key)
    ORDER BY 1
"""  # noqa: S608 - a constant alone; what was brought here is as old as it is here


class Old(NamedTuple):
    """A session, or a capture that no session is left of, which may be deleted."""

    time_ns: int  # of its last change
    thing: Literal["session", "capture"]
    name: str
    title: str
    key: str | int  # in its places
    owner: str | None  # the lock of the process that may still write it
    facts: str  # with what a branch shares

    @property
    def older(self) -> Sequence[str]:
        """The sessions whose turns it shares."""
        parent = parent_of(self.facts)
        return () if parent is None else [shared.session for shared in parent.shared]


@dataclass(slots=True)
class Pruned:
    """What was deleted."""

    gone: list[Old] = field(default_factory=list[Old])
    freed: int = 0  # bytes, roughly
    is_whole: bool = True  # nothing of it is left in the log beside the database


def prune(
    store: Store,
    *,
    before_ns: int | None = None,
    max_bytes: int | None = None,
    dry: bool = False,
    stopped: Callable[[], bool] = lambda: False,
) -> Pruned:
    """Delete sessions, and captures without one, by age and then until the rest takes no more. Blocks; `stopped` ends it early."""
    pruned, shared = Pruned(), set[str]()  # sessions whose turns a branch that stays shares
    with nullcontext() if dry else room_given_up(store.path):
        before = size = used_bytes(store)
        all_old, times_ns = store.read_as(Old, _OLD), dict[str, int]()
        for old in all_old:  # a session is as old as the youngest branch that shares its turns, which goes before it
            for name in (old.name, *old.older):
                times_ns[name] = max(times_ns.get(name, 0), old.time_ns)
        all_old = [old._replace(time_ns=times_ns[old.name]) for old in all_old]
        for old in sorted(all_old, key=lambda old: (old.time_ns, -len(old.older))):
            is_old = before_ns is not None and old.time_ns < before_ns
            is_much = max_bytes is not None and size > max_bytes
            if store.is_live(old.owner) or old.name in shared:
                shared.update(old.older)
                continue
            if stopped() or not (is_old or is_much):
                break
            if dry:
                size -= store.read_as(int, f"{_SIZE} {_OF_THING} {old.thing} = ?)", old.key)[0]
            elif _is_removed(store, old.thing, old.key):
                size = used_bytes(store)
            else:
                shared.update(old.older)
                continue
            pruned.gone.append(old)
        pruned.freed = max(before - size, 0)
        if pruned.gone and not dry:
            pruned.is_whole = _give_back(store)
    return pruned


def used_bytes(store: Store) -> int:
    """Return the bytes that the database takes, without free pages."""
    return store.read_as(int, _USED)[0]


def delete_session(store: Store, session: str) -> bool:
    """Remove a session, with the records used by no other; returns whether no other process reads what may be left in the log."""
    if branches := store.sessions.branches(session):
        names, is_one = ", ".join(branch.id for branch in branches), len(branches) == 1
        what = f"{'a branch shares' if is_one else f'{len(branches)} branches share'} its turns: {names}"
        raise TuiHostError(what, session, f"delete {'it' if is_one else 'them'} first")
    with room_given_up(store.path):
        if not _is_removed(store, "session", session):
            raise TuiHostError("another process writes this session", session, "end it first")
        return _give_back(store)


def _is_removed(store: Store, thing: Literal["session", "capture"], name: str | int) -> bool:
    """Remove the records of a session or capture, the session, and captures that are empty then; False if another has opened it."""
    session = str(name) if thing == "session" else ""
    if session and not store.sessions.claim(session):
        return False

    def keys_in(connection: sqlite3.Connection) -> list[int]:
        if session:
            return doomed_keys(connection, session, store.is_live)
        return [key for (key,) in connection.execute(f"SELECT key {_OF_THING} capture = ?) ORDER BY key", (name,))]

    def remove_some(connection: sqlite3.Connection) -> None:
        size = 0
        while keys and size < SLICE_BYTES:
            key = keys.pop()  # the last first: nothing stands against what is gone
            (length,) = connection.execute(_LENGTH, (key,)).fetchone() or (0,)
            connection.execute(_REMOVE, (key,))
            size += length + ROW_BYTES

    def remove_rest(connection: sqlite3.Connection) -> None:
        connection.executemany(_REMOVE, [(key,) for key in reversed(keys_in(connection))])  # what came meanwhile
        for table, column in _SESSION_COLUMNS:
            connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (session,))  # noqa: S608 - ours
        for capture, capture_id, ended, owner in connection.execute(_EMPTY).fetchall():
            if ended is not None or not store.is_live(owner):
                connection.execute("DELETE FROM places WHERE capture = ?", (capture,))
                connection.execute("DELETE FROM frame_choices WHERE capture = ?", (capture_id,))
                connection.execute("DELETE FROM captures WHERE key = ?", (capture,))

    keys = store.run(keys_in, is_change=True)
    while keys:  # in slices, so that recording hardly waits
        store.run(remove_some, is_change=True)
    store.run(remove_rest, is_change=True)
    return True


def _give_back(store: Store) -> bool:
    """Return all free pages to the system and empty the log; returns whether no other process reads the log."""

    def is_emptied(connection: sqlite3.Connection) -> bool:
        connection.execute(f"PRAGMA busy_timeout = {LOG_MILLISECONDS}").fetchall()
        try:
            busy: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}").fetchall()
        return not busy

    while store.run(give_pages_back, makes_room=True):
        pass
    return store.run(is_emptied, makes_room=True)
