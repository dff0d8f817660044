"""Form 3 of the database, the oldest form later versions open.

Tables:

- `captures`, `connections`, `sessions`, `turns` and `messages` hold what their names say; `items` holds what a chat shows.
- `places` holds what records share (capture, wire, peer, session, turn, step, call, connection, exchange), each combination once.
- `exchanges` is a view of `places`: one row for each HTTP request with its response, at the place of its first record.
- `records` holds each captured thing at its place. The data may be compressed (`stored_bodies`), and the records of one answer
  may share a row (`answer_runs`).
- `decisions` and `links` repeat what the records of these kinds say, so that they can be found by call; deleting a record deletes its row.

Do not change these statements: a change to the database is a new form, in a module of its own.
"""

from __future__ import annotations

_CAPTURES = (
    """
    CREATE TABLE captures (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,       -- app, ask, tap, import
        started INTEGER NOT NULL, -- ns since 1970
        ended INTEGER,            -- ns; NULL while it runs, and where it was killed
        pid INTEGER NOT NULL,
        owner TEXT                -- the lock that its process holds; see process_lock
    )
    """,
    """
    CREATE TABLE connections (
        key INTEGER PRIMARY KEY,
        capture INTEGER NOT NULL REFERENCES captures,
        id TEXT NOT NULL,
        peer TEXT NOT NULL,       -- the server
        UNIQUE (capture, id)
    )
    """,
    """
    CREATE TABLE places (
        key INTEGER PRIMARY KEY,
        capture INTEGER NOT NULL REFERENCES captures,
        wire TEXT NOT NULL,       -- llm, mcp, stderr, host
        peer TEXT NOT NULL,
        session TEXT,
        turn INTEGER,
        step INTEGER,
        call TEXT,
        connection INTEGER REFERENCES connections,
        exchange TEXT             -- unique in its capture
    )
    """,
    """
    CREATE VIEW exchanges AS
    SELECT capture, exchange AS id, wire, peer, connection, session, turn, step, min(key) AS place
    FROM places WHERE exchange IS NOT NULL GROUP BY capture, exchange
    """,
    """
    CREATE TABLE records (
        key INTEGER PRIMARY KEY,  -- capture's key << 40 | seq
        place INTEGER NOT NULL REFERENCES places,
        time INTEGER NOT NULL,    -- ns since 1970
        mono INTEGER NOT NULL,    -- ns
        kind TEXT NOT NULL,
        direction TEXT,           -- out, in
        encoding TEXT,
        malformed TEXT,
        head,                     -- JSON: [method, url, status, [[name, value], ...]]; or its length in bytes at the start of data
        redacted TEXT,            -- JSON: [[where, name, length], ...]
        base INTEGER REFERENCES records DEFERRABLE INITIALLY DEFERRED, -- the record whose data is the prefix of this one's frame
        size INTEGER,             -- of the record's own data; NULL where data is stored as it is and is no zstd frame
        last INTEGER,             -- data holds the records of this place from key to this one; see answer_runs
        data BLOB NOT NULL
    )
    """,
    "CREATE INDEX records_by_place ON records (place)",
    "CREATE INDEX records_by_base ON records (base) WHERE base IS NOT NULL",
    "CREATE INDEX records_by_last ON records (last) WHERE last IS NOT NULL",
    "CREATE INDEX places_by_capture ON places (capture)",
    "CREATE INDEX places_by_session ON places (session, turn) WHERE session IS NOT NULL",
    "CREATE INDEX places_by_connection ON places (connection) WHERE connection IS NOT NULL",
    "CREATE INDEX places_by_exchange ON places (exchange, capture) WHERE exchange IS NOT NULL",
)

_SESSIONS = (
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
        owner TEXT,               -- the lock of the process that writes it
        profile TEXT NOT NULL DEFAULT '',
        options TEXT NOT NULL DEFAULT '{}' -- JSON, by the options' names
    )
    """,
    """
    CREATE TABLE turns (
        session TEXT NOT NULL,
        number INTEGER NOT NULL,
        began INTEGER NOT NULL,   -- ns since 1970
        changed INTEGER NOT NULL,
        model TEXT NOT NULL,      -- PROVIDER/MODEL
        protocol TEXT NOT NULL,
        PRIMARY KEY (session, number)
    ) WITHOUT ROWID
    """,
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

_CHAINS = (
    """
    CREATE TABLE decisions (
        record INTEGER PRIMARY KEY REFERENCES records ON DELETE CASCADE,
        session TEXT,
        turn INTEGER,
        call TEXT,
        server TEXT,
        tool TEXT,
        decision TEXT,            -- approved, edited, rejected, invalid
        by TEXT                   -- person, rule, flag, default
    )
    """,
    """
    CREATE TABLE links (
        record INTEGER PRIMARY KEY REFERENCES records ON DELETE CASCADE,
        session TEXT,
        call TEXT,
        relation TEXT,            -- asked, sent, answered, told, offered
        exchange TEXT,            -- the exchange whose body the span is in
        known TEXT                -- id, value, time
    )
    """,
    "CREATE INDEX decisions_by_call ON decisions (session, call)",
    "CREATE INDEX links_by_call ON links (session, call)",
)

STATEMENTS = (*_CAPTURES, *_SESSIONS, *_CHAINS)
