"""The first form of the database. Published: never changed."""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE captures (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,       -- app, ask, tap, import
        started INTEGER NOT NULL, -- ns since 1970
        pid INTEGER NOT NULL,
        pid_started TEXT NOT NULL,
        ended INTEGER             -- ns; NULL while it runs, and where it was killed
    )
    """,
    """
    CREATE TABLE records (
        key INTEGER PRIMARY KEY,  -- capture's key << 40 | seq
        time INTEGER NOT NULL,    -- ns since 1970
        mono INTEGER NOT NULL,    -- ns
        wire TEXT NOT NULL,
        kind TEXT NOT NULL,
        peer TEXT NOT NULL,
        direction TEXT,
        session TEXT,
        turn INTEGER,
        step INTEGER,
        call TEXT,
        connection TEXT,
        exchange TEXT,
        encoding TEXT,
        malformed TEXT,
        head TEXT,                -- JSON: [method, url, status, [[name, value], ...]]
        redacted TEXT,            -- JSON: [[where, name, length], ...]
        data BLOB NOT NULL
    )
    """,
    "CREATE INDEX records_by_session ON records (session) WHERE session IS NOT NULL",
    "CREATE INDEX records_by_exchange ON records (exchange, key) WHERE exchange IS NOT NULL",
    "CREATE INDEX records_by_connection ON records (connection, key) WHERE connection IS NOT NULL",
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        created INTEGER NOT NULL, -- ns since 1970
        updated INTEGER NOT NULL,
        turns INTEGER NOT NULL,
        source TEXT NOT NULL,     -- chat, ask, tap, import
        model TEXT NOT NULL,      -- PROVIDER/MODEL
        protocol TEXT NOT NULL,
        draft TEXT NOT NULL,      -- what stands unsent in the prompt
        owner_pid INTEGER,        -- the process that writes it
        owner_started TEXT
    )
    """,
    "CREATE INDEX sessions_by_update ON sessions (updated)",
    """
    CREATE TABLE messages (
        session TEXT NOT NULL,
        number INTEGER NOT NULL,
        turn INTEGER NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (session, number)
    )
    """,
    """
    CREATE TABLE items (
        session TEXT NOT NULL,
        number INTEGER NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (session, number)
    )
    """,
)
