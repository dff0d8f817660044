"""Opens the database's file: makes it private, checks it, sets a damaged or too old file aside, and upgrades it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from tui_host.capture.store.disk_space import Room
from tui_host.capture.store.migrations import NEWEST, Migrations
from tui_host.capture.store.process_lock import Lock, alone, remove_left_behind
from tui_host.capture.store.salvage import salvage
from tui_host.capture.store.schema_version import (
    BUSY_SECONDS,
    ELSEWHERE,
    Connect,
    connect,
    make_private,
    migrate,
    refuse_foreign,
    refuse_older,
    stamp,
    version_of,
)
from tui_host.capture.store.store_faults import LOCKED, LockedError, is_damage, is_locked, words_of
from tui_host.errors import SettingsError, StoreError
from tui_host.settings.paths import ensure_private_dir

CHECKED_UP_TO = 4 << 20
"""Largest file, in bytes, to check completely at each start; a larger file is checked after damage was seen."""

_UNFINISHED = frozenset((sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY))
"""The process that wrote the file was killed: SQLite undoes its last transaction once the file is opened for writing."""


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a connection for reading, even in a folder without permission to write, or on a full disk.

    Raises:
        OlderFormError: The file must be upgraded first.
        StoreError: The file cannot be read, or not by this version.
    """
    quoted = path.absolute().as_uri()
    room = Room(path)
    try:
        try:
            return _checked_to_read(path, f"{quoted}?mode=ro")
        except sqlite3.OperationalError as error:
            kind = error.sqlite_errorcode & 0xFF
            if kind in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
                return _checked_to_read(path, f"{quoted}?mode=ro&immutable=1")
            if kind not in {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL} or not room.give_up():
                raise
            connection = _checked_to_read(path, f"{quoted}?mode=ro")
            room.hold()
            return connection
    except sqlite3.Error as error:
        remedy = (
            "start tui-host: it is set aside, and what can be read carried over"
            if is_damage(error)
            else "look at its permissions"
        )
        if room.is_full():
            remedy = "the disk is full: remove something from it"
        raise StoreError(f"the database cannot be read: {error}", str(path), remedy) from error


def _checked_to_read(path: Path, uri: str) -> sqlite3.Connection:
    connection = connect(path, uri=uri)
    try:
        refuse_foreign(path, connection, NEWEST)
        refuse_older(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def damage_to_tell(path: Path) -> str:
    """Return a notice about damage for a user who reads a database, empty if none is known. Large files are not searched."""
    try:
        with closing(connect_to_read(path)) as connection:
            if _is_sound(path, connection):
                return ""
    except sqlite3.DatabaseError:
        pass
    return f"{path} is damaged: what can be read is shown. Start tui-host to carry it over into a new database"


def open_to_write(
    path: Path, room: Room, connect: Connect, migrations: Migrations, notices: list[str]
) -> tuple[sqlite3.Connection, Lock]:
    """Open the database for writing and take this process's lock. A damaged database is set aside, and readable content carried over.

    Adds messages for the user to `notices`.

    Raises:
        StoreError: The folder or the file cannot be used.
        SettingsError: A newer version of the program has written the file, which is left unchanged.
    """
    try:
        _make_folder_private(path.parent, notices)
        make_private(path)
        try:
            connection, lock = _ready(path, connect, migrations, notices)
        except (OSError, sqlite3.Error) as error:
            if is_locked(error) or not room.give_up():
                raise
            connection, lock = _ready(path, connect, migrations, notices)
    except (OSError, sqlite3.Error) as error:
        if is_locked(error):
            raise LockedError(LOCKED, str(path), "wait until it lets go of it") from error
        reason = words_of(error) if isinstance(error, sqlite3.Error) else error.strerror or str(error)
        if room.is_full():
            reason = "the disk is full"
        raise StoreError(f"the database cannot be opened: {reason}", str(path), ELSEWHERE) from error
    room.hold()
    return connection, lock


def _ready(path: Path, connect: Connect, migrations: Migrations, notices: list[str]) -> tuple[sqlite3.Connection, Lock]:
    """Check and open the database, and take this process's lock; on a full disk even opening needs some room."""
    if _is_damaged(path, migrations):
        with alone(path):  # another process may have seen it at the same time
            if _is_damaged(path, migrations):
                notices.append(_begin_anew(path, migrations))
    old_form = _form_too_old(path, migrations)
    if old_form:
        with alone(path):
            if _form_too_old(path, migrations):
                fresh = path.with_name(path.name + ".new")
                make_private(fresh)
                aside = _set_aside(path, fresh, f"form{old_form}")
                notices.append(f"the database of an early version was set aside as {aside.name}, and a new one begun")
    connection = _open(path, connect, migrations, notices)
    return connection, _lock(path, connection, notices)


def _form_too_old(path: Path, migrations: Migrations) -> int:
    """Return the form of a file too old to be brought up to date, 0 for any further file."""
    with closing(connect(path, uri=f"{path.absolute().as_uri()}?mode=ro")) as connection:
        try:
            version = version_of(connection)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode in _UNFINISHED:
                return 0
            raise
    return version if 0 < version < min(migrations) else 0


def _lock(path: Path, connection: sqlite3.Connection, notices: list[str]) -> Lock:
    """Take this process's lock beside the database; without a lock the database is closed again."""
    try:
        remove_left_behind(path)
        lock = Lock(path)
    except BaseException:
        connection.close()
        raise
    if lock.fault:
        notices.append(lock.fault)
    return lock


def doubt(path: Path) -> None:
    """Mark the database to be checked at the next start."""
    with suppress(OSError):  # it cannot be used either way, and that is told
        doubted(path).touch(0o600)


def doubted(path: Path) -> Path:
    """Return the path of the file whose presence makes the next start check the database."""
    return path.with_name(path.name + ".check")


class Whereabouts:
    """Watches the opened file for being removed, replaced or damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _identity(path)

    def is_gone(self) -> bool:
        """Return whether the file was removed or replaced."""
        try:
            return _identity(self._path) != self._known
        except OSError:
            return False  # it cannot be seen at the moment

    def doubt(self) -> None:
        """Mark the database to be checked at the next start."""
        doubt(self._path)

    def is_doubted(self) -> bool:
        """Return whether any process has seen damage in the file."""
        return doubted(self._path).exists()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def _set_aside(path: Path, fresh: Path, reason: str) -> Path:
    """Put a fresh database in the place of an unusable one, and return the new path of the old file."""
    aside = path.with_name(f"{path.name}.{reason}-{stamp()}")
    log, index = (path.with_name(path.name + ending) for ending in ("-wal", "-shm"))
    try:
        aside.hardlink_to(path)  # so that there is one in its place at any moment
    except OSError:  # no such links on this disk
        path.replace(aside)
    if log.exists():
        if log.stat().st_size:
            log.replace(aside.with_name(aside.name + "-wal"))
        else:
            log.unlink()
    index.unlink(missing_ok=True)  # made anew by whoever reads the log
    fresh.replace(path)
    doubted(path).unlink(missing_ok=True)
    return aside


def _make_folder_private(folder: Path, notices: list[str]) -> None:
    was_open = folder.exists() and bool(folder.stat().st_mode & 0o022)
    try:
        ensure_private_dir(folder)
    except SettingsError as error:
        raise StoreError(error.what, error.where, ELSEWHERE) from error
    if was_open:
        notices.append(f"others could write in the data folder, {folder}: from now on only you can")


def _is_damaged(path: Path, migrations: Migrations) -> bool:
    """Return whether the file cannot be used; a newer or foreign file is refused first.

    Nothing may write in what is damaged: not even what stands in its log.
    """
    try:
        with closing(connect(path, uri=f"{path.absolute().as_uri()}?mode=ro")) as connection:
            refuse_foreign(path, connection, max(migrations))
            if not _is_sound(path, connection):
                return True
            doubted(path).unlink(missing_ok=True)
            return False
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode in _UNFINISHED:
            return False
        if is_damage(error):
            return True
        raise


def _is_sound(path: Path, connection: sqlite3.Connection) -> bool:
    if path.stat().st_size > CHECKED_UP_TO and not doubted(path).exists():
        return True
    return connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"


def _begin_anew(path: Path, migrations: Migrations) -> str:
    """Set the damaged database aside, and begin a new one with the readable content; return the notice for a person."""
    fresh = path.with_name(path.name + ".salvaged")
    try:
        carried = salvage(path, fresh, migrations)
        if carried.is_nothing:  # also where it could not be made: a new one begins with nothing
            fresh.unlink()
            make_private(fresh)
        aside = _set_aside(path, fresh, "damaged")
    finally:
        fresh.unlink(missing_ok=True)
    return f"the database was damaged: it was set aside as {aside.name}, and a new one begun; {carried.words}"


def _open(path: Path, connect: Connect, migrations: Migrations, notices: list[str]) -> sqlite3.Connection:
    connection = connect(path)
    try:
        if version_of(connection) == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only while there is no table can it be chosen
        mode = _write_ahead(connection)
        if mode != "wal":
            notices.append(f"the data folder allows no write-ahead log ({mode}): keeping is slower here")
        connection.execute("PRAGMA synchronous = NORMAL")
        migrate(path, connection, migrations)
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> str:
    """Switch to the write-ahead log; SQLite does not wait here while another process switches."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                raise
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return mode
