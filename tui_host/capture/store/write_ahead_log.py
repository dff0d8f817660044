"""The write-ahead log beside the database: whether one can be used here, and whether a killed process left it damaged."""

from __future__ import annotations

import os
import sqlite3
import struct
from contextlib import suppress
from pathlib import Path

from tui_host.capture.store.companion_files import is_any_live

LOOKED_AT = 64 << 20  # bytes of a log that are checked: it has 16 MB, unless somebody read for long
_NETWORK = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "9p", "fuse.sshfs", "fuse.glusterfs")
)
_HEADER, _FRAME = 32, 24
_ORDERS = {0x377F0682: "<2I", 0x377F0683: ">2I"}


def choose_journal(connection: sqlite3.Connection, folder: Path, *, is_new: bool) -> str:
    """Use a write-ahead log where the folder allows one; return what to tell the user once where it does not."""
    before: str = connection.execute("PRAGMA journal_mode").fetchone()[0]
    network = network_file_system(folder)
    mode: str = connection.execute(f"PRAGMA journal_mode = {'DELETE' if network else 'WAL'}").fetchone()[0]
    if mode == "wal" or (mode == before and not is_new):
        return ""
    why = f"is on a network file system ({network})" if network else f"allows no shared memory ({mode})"
    return f"the data folder {why}: no write-ahead log is used, and keeping is slower here"


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


def words_of_lost_log(database: Path) -> str:
    """Return a notice of what stands behind damage in the log: SQLite reads up to there, and says nothing of the rest."""
    # While another process writes, its memory says how far the log goes, and what comes in at this moment looks like a loss.
    with suppress(OSError):
        if not is_any_live(database):
            with database.with_name(database.name + "-wal").open("rb") as file:
                lost = _lost_bytes(file.read(LOOKED_AT))
            if lost:
                what = "what was recorded last before the end of the last process is lost"
                return f"the log beside {database} is damaged: {what}, up to {-(-lost // 1024):,} KB"
    return ""


def _lost_bytes(log: bytes) -> int:
    # Source: SQLite, WAL-mode File Format
    if len(log) < _HEADER:
        return 0
    magic, _, page_size = struct.unpack_from(">3I", log)
    order = _ORDERS.get(magic, "")
    checksum = _checksum(log[:24], order, (0, 0)) if order else (0, 0)
    if checksum != struct.unpack_from(">2I", log, 24):
        return len(log)
    size, broken = _FRAME + page_size, 0
    for at in range(_HEADER, len(log) - size + 1, size):
        is_of_this_log = (
            log[at + 8 : at + 16] == log[16:24]
        )  # what an earlier log has left in the file has another salt
        is_commit = any(log[at + 4 : at + 8])
        if broken and is_of_this_log and is_commit:
            return len(log) - broken
        if not broken:
            checksum = _checksum(log[at : at + 8] + log[at + _FRAME : at + size], order, checksum)
            if not is_of_this_log or checksum != struct.unpack_from(">2I", log, at + 16):
                broken = at
    return 0


def _checksum(data: bytes, order: str, checksum: tuple[int, int]) -> tuple[int, int]:
    first, second = checksum
    for even, odd in struct.iter_unpack(order, data):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
