"""The database's file: opens it, checks it, keeps it private, and sets a damaged or older one aside."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from tui_host.capture.store.companion_files import DiskReserve, Lock, alone, doubted, remove_left_behind
from tui_host.capture.store.salvage import salvage
from tui_host.capture.store.schema import APPLICATION_ID, FORM, connect, form_of, make_private, make_tables
from tui_host.capture.store.store_faults import LOCKED, LOCKS, READ_FAULTS, LockedError, code_of, is_damage
from tui_host.capture.store.write_ahead_log import choose_journal, words_of_lost_log
from tui_host.errors import SettingsError, StoreError
from tui_host.settings.paths import ensure_private_dir

ELSEWHERE = "choose another place with --data-dir; the app and `ask` run with --no-record, too"
CHECKED_UP_TO = 4 << 20
"""Largest file, in bytes, to check completely at each start; a larger file is checked after damage was seen."""
PAGES = 200
"""Pages given back to the system at once: what is recorded meanwhile waits, and on a full disk the log must have room for them."""

_UNFINISHED = frozenset((sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY))
"""The process that wrote the file was killed: SQLite undoes its last transaction once the file is opened for writing."""

_FACTS = """
    SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version, pragma_application_id
"""  # in one statement: another process may be creating the tables just now

Connect: TypeAlias = Callable[[Path], sqlite3.Connection]


class OlderFormError(StoreError):
    """Raised if the database was opened for reading, but has an older form, or no tables yet."""


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a connection for reading, even in a folder without permission to write, or on a full disk. Raises for an older form."""
    reserve = DiskReserve(path)
    try:
        try:
            connection, form = _opened_to_read(path)
        except sqlite3.OperationalError as error:
            if code_of(error) in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
                connection, form = _opened_to_read(path, "&immutable=1")
            elif code_of(error) in {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL} and reserve.give_up():
                connection, form = _opened_to_read(path)
                reserve.hold()
            else:
                raise
    except READ_FAULTS as error:
        remedy = "look at its permissions"
        if is_damage(error):
            remedy = "start tui-host: it is set aside, and what can be read carried over"
        if reserve.is_full():
            remedy = "the disk is full: remove something from it"
        raise StoreError(f"the database cannot be read: {error}", str(path), remedy) from error
    if form < FORM:
        connection.close()
        what = f"the database has the form of an early version ({form})" if form else "the database is empty"
        raise OlderFormError(what, str(path), "start tui-host once, and a new one is begun")
    return connection


def damage_to_tell(path: Path) -> str:
    """Return a notice about damage for a user who reads a database, empty if none is known. Large files are not searched."""
    try:
        with closing(connect_to_read(path)) as connection:
            if _is_sound(path, connection):
                return words_of_lost_log(path)
    except READ_FAULTS:
        pass
    return f"{path} is damaged: what can be read is shown. Start tui-host to carry it over into a new database"


def _opened_to_read(path: Path, more: str = "") -> tuple[sqlite3.Connection, int]:
    """Open a file, and return its form. Raises for a file of another program, or of a newer version."""
    connection = connect(path, uri=f"{path.absolute().as_uri()}?mode=ro{more}")
    try:
        facts: tuple[int, int, int] = connection.execute(_FACTS).fetchone()
    except BaseException:
        connection.close()
        raise
    form, application, _ = facts
    is_foreign = any(facts) and application != APPLICATION_ID
    if not is_foreign and form <= FORM:
        return connection, form
    connection.close()
    if is_foreign:
        raise StoreError("this is a database of another program", str(path), ELSEWHERE)
    what = f"the database was written by a newer tui-host (form {form}, this one knows {FORM})"
    # a SettingsError, so that the exit code is 2: the file itself is sound
    raise SettingsError(what, str(path), "update tui-host, or choose another place with --data-dir")


def _is_sound(path: Path, connection: sqlite3.Connection) -> bool:
    if path.stat().st_size > CHECKED_UP_TO and not doubted(path).exists():
        return True
    return connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"


def open_to_write(path: Path, connect: Connect, notices: list[str]) -> tuple[sqlite3.Connection, Lock]:
    """Open the database for writing and take this process's lock.

    An older database is set aside; a damaged one, too, and readable content carried over: `notices` says so.
    """
    folder, reserve = path.parent, DiskReserve(path)
    try:
        was_open = folder.exists() and bool(folder.stat().st_mode & 0o022)
        try:
            ensure_private_dir(folder)
        except SettingsError as error:
            raise StoreError(error.what, error.where, ELSEWHERE) from error
        if was_open:
            notices.append(f"others could write in the data folder, {folder}: from now on only you can")
        make_private(path)
        try:
            connection, lock = _ready(path, connect, notices)
        except (OSError, sqlite3.Error) as error:
            if code_of(error) in LOCKS or not reserve.give_up():
                raise
            connection, lock = _ready(path, connect, notices)  # on a full disk even opening needs some room
    except (OSError, sqlite3.Error) as error:
        if code_of(error) in LOCKS:
            raise LockedError(LOCKED, str(path), "wait until it lets go of it") from error
        reason = str(error) if isinstance(error, sqlite3.Error) else error.strerror or str(error)
        if reserve.is_full():
            reason = "the disk is full"
        raise StoreError(f"the database cannot be opened: {reason}", str(path), ELSEWHERE) from error
    reserve.hold()
    return connection, lock


def _ready(path: Path, connect: Connect, notices: list[str]) -> tuple[sqlite3.Connection, Lock]:
    with alone(path):  # another process may open it at the same time, and see what this one sees
        if why := _why_unusable(path):
            notices.append(_begin_anew(path, why))
        lost = words_of_lost_log(path)
        connection = connect(path)
        try:
            is_new = form_of(connection) == 0
            if is_new:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only while there is no table can it be chosen
            slow = choose_journal(connection, path.parent, is_new=is_new)
            connection.execute("PRAGMA synchronous = NORMAL")
            make_tables(connection)
            if lost:  # what lies behind the damage is not looked at again
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            remove_left_behind(path)
            lock = Lock(path)
        except BaseException:
            connection.close()
            raise
    notices += filter(None, (lost, slow, lock.fault))
    return connection, lock


def _why_unusable(path: Path) -> str:
    """Return `damaged`, or the older form; empty for a file to be used. A newer or foreign file is refused.

    Nothing may write in what is damaged: not even what stands in its log.
    """
    try:
        connection, form = _opened_to_read(path)
        with closing(connection):
            if 0 < form < FORM:
                return f"form{form}"
            if not _is_sound(path, connection):
                return "damaged"
    except READ_FAULTS as error:
        if is_damage(error):
            return "damaged"
        if getattr(error, "sqlite_errorcode", 0) not in _UNFINISHED:
            raise
    else:
        doubted(path).unlink(missing_ok=True)
    return ""


def _begin_anew(path: Path, why: str) -> str:
    """Put a new database in the place of an unusable one, with what can be read of a damaged one; return the notice for the user."""
    fresh = path.with_name(path.name + ".new")
    aside = path.with_name(f"{path.name}.{why}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z")
    log, index = (path.with_name(path.name + ending) for ending in ("-wal", "-shm"))
    fresh.unlink(missing_ok=True)
    try:
        carried = salvage(path, fresh) if why == "damaged" else ""
        make_private(fresh)  # where nothing was carried over
        try:
            aside.hardlink_to(path)  # so that there is one in its place at any moment
        except OSError:  # no such links on this disk
            path.replace(aside)
        if log.exists() and log.stat().st_size:
            log.replace(aside.with_name(aside.name + "-wal"))
        for beside in (log, index):  # made anew by whoever reads the log
            beside.unlink(missing_ok=True)
        fresh.replace(path)
        doubted(path).unlink(missing_ok=True)
    finally:
        fresh.unlink(missing_ok=True)
    if not carried:
        return f"the database of an early version was set aside as {aside.name}, and a new one begun"
    return f"the database was damaged: it was set aside as {aside.name}, and a new one begun; {carried}"


def set_aside_beside(database: Path) -> list[Path]:
    """Return the databases set aside, which only the user removes."""
    return sorted(database.parent.glob(f"{database.name}.*-*Z"))


def give_pages_back(connection: sqlite3.Connection) -> bool:
    """Return some free pages to the system, outside a transaction; returns whether there are more."""
    # a script: `execute` stops after a statement's first step, which is one page
    connection.executescript(f"PRAGMA incremental_vacuum({PAGES})")
    free: int = connection.execute("PRAGMA freelist_count").fetchone()[0]
    return free > 0
