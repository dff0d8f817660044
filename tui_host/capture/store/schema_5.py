"""Form 5 of the database: a table for the rows that a person marked in a session's list, with their notes.

Do not change these statements: a change to the database is a new form, in a module of its own.
"""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE marks (
        number INTEGER PRIMARY KEY, -- in the order of marking
        session TEXT NOT NULL,      -- the session or story in whose list the row stands
        capture TEXT NOT NULL,      -- the capture's id
        seq INTEGER NOT NULL,       -- the row's first record
        note TEXT NOT NULL,
        UNIQUE (session, capture, seq)
    )
    """,
)
