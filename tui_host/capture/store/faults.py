"""What an error of SQLite means: the place is at fault, the file is broken, or what was to be written."""

from __future__ import annotations

import sqlite3

DAMAGED = "the database is damaged"


def is_storage(error: sqlite3.Error) -> bool:
    """Whether it is the place's fault (full, locked, read-only, broken), not that of what was to be written."""
    if isinstance(error, sqlite3.OperationalError):
        return _code(error) != sqlite3.SQLITE_ERROR
    return type(error) is sqlite3.DatabaseError or isinstance(error, sqlite3.InternalError)


def _code(error: sqlite3.Error) -> int:
    """The primary result code; absent where the module itself raised."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file itself is broken."""
    return _code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def reason_of(error: sqlite3.Error) -> str:
    """What a person is told of it."""
    if is_damage(error):
        return f"{DAMAGED}; start again, and it is set aside"
    if _code(error) == sqlite3.SQLITE_FULL:
        return "the disk is full"
    if _code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return "another program holds the database locked"
    return f"the database cannot be written: {error}"
