"""The database's form: a connection as all have it, what a file says it is, and how it is brought to the newest form."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from tui_host.capture.store.migrations import APPLICATION_ID, MIGRATIONS
from tui_host.errors import SettingsError, StoreError

BUSY_SECONDS = 5.0
ELSEWHERE = "choose another place with --data-dir; the app and `ask` run with --no-record, too"

T = TypeVar("T")
Connect: TypeAlias = Callable[[Path], sqlite3.Connection]


damaged_text = partial(str, encoding="utf-8", errors="backslashreplace")
"""Reads a text, where damage within it shows as numbers and keeps nobody from the rest (STO-03); takes twice as long."""


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


def despite_damage(connection: sqlite3.Connection, read: Callable[[], T]) -> T:
    """What is read on a connection, also where a text in it is damaged.

    Args:
        connection: Where.
        read: Reads; done again where it came upon such a text.
    """
    try:
        return read()
    except sqlite3.OperationalError:
        if connection.text_factory is damaged_text:
            raise
        connection.text_factory = damaged_text  # from now on: where one is damaged, there may be more
        return read()


def version_of(connection: sqlite3.Connection) -> int:
    """The number of migrations that the file has seen."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def make_private(path: Path) -> None:
    """Make a file that its owner alone can read, or see to it that it is so."""
    try:
        # made before SQLite does it, so that its two other files get the same mode (SEC-09)
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)
    else:
        os.fchmod(file, 0o600)
        os.close(file)


def migrate(path: Path, connection: sqlite3.Connection, migrations: Sequence[Sequence[str]]) -> None:
    """Bring a file to the newest form, each form in a transaction of its own, with a copy beside it of how it was."""
    version = version_of(connection)
    if 0 < version < len(migrations):
        _copy_aside(path, connection, version)
    while version_of(connection) < len(migrations):
        migrate_once(connection, migrations)


def migrate_once(connection: sqlite3.Connection, migrations: Sequence[Sequence[str]]) -> None:
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


def refuse_foreign(path: Path, connection: sqlite3.Connection, newest: int) -> None:
    """Refuse what another program, or a newer version of this one, has written.

    Raises:
        StoreError: It is another program's.
        SettingsError: It has a newer form.
    """
    connection.execute("BEGIN")  # one look: another process may be making the tables just now
    try:
        version = version_of(connection)
        application: int = connection.execute("PRAGMA application_id").fetchone()[0]
        tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    except UnicodeDecodeError as error:  # SQLite's own words, in which a damaged name stands
        damage = sqlite3.DatabaseError("its schema cannot be read")
        damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damage from error
    finally:
        if connection.in_transaction:  # some errors have ended it
            connection.execute("ROLLBACK")
    if not (version or application or tables):
        return
    if application != APPLICATION_ID:
        raise StoreError("this is a database of another program", str(path), ELSEWHERE)
    if version > newest:  # told as wrong use, with 2: nothing is amiss with the file (STO-06)
        raise SettingsError(
            f"the database was written by a newer tui-host (form {version}, this one knows {newest})",
            str(path),
            "update tui-host, or choose another place with --data-dir",
        )


def refuse_older(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse to read what must be brought up to date before.

    Raises:
        OlderFormError: It must.
    """
    if version_of(connection) < len(MIGRATIONS):
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
    """This moment, for the name of a file: sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z"
