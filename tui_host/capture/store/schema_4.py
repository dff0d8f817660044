"""Form 4 of the database: a table for what a person decided about which taps belong to one story.

Do not change these statements: a change to the database is a new form, in a module of its own.
"""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE tap_links (
        tap TEXT NOT NULL,        -- a session of a tap, the smaller id of the two
        other TEXT NOT NULL,      -- another one
        joined INTEGER NOT NULL,  -- 1: the two are one story; 0: they are not
        UNIQUE (tap, other)
    )
    """,
    "CREATE INDEX tap_links_by_other ON tap_links (other)",
)
