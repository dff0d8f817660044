"""Connects to the database, checks its form, and upgrades an older form."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from tui_host.capture.store.migrations import APPLICATION_ID, NEWEST, Migrations
from tui_host.errors import SettingsError, StoreError

BUSY_SECONDS = 5.0
ELSEWHERE = "choose another place with --data-dir; the app and `ask` run with --no-record, too"

T = TypeVar("T")
Connect: TypeAlias = Callable[[Path], sqlite3.Connection]


damaged_text = partial(str, encoding="utf-8", errors="backslashreplace")
"""A text factory that reads damaged texts too, with the bytes that are no UTF-8 as escapes. Takes twice as long."""


class OlderFormError(StoreError):
    """Raised if the database was opened for reading, but has to be upgraded first."""


def connect(path: Path, *, uri: str = "") -> sqlite3.Connection:
    """Open a connection in autocommit mode. The connection waits for other processes, and overwrites deleted data."""
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


def despite_damage(connection: sqlite3.Connection, read: Callable[[], T]) -> T:
    """Call `read`; at a damaged text, call again with `damaged_text` as the connection's text factory."""
    try:
        return read()
    except sqlite3.OperationalError:
        if connection.text_factory is damaged_text:
            raise
        connection.text_factory = damaged_text  # and keep it: where one text is damaged there may be more
        return read()


def version_of(connection: sqlite3.Connection) -> int:
    """Return the form of the file; 0 if no table was made yet."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def make_private(path: Path) -> None:
    """Create a file readable only by its owner, or remove other users' permissions."""
    try:
        # created here and not by SQLite, which gives its two other files the same mode
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)
    else:
        os.fchmod(file, 0o600)
        os.close(file)


def migrate(path: Path, connection: sqlite3.Connection, migrations: Migrations) -> None:
    """Upgrade a file to the newest form, each form in a transaction, with a copy of the old file."""
    version = version_of(connection)
    newest = max(migrations)
    if 0 < version < newest:
        _copy_aside(path, connection, version)
    while version_of(connection) < newest:
        migrate_once(connection, migrations)


def migrate_once(connection: sqlite3.Connection, migrations: Migrations) -> None:
    """Upgrade by one form in a transaction. A new file gets all forms at once, so no process sees it half made."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection)  # asked again: another process may have done it
        goal = max(migrations, default=0) if version == 0 else version + 1
        for form in sorted(migrations):
            for statement in migrations[form] if version < form <= goal else ():
                connection.execute(statement)
        if version < goal and goal in migrations:
            connection.execute(f"PRAGMA user_version = {goal}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def refuse_foreign(path: Path, connection: sqlite3.Connection, newest: int) -> None:
    """Refuse a file of a foreign program, or of a newer version.

    Raises:
        StoreError: The file is another program's.
        SettingsError: The file has a newer form.
    """
    connection.execute("BEGIN")  # one transaction: another process may be creating the tables just now
    try:
        version = version_of(connection)
        application: int = connection.execute("PRAGMA application_id").fetchone()[0]
        tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    except UnicodeDecodeError as error:  # in SQLite's own message, which quotes a damaged name
        damage = sqlite3.DatabaseError("its schema cannot be read")
        damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damage from error
    finally:
        if connection.in_transaction:  # some errors end the transaction
            connection.execute("ROLLBACK")
    if not (version or application or tables):
        return
    if application != APPLICATION_ID:
        raise StoreError("this is a database of another program", str(path), ELSEWHERE)
    if version > newest:  # a SettingsError, so that the exit code is 2: the file itself is sound
        raise SettingsError(
            f"the database was written by a newer tui-host (form {version}, this one knows {newest})",
            str(path),
            "update tui-host, or choose another place with --data-dir",
        )


def refuse_older(path: Path, connection: sqlite3.Connection) -> None:
    """Raise `OlderFormError` if the file has an older form than the newest."""
    if version_of(connection) < NEWEST:
        raise OlderFormError(
            "the database has an older form", str(path), "start tui-host once, and it is brought up to date"
        )


def _copy_aside(path: Path, connection: sqlite3.Connection, version: int) -> None:
    copy_path = path.with_name(f"{path.name}.form{version}-{stamp()}")
    make_private(copy_path)
    copy = connect(copy_path)
    try:
        connection.backup(copy)
    finally:
        copy.close()


def stamp() -> str:
    """Return the current time for the name of a file; such names sort by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z"
