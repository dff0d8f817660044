"""Interprets errors of SQLite: a fault of the disk, a damaged file, or invalid values."""

from __future__ import annotations

import sqlite3

from tui_host.errors import StoreError

LOCKS = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))  # the codes where another program holds the file
DAMAGED = "the database is damaged"
LOCKED = "another process holds the database locked"
READ_FAULTS = (sqlite3.Error, UnicodeDecodeError)  # the second comes from SQLite's message, which quotes a damaged name


class LockedError(StoreError):
    """Another program holds the database, and may free the lock at any moment."""


def code_of(error: BaseException) -> int:
    """Return SQLite's primary result code; that of an unspecific error where the module itself raised."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def is_storage(error: Exception) -> bool:
    """Return whether an error comes from the file or disk (full, locked, read-only, damaged), not from the values."""
    if isinstance(error, sqlite3.OperationalError):
        return code_of(error) != sqlite3.SQLITE_ERROR
    return type(error) is sqlite3.DatabaseError or isinstance(error, sqlite3.InternalError)


def is_damage(error: BaseException) -> bool:
    """Return whether an error means that the file is damaged."""
    return isinstance(error, UnicodeDecodeError) or code_of(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def reason_of(error: sqlite3.Error) -> str:
    """Return the reason for a person."""
    if is_damage(error):
        return f"{DAMAGED}; start again, and it is set aside"
    if code_of(error) in LOCKS:
        return LOCKED
    return "the disk is full" if code_of(error) == sqlite3.SQLITE_FULL else f"the database cannot be written: {error}"
