"""The database's file: opens it, checks it, keeps it private, and sets a damaged or older one aside."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from struct import unpack_from
from typing import TypeVar

from tui_host.capture.store import schema
from tui_host.capture.store.companion_files import LEAST, Lock, alone, doubted, give_up_room, hold_room, is_log_left
from tui_host.capture.store.salvage import salvage
from tui_host.capture.store.schema import FORM, LOCKED, LOCKS, READ_FAULTS, code_of, connect, is_damage
from tui_host.errors import SettingsError, StoreError
from tui_host.settings.paths import ensure_private_dir

T = TypeVar("T")
CARRIED_OVER = "start tui-host: it is set aside, and what can be read carried over"
ELSEWHERE = "choose another place with --data-dir; the app and `ask` run with --no-record, too"
SET_ASIDE = ".*-*Z"
"""How the names of databases end that were set aside: only the user removes them."""
CHECKED_UP_TO = 4 << 20
"""Largest file, in bytes, to check completely at each start; a larger file is checked after damage was seen."""

_UNFINISHED = frozenset((sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY))
"""The process that wrote the file was killed: SQLite undoes its last transaction once the file is opened for writing."""
_NETWORK = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "9p", "fuse.sshfs", "fuse.glusterfs")
)
_FACTS = """
    SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version, pragma_application_id
"""  # in one statement: another process may be creating the tables just now


class OlderFormError(StoreError):
    """Raised if the database was opened for reading, but has an older form, or no tables yet."""


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a connection for reading, even in a folder without permission to write, or on a full disk. Raises for an older form."""

    def opened() -> tuple[sqlite3.Connection, int]:
        try:
            return _opened_to_read(path)
        except sqlite3.OperationalError as error:
            if code_of(error) not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
                raise
            return _opened_to_read(path, "&immutable=1")

    connection, form = _with_room(path, opened)
    if form < FORM:
        connection.close()
        what = f"the database has the form of an early version ({form})" if form else "the database is empty"
        raise OlderFormError(what, str(path), "start tui-host once, and a new one is begun")
    return connection


def _with_room(path: Path, work: Callable[[], T]) -> T:
    """Return what work returns that opens the database: on a full disk even that needs the room held back. Raises StoreError."""
    try:
        try:
            return work()
        except (OSError, sqlite3.Error) as error:
            if is_damage(error) or code_of(error) in LOCKS or not give_up_room(path):
                raise
        result = work()
    except (OSError, *READ_FAULTS) as error:
        reason, remedy = str(getattr(error, "strerror", "") or error), ELSEWHERE
        if code_of(error) in LOCKS:
            raise StoreError(LOCKED, str(path), "wait until it lets go of it") from error
        if is_damage(error):
            remedy = CARRIED_OVER
        with suppress(OSError):
            reason = "the disk is full" if shutil.disk_usage(path.parent).free < LEAST else reason
        raise StoreError(f"the database cannot be opened: {reason}", str(path), remedy) from error
    hold_room(path)
    return result


def _opened_to_read(path: Path, more: str = "") -> tuple[sqlite3.Connection, int]:
    """Open a file, and return its form. Raises for a file of another program, or of a newer version."""
    connection = connect(path, uri=f"{path.absolute().as_uri()}?mode=ro{more}")
    try:
        form, application, tables = connection.execute(_FACTS).fetchone()
    except BaseException:
        connection.close()
        raise
    is_foreign = application != schema.APPLICATION_ID and any((form, application, tables))
    if not is_foreign and form <= FORM:
        return connection, form
    connection.close()
    if is_foreign:
        raise StoreError("this is a database of another program", str(path), ELSEWHERE)
    what = f"the database was written by a newer tui-host (form {form}, this one knows {FORM})"
    # a SettingsError, so that the exit code is 2: the file itself is sound
    raise SettingsError(what, str(path), "update tui-host, or choose another place with --data-dir")


def is_sound(path: Path, connection: sqlite3.Connection) -> bool:
    """Return whether a file is not damaged, as far as is known: a large one is not searched unless damage was seen."""
    if path.stat().st_size > CHECKED_UP_TO and not doubted(path).exists():
        return True
    return connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"


def open_to_write(path: Path, notices: list[str]) -> tuple[sqlite3.Connection, Lock]:
    """Open the database for writing and take this process's lock.

    An older database is set aside; a damaged one, too, and readable content carried over: `notices` says so.
    """
    folder = path.parent
    was_open = folder.exists() and bool(folder.stat().st_mode & 0o022)
    try:
        ensure_private_dir(folder)
    except SettingsError as error:
        raise StoreError(error.what, error.where, ELSEWHERE) from error
    if was_open:
        notices.append(f"others could write in the data folder, {folder}: from now on only you can")
    opened = _with_room(path, lambda: _ready(path, notices))
    hold_room(path)
    return opened


def _ready(path: Path, notices: list[str]) -> tuple[sqlite3.Connection, Lock]:
    schema.make_private(path)
    with alone(path):  # another process may open it at the same time, and see what this one sees
        if notice := _set_aside(path):
            notices.append(notice)
        connection = connect(path)
        try:
            # before anything is written: in a new file all that was recorded may stand in the log
            lost = _words_of_lost_log(path, connection) if is_log_left(path) else ""
            is_new = connection.execute("PRAGMA user_version").fetchone()[0] == 0
            if is_new:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only while there is no table can it be chosen
            before: str = connection.execute("PRAGMA journal_mode").fetchone()[0]
            network = network_file_system(path.parent)  # where the log's memory cannot be shared between machines
            wanted = "DELETE" if network else "WAL"
            mode: str = connection.execute(f"PRAGMA journal_mode = {wanted}").fetchone()[0]
            connection.execute("PRAGMA synchronous = NORMAL")
            schema.make_tables(connection)
            lock = Lock(path)
        except BaseException:
            connection.close()
            raise
    slow = ""
    if mode != "wal" and (is_new or mode != before):
        why = f"is on a network file system ({network})" if network else f"allows no shared memory ({mode})"
        slow = f"the data folder {why}: no write-ahead log is used, and keeping is slower here"
    notices += filter(None, (lost, slow, lock.fault))
    return connection, lock


def _words_of_lost_log(path: Path, connection: sqlite3.Connection) -> str:
    """Bring the log that a killed process left into the file; return a notice of what stands behind damage in it.

    SQLite reads up to the damage, and says nothing of the rest. Source: SQLite, WAL-mode File Format.
    """
    with path.with_name(f"{path.name}-wal").open("rb") as file:
        header = file.read(32)
        magic, _, page_size = unpack_from(">3I", header.ljust(32, b"\0"))
        frames: int = max(connection.execute("PRAGMA wal_checkpoint").fetchone()[1], 0)  # -1: not a log to SQLite
        for at in range(32 + frames * (24 + page_size), file.seek(0, os.SEEK_END), 24 + page_size):
            file.seek(at)
            frame = file.read(24)
            # what an earlier log has left has another salt; what no commit follows was never finished
            is_lost = frame[8:16] == header[16:24] and any(frame[4:8])
            if is_lost or magic not in {0x377F0682, 0x377F0683}:
                size = file.seek(0, os.SEEK_END) - at
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # it is not looked at again
                what = "what was recorded last before the end of the last process is lost"
                return f"the log beside {path} is damaged: {what}, up to {-(-size // 1024):,} KB"
    return ""


def network_file_system(folder: Path) -> str:
    """Return the kind of network file system that a folder is on; empty for a disk of this machine, and where nothing tells."""
    with suppress(OSError, ValueError):
        device = folder.stat().st_dev
        number = f"{os.major(device)}:{os.minor(device)}"
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            fields = line.split()
            kind = fields[fields.index("-") + 1]
            if fields[2] == number and kind in _NETWORK:
                return kind
    return ""


def _set_aside(path: Path) -> str:
    """Put a new database in the place of one that is damaged or of an older form, with what can be read of a damaged one.

    Nothing may write in what is damaged: not even what stands in its log. A newer or foreign file is refused. Returns a notice for
    the user, empty for a file to be used.
    """
    why = ""
    try:
        connection, form = _opened_to_read(path)
        with closing(connection):
            if 0 < form < FORM:
                why = f"form{form}"
            elif not is_sound(path, connection):
                why = "damaged"
    except READ_FAULTS as error:
        if is_damage(error):
            why = "damaged"
        elif getattr(error, "sqlite_errorcode", 0) in _UNFINISHED:
            return ""
        else:
            raise
    if not why:
        doubted(path).unlink(missing_ok=True)
        return ""
    fresh, log, index = (path.with_name(path.name + ending) for ending in (".new", "-wal", "-shm"))
    aside = path.with_name(f"{path.name}.{why}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z")
    fresh.unlink(missing_ok=True)
    carried = salvage(path, fresh) if why == "damaged" else ""
    schema.make_private(fresh)  # where nothing was carried over
    try:
        aside.hardlink_to(path)  # so that there is one in its place at any moment
    except OSError:  # no such links on this disk
        path.replace(aside)
    if log.exists() and log.stat().st_size:
        log.replace(aside.with_name(f"{aside.name}-wal"))
    for beside in (log, index):  # made anew by whoever reads the log
        beside.unlink(missing_ok=True)
    fresh.replace(path)
    doubted(path).unlink(missing_ok=True)
    if not carried:
        return f"the database of an early version was set aside as {aside.name}, and a new one begun"
    return f"the database was damaged: it was set aside as {aside.name}, and a new one begun; {carried}"
