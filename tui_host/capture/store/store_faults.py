"""Interprets errors of SQLite: a fault of the disk, a damaged file, or invalid values."""

from __future__ import annotations

import sqlite3

from tui_host.errors import StoreError


class LockedError(StoreError):
    """Another program holds the database, and may free the lock at any moment."""


DAMAGED = "the database is damaged"
LOCKED = "another process holds the database locked"


def is_storage(error: Exception) -> bool:
    """Return whether an error comes from the file or disk (full, locked, read-only, damaged), not from the values."""
    if isinstance(error, sqlite3.OperationalError):
        return _code(error) != sqlite3.SQLITE_ERROR
    return type(error) is sqlite3.DatabaseError or isinstance(error, sqlite3.InternalError)


def _code(error: sqlite3.Error) -> int:
    """The primary result code; absent where the module itself raised."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error means that the file is damaged."""
    return _code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def is_locked(error: BaseException) -> bool:
    """Return whether another program holds the file."""
    return isinstance(error, sqlite3.Error) and _code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def reason_of(error: sqlite3.Error) -> str:
    """Return the reason for a person."""
    if is_damage(error):
        return f"{DAMAGED}; start again, and it is set aside"
    if _code(error) == sqlite3.SQLITE_FULL:
        return "the disk is full"
    if is_locked(error):
        return LOCKED
    return f"the database cannot be written: {error}"
