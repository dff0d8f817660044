"""The second form of the database: each thing has its table, and a record refers to its place instead of repeating it.

- `captures`, `connections`, `sessions`, `turns`, `messages`: as the words say; `items` are what a chat shows.
- `places`: where records belong (capture, wire, peer, session, turn, step, call, connection, exchange), each once.
- `exchanges`: a view of places, one row for each HTTP request with its response, at the place of its first record. All that is
  to be told of one stands in its records, so a table would tell it twice.
- `records`: each thing captured, at its place; its data may be packed (`bodies`), and an answer is one row (`runs`).
- `decisions`, `links`: what such a record's data says, once more, to be found by call; they go with it.

Published: never changed.
"""

from __future__ import annotations

_CAPTURES = (
    """
    CREATE TABLE captures_2 (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,       -- app, ask, tap, import
        started INTEGER NOT NULL, -- ns since 1970
        ended INTEGER,            -- ns; NULL while it runs, and where it was killed
        pid INTEGER NOT NULL,
        owner TEXT                -- the lock that its process holds; see store_lock
    )
    """,
    "INSERT INTO captures_2 SELECT key, id, kind, started, ended, pid, NULL FROM captures",
    "DROP TABLE captures",
    "ALTER TABLE captures_2 RENAME TO captures",
)

_SESSIONS = (
    "DROP INDEX sessions_by_update",
    """
    CREATE TABLE sessions_2 (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        created INTEGER NOT NULL, -- ns since 1970
        updated INTEGER NOT NULL,
        turns INTEGER NOT NULL,
        source TEXT NOT NULL,     -- chat, ask, tap, import
        model TEXT NOT NULL,      -- PROVIDER/MODEL
        protocol TEXT NOT NULL,
        draft TEXT NOT NULL,      -- what stands unsent in the prompt
        owner TEXT                -- the lock of the process that writes it
    )
    """,
    """
    INSERT INTO sessions_2
    SELECT id, title, created, updated, turns, source, model, protocol, draft, NULL FROM sessions
    """,
    "DROP TABLE sessions",
    "ALTER TABLE sessions_2 RENAME TO sessions",
    """
    CREATE TABLE turns (
        session TEXT NOT NULL,
        number INTEGER NOT NULL,
        began INTEGER NOT NULL,   -- ns since 1970
        changed INTEGER NOT NULL,
        model TEXT NOT NULL,      -- PROVIDER/MODEL that answers in it
        protocol TEXT NOT NULL,
        PRIMARY KEY (session, number)
    ) WITHOUT ROWID
    """,
    """
    INSERT INTO turns
    SELECT sessions.id, said.turn, coalesce(min(records.time), updated), coalesce(max(records.time), updated),
        model, protocol
    FROM (SELECT DISTINCT session, turn FROM messages) AS said JOIN sessions ON sessions.id = said.session
        LEFT JOIN records ON records.session = said.session AND records.turn = said.turn
    GROUP BY sessions.id, said.turn
    """,
)

_PLACES = (
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
    CREATE TABLE places (         -- what a record says of itself and shares with others
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
    INSERT INTO connections (capture, id, peer)
    SELECT key >> 40, connection, max(peer) FROM records WHERE connection IS NOT NULL GROUP BY 1, 2
    """,
    """
    INSERT INTO places (capture, wire, peer, session, turn, step, call, connection, exchange)
    SELECT DISTINCT records.key >> 40, records.wire, records.peer, session, turn, step, call,
        connections.key, exchange
    FROM records
        LEFT JOIN connections ON connections.capture = records.key >> 40 AND connections.id = records.connection
    """,
)

_RECORDS = (
    """
    CREATE TABLE records_2 (
        key INTEGER PRIMARY KEY,  -- capture's key << 40 | seq
        place INTEGER NOT NULL REFERENCES places,
        time INTEGER NOT NULL,    -- ns since 1970
        mono INTEGER NOT NULL,    -- ns
        kind TEXT NOT NULL,
        direction TEXT,           -- out, in
        encoding TEXT,
        malformed TEXT,
        head,                     -- JSON: [method, url, status, [[name, value], ...]]; or how many bytes of data it is
        redacted TEXT,            -- JSON: [[where, name, length], ...]
        base INTEGER REFERENCES records_2 DEFERRABLE INITIALLY DEFERRED, -- whose data is the prefix of this one's frame
        size INTEGER,             -- of the record's own data; NULL where data stands as it is, and is no zstd frame
        last INTEGER,             -- what data unpacks to is a run of records of this place, from key to this one; see store_runs
        data BLOB NOT NULL
    )
    """,
    # for the next statement alone: it finds each record's place again
    "CREATE INDEX places_whole ON places (capture, exchange, session, turn, step, call, connection, peer, wire)",
    """
    INSERT INTO records_2
    SELECT records.key, places.key, time, mono, kind, records.direction, encoding, malformed, head, redacted, NULL, NULL, NULL, data
    FROM records
        LEFT JOIN connections ON connections.capture = records.key >> 40 AND connections.id = records.connection
        JOIN places ON places.capture = records.key >> 40 AND places.exchange IS records.exchange
            AND places.session IS records.session AND places.turn IS records.turn AND places.step IS records.step
            AND places.call IS records.call AND places.connection IS connections.key
            AND places.peer = records.peer AND places.wire = records.wire
    """,
    "DROP INDEX places_whole",
    "DROP TABLE records",
    "ALTER TABLE records_2 RENAME TO records",
    "CREATE INDEX records_by_place ON records (place)",
    "CREATE INDEX records_by_base ON records (base) WHERE base IS NOT NULL",
    "CREATE INDEX records_by_last ON records (last) WHERE last IS NOT NULL",
    "CREATE INDEX places_by_capture ON places (capture)",
    "CREATE INDEX places_by_session ON places (session, turn) WHERE session IS NOT NULL",
    "CREATE INDEX places_by_connection ON places (connection) WHERE connection IS NOT NULL",
    "CREATE INDEX places_by_exchange ON places (exchange, capture) WHERE exchange IS NOT NULL",
)

_SAID = "json(CASE WHEN json_valid(CAST(data AS TEXT)) THEN CAST(data AS TEXT) ELSE '{}' END)"

DECISIONS_OF_RECORDS = f"""
    INSERT INTO decisions
    SELECT record, session, turn, call, json_extract(said, '$.server'), json_extract(said, '$.tool'),
        json_extract(said, '$.decision'), json_extract(said, '$.by')
    FROM (
        SELECT records.key AS record, session, turn, call, {_SAID} AS said
        FROM records JOIN places ON places.key = place WHERE kind = 'decision'
    )
    """  # noqa: S608 - constants alone
"""What the table tells, out of the records that say it."""
LINKS_OF_RECORDS = f"""
    INSERT INTO links
    SELECT record, session, json_extract(said, '$.call'), json_extract(said, '$.relation'),
        json_extract(said, '$.span.exchange'), json_extract(said, '$.known')
    FROM (
        SELECT records.key AS record, session, {_SAID} AS said
        FROM records JOIN places ON places.key = place WHERE kind = 'link'
    )
    """  # noqa: S608 - constants alone
"""The same of links."""

_CHAINS = (
    """
    CREATE TABLE decisions (      -- what a decision's record says, to be found by
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
    CREATE TABLE links (          -- what a link's record says, to be found by
        record INTEGER PRIMARY KEY REFERENCES records ON DELETE CASCADE,
        session TEXT,
        call TEXT,
        relation TEXT,            -- asked, sent, answered, told, offered
        exchange TEXT,            -- the id of the one whose body its span is in
        known TEXT                -- id, value, time
    )
    """,
    DECISIONS_OF_RECORDS,
    LINKS_OF_RECORDS,
    "CREATE INDEX decisions_by_call ON decisions (session, call)",
    "CREATE INDEX links_by_call ON links (session, call)",
)

STATEMENTS = (*_CAPTURES, *_SESSIONS, *_PLACES, *_RECORDS, *_CHAINS)
