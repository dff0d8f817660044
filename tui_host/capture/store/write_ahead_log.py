"""The write-ahead log beside the database: whether one can be used here, and whether a killed process left it damaged."""

from __future__ import annotations

import os
import sqlite3
import struct
import time
from contextlib import suppress
from pathlib import Path

from tui_host.capture.store.schema import BUSY_SECONDS

LOOKED_AT = 64 << 20
"""Bytes of a log that are checked: it has 16 MB, unless somebody read for long."""

_NETWORK = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "9p", "fuse.sshfs", "fuse.glusterfs")
)
_HEADER, _FRAME = struct.Struct(">8I"), struct.Struct(">6I")
_LITTLE_ENDIAN, _BIG_ENDIAN = 0x377F0682, 0x377F0683


def choose_journal(connection: sqlite3.Connection, folder: Path) -> str:
    """Use a write-ahead log where the folder allows one.

    Returns:
        What to tell the user; empty where there is a log, and where the user was told before.
    """
    before: str = connection.execute("PRAGMA journal_mode").fetchone()[0]
    is_new = connection.execute("PRAGMA user_version").fetchone()[0] == 0
    network = network_file_system(folder)
    mode = _switched(connection, "DELETE" if network else "WAL")
    if mode == "wal" or (mode == before and not is_new):
        return ""
    why = f"is on a network file system ({network})" if network else f"allows no shared memory ({mode})"
    return f"the data folder {why}: no write-ahead log is used, and keeping is slower here"


def _switched(connection: sqlite3.Connection, mode: str) -> str:
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            chosen: str = connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0]
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
            if not is_busy or time.monotonic() > end:
                raise
            time.sleep(0.01)  # SQLite itself does not wait while another process switches
        else:
            return chosen


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


def lost_bytes(database: Path) -> int:
    """Return how much of the log stands behind damage in it: SQLite reads up to there, and says nothing of the rest.

    The format is SQLite's, «WAL-mode File Format». Call only while no process has the database open for writing.
    """
    try:
        with database.with_name(database.name + "-wal").open("rb") as file:
            log = file.read(LOOKED_AT)
    except OSError:
        return 0
    if len(log) < _HEADER.size:
        return 0
    magic, _, page, _, *salts, first, second = _HEADER.unpack_from(log)
    order = {_LITTLE_ENDIAN: "<", _BIG_ENDIAN: ">"}.get(magic, "")
    if not order or _checksum(log[:24], order, (0, 0)) != (first, second):
        return len(log)
    size = _FRAME.size + page
    frames = range(_HEADER.size, len(log) - size + 1, size)
    checksum, broken = (first, second), 0
    for at in frames:
        _, committed, *sums = _FRAME.unpack_from(log, at)
        is_of_this_log = sums[:2] == salts  # what an earlier log has left behind in the file has others
        if broken and is_of_this_log and committed:
            return len(log) - broken
        if not broken:
            checksum = _checksum(log[at : at + 8] + log[at + _FRAME.size : at + size], order, checksum)
            if not is_of_this_log or checksum != (sums[2], sums[3]):
                broken = at
    return 0


def _checksum(data: bytes, order: str, checksum: tuple[int, int]) -> tuple[int, int]:
    first, second = checksum
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for even, odd in zip(words, words, strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
