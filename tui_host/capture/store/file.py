"""The database's file: made private, checked, set aside where it is damaged, brought to the newest form."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from tui_host.capture.store.lock import Lock, remove_left_behind
from tui_host.capture.store.schema import APPLICATION_ID, MIGRATIONS
from tui_host.capture.store.writer import is_damage
from tui_host.errors import SettingsError, StoreError
from tui_host.settings.paths import ensure_private_dir

BUSY_SECONDS = 5.0
LOG_PAGES = 4000
"""Pages of the write-ahead log (16 MB) after which they come into the file itself: each time the disk is waited for twice."""
CHECKED_UP_TO = 4 << 20
"""Bytes up to which a file is checked whole at each start; a larger one where something was wrong with it before."""

_ELSEWHERE = "choose another place with --data-dir, or start with --no-record"


Connect: TypeAlias = Callable[[Path], sqlite3.Connection]


class OlderFormError(StoreError):
    """It was opened to be read, but must be brought up to date before."""


def connect(path: Path, *, uri: str = "") -> sqlite3.Connection:
    """A connection in autocommit mode that waits for other processes and leaves no deleted text behind."""
    connection = sqlite3.connect(
        uri or path, uri=bool(uri), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that cannot write; works in a folder that cannot be written, too (STO-02).

    Raises:
        OlderFormError: It must be brought up to date before.
        StoreError: It cannot be read, or not by this version.
    """
    quoted = path.absolute().as_uri()
    try:
        try:
            return _checked_to_read(path, f"{quoted}?mode=ro")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
                raise
            return _checked_to_read(path, f"{quoted}?mode=ro&immutable=1")
    except sqlite3.Error as error:
        remedy = "start tui-host, and it is set aside" if is_damage(error) else "look at its permissions"
        raise StoreError(f"the database cannot be read: {error}", str(path), remedy) from error


def _checked_to_read(path: Path, uri: str) -> sqlite3.Connection:
    connection = connect(path, uri=uri)
    try:
        _refuse_foreign(path, connection, len(MIGRATIONS))
        _refuse_older(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_write(
    path: Path, connect: Connect, migrations: Sequence[Sequence[str]], notices: list[str]
) -> tuple[sqlite3.Connection, Lock]:
    """The database, ready to be written, and this process's lock; a damaged one is moved aside and told in `notices`.

    Raises:
        StoreError: The folder or the file cannot be used.
        SettingsError: A newer version of the program has written it; nothing in it is touched.
    """
    try:
        _make_folder_private(path.parent, notices)
        _make_private(path)
        try:
            connection = _open(path, connect, migrations, notices)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            aside = set_aside(path)
            notices.append(f"the database was damaged: it was set aside as {aside.name}, and a new one begun")
            _make_private(path)
            connection = _open(path, connect, migrations, notices)
        return connection, _lock(path, connection, notices)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise StoreError(f"the database cannot be opened: {reason}", str(path), _ELSEWHERE) from error


def _lock(path: Path, connection: sqlite3.Connection, notices: list[str]) -> Lock:
    """This process's lock beside the database; without one the database is closed again."""
    try:
        remove_left_behind(path)
        lock = Lock(path)
    except BaseException:
        connection.close()
        raise
    if lock.fault:
        notices.append(lock.fault)
    return lock


def doubted(path: Path) -> Path:
    """The file whose presence says: look at the database before it is used again."""
    return path.with_name(path.name + ".check")


def set_aside(path: Path) -> Path:
    """Move the database and what belongs to it out of the way; nothing of it is deleted.

    Returns:
        Where the database is now.
    """
    aside = path.with_name(f"{path.name}.damaged-{_stamp()}")
    for ending in ("", "-wal", "-shm"):
        old = path.with_name(path.name + ending)
        if old.exists():
            old.replace(aside.with_name(aside.name + ending))
    doubted(path).unlink(missing_ok=True)
    return aside


def _make_folder_private(folder: Path, notices: list[str]) -> None:
    was_open = folder.exists() and bool(folder.stat().st_mode & 0o022)
    try:
        ensure_private_dir(folder)
    except SettingsError as error:
        raise StoreError(error.what, error.where, _ELSEWHERE) from error
    if was_open:
        notices.append(f"others could write in the data folder, {folder}: from now on only you can")


def _make_private(path: Path) -> None:
    try:
        # made before SQLite does it, so that its two other files get the same mode (SEC-09)
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)
    else:
        os.fchmod(file, 0o600)
        os.close(file)


def _open(path: Path, connect: Connect, migrations: Sequence[Sequence[str]], notices: list[str]) -> sqlite3.Connection:
    connection = connect(path)
    try:
        # what is damaged, newer or another program's is left as it is: nothing may write before these
        _check(path, connection)
        _refuse_foreign(path, connection, len(migrations))
        if version_of(connection) == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only while there is no table can it be chosen
        mode = _write_ahead(connection)
        if mode != "wal":
            notices.append(f"the data folder allows no write-ahead log ({mode}): keeping is slower here")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        _migrate(path, connection, migrations)
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> str:
    """Switch to the write-ahead log; SQLite does not wait here while another process does the same."""
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


def _check(path: Path, connection: sqlite3.Connection) -> None:
    if path.stat().st_size > CHECKED_UP_TO and not doubted(path).exists():
        return
    found: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        damage = sqlite3.DatabaseError(found)
        damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damage
    doubted(path).unlink(missing_ok=True)


def version_of(connection: sqlite3.Connection) -> int:
    """The number of migrations that the file has seen."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _migrate(path: Path, connection: sqlite3.Connection, migrations: Sequence[Sequence[str]]) -> None:
    version = version_of(connection)
    if 0 < version < len(migrations):
        _copy_aside(path, connection, version)
    while version_of(connection) < len(migrations):
        _migrate_once(connection, migrations)


def _migrate_once(connection: sqlite3.Connection, migrations: Sequence[Sequence[str]]) -> None:
    """One form on, in one transaction; a new file gets all at once, so that nobody sees it half made."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection)  # asked again: another process may have done it
        goal = len(migrations) if version == 0 else version + 1
        for statements in migrations[version:goal]:
            for statement in statements:
                connection.execute(statement)
        if version < len(migrations):
            connection.execute(f"PRAGMA user_version = {goal}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _refuse_foreign(path: Path, connection: sqlite3.Connection, newest: int) -> None:
    connection.execute("BEGIN")  # one look: another process may be making the tables just now
    try:
        version = version_of(connection)
        application: int = connection.execute("PRAGMA application_id").fetchone()[0]
        tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    finally:
        connection.execute("ROLLBACK")
    if not (version or application or tables):
        return
    if application != APPLICATION_ID:
        raise StoreError("this is a database of another program", str(path), _ELSEWHERE)
    if version > newest:  # told as wrong use, with 2: nothing is amiss with the file (STO-06)
        raise SettingsError(
            f"the database was written by a newer tui-host (form {version}, this one knows {newest})",
            str(path),
            "update tui-host, or choose another place with --data-dir",
        )


def _refuse_older(path: Path, connection: sqlite3.Connection) -> None:
    if version_of(connection) < len(MIGRATIONS):
        raise OlderFormError(
            "the database has an older form", str(path), "start tui-host once, and it is brought up to date"
        )


def _copy_aside(path: Path, connection: sqlite3.Connection, version: int) -> None:
    copy_path = path.with_name(f"{path.name}.form{version}-{_stamp()}")
    _make_private(copy_path)
    copy = connect(copy_path)
    try:
        connection.backup(copy)
    finally:
        copy.close()


def _stamp() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z"
