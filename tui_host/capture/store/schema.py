"""The form of the database: its tables, how a new one is made and opened, and what SQLite's errors mean.

References are not enforced: to look up each takes a fifth of the time that a record takes. The writer looks for a place once in a
transaction, and deletes what refers to others first. This is the first form that later versions will have to open: a change to it
is a new form, and needs statements that bring a file of this one up to date.

The facts of a chat that is a branch tell what it shares with older sessions (`Parent`): of each the last turn, and the number of
the first message and of the first item that are no more shared. Its own go on with these numbers, and nothing is copied.
"""

from __future__ import annotations

import sqlite3
from operator import methodcaller
from pathlib import Path

APPLICATION_ID = 0x74756968  # SQLite's id of our files: the letters `tuih`
FORM = 6
SEQ_BITS = 40  # a record's key is its capture's key, shifted left by so many bits, plus its number in the capture
BUSY_SECONDS = 5.0  # so long SQLite waits for other processes
LOCKS = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))  # the codes where another program holds the file
LOCKED = "another process holds the database locked"
DAMAGED = "the database is damaged"
damaged_text = methodcaller("decode", "utf-8", "backslashreplace")
"""A text factory that reads damaged texts too, with the bytes that are no UTF-8 as escapes. Takes twice as long."""
READ_FAULTS = (sqlite3.Error, UnicodeDecodeError)  # the second comes from SQLite's message, which quotes a damaged name

_TABLES = """
    CREATE TABLE captures (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,       -- app, ask, tap, import
        started INTEGER NOT NULL, -- ns since 1970
        ended INTEGER,            -- ns; NULL while it runs, and where it was killed
        pid INTEGER NOT NULL,
        owner TEXT                -- the lock that its process holds; see process_lock
    );
    CREATE TABLE places (
        key INTEGER PRIMARY KEY,
        capture INTEGER NOT NULL REFERENCES captures,
        wire TEXT NOT NULL,       -- llm, mcp, stderr, host
        peer TEXT NOT NULL,
        session TEXT,
        turn INTEGER,
        step INTEGER,
        call TEXT,
        connection TEXT,          -- unique in its capture
        exchange TEXT             -- unique in its capture
    );
    CREATE TABLE records (
        key INTEGER PRIMARY KEY,  -- capture's key << 40 | seq
        place INTEGER NOT NULL REFERENCES places,
        time INTEGER NOT NULL,    -- ns since 1970
        mono INTEGER NOT NULL,    -- ns; -1 where no clock tells when it was
        kind TEXT NOT NULL,
        direction TEXT,           -- out, in
        encoding TEXT,
        malformed TEXT,
        head,                     -- JSON: [method, url, status, [[name, value], ...]]; or its length in bytes at the start of data
        redacted TEXT,            -- JSON: [[where, name, length], ...]
        base INTEGER REFERENCES records, -- the record whose data is the prefix of this one's frame
        size INTEGER,             -- of what data unpacks to; NULL where it is stored as it is and is no zstd frame
        last INTEGER,             -- data holds the records of this place from key to this one; see answers
        data BLOB NOT NULL
    );
    CREATE INDEX records_by_place ON records (place);
    CREATE INDEX records_by_last ON records (last) WHERE last IS NOT NULL;
    CREATE INDEX places_by_connection ON places (capture, connection);
    CREATE INDEX places_by_session ON places (session, turn) WHERE session IS NOT NULL;
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        created INTEGER NOT NULL, -- ns since 1970
        updated INTEGER NOT NULL,
        turns INTEGER NOT NULL,
        source TEXT NOT NULL,     -- chat, ask, tap, import
        model TEXT NOT NULL,      -- PROVIDER/MODEL
        protocol TEXT NOT NULL,
        profile TEXT NOT NULL DEFAULT '',
        options TEXT NOT NULL DEFAULT '{}', -- JSON, by the options' names
        facts TEXT NOT NULL DEFAULT '{}',   -- JSON, what a tap found out: host, model, first question
        draft TEXT NOT NULL,      -- what stands unsent in the prompt
        owner TEXT                -- the lock of the process that writes it
    );
    CREATE TABLE turns (
        session TEXT NOT NULL, number INTEGER NOT NULL, model TEXT NOT NULL, protocol TEXT NOT NULL,
        PRIMARY KEY (session, number)
    );
    CREATE TABLE messages (
        session TEXT NOT NULL, number INTEGER NOT NULL, turn INTEGER NOT NULL, json TEXT NOT NULL,
        PRIMARY KEY (session, number)
    );
    CREATE TABLE items (
        session TEXT NOT NULL, number INTEGER NOT NULL, json TEXT NOT NULL, PRIMARY KEY (session, number)
    );
    CREATE TABLE tap_links (
        tap TEXT NOT NULL,        -- a session of a tap, the smaller id of the two
        other TEXT NOT NULL,      -- another one
        joined INTEGER NOT NULL,  -- 1: the two are one story; 0: they are not
        UNIQUE (tap, other)
    );
    CREATE INDEX tap_links_by_other ON tap_links (other);
    CREATE TABLE frame_choices (
        call TEXT NOT NULL,
        capture TEXT NOT NULL,    -- the capture's id
        seq INTEGER NOT NULL,     -- the frame's number
        joined INTEGER NOT NULL,  -- 1: the frame carried the call; 0: it did not
        UNIQUE (capture, seq, call)
    );
    CREATE TABLE marks (
        number INTEGER PRIMARY KEY, -- in the order of marking
        session TEXT NOT NULL,    -- the session or story in whose list the row stands
        capture TEXT NOT NULL,    -- the capture's id
        seq INTEGER NOT NULL,     -- the row's first record
        note TEXT NOT NULL,
        UNIQUE (session, capture, seq)
    )
"""


def connect(path: Path, *, uri: str = "") -> sqlite3.Connection:
    """Open a connection in autocommit mode. It waits for other processes, and overwrites deleted data."""
    connection = sqlite3.connect(
        uri or path, uri=bool(uri), timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA secure_delete = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def make_private(path: Path) -> None:
    """Create a file readable only by its owner, or remove other users' permissions."""
    path.touch(0o600)  # here and not by SQLite, which gives its two other files the same mode
    path.chmod(0o600)


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file in one transaction, so that no process sees them half made."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        # asked again: another process may have made them
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in _TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORM}")


def code_of(error: BaseException) -> int:
    """Return SQLite's primary result code; that of an unspecific error where the module itself raised."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def is_damage(error: BaseException) -> bool:
    """Return whether an error means that the file is damaged."""
    return isinstance(error, UnicodeDecodeError) or code_of(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
