"""What the database looks like: numbered migrations, each a tuple of statements. A published one is never changed."""

from __future__ import annotations

from tui_host.capture.store import schema_1, schema_2, schema_3

APPLICATION_ID = 0x74756968
"""`tuih`: tells our files from other programs' databases."""

SEQ_BITS = 40
"""A record's key is its capture's key shifted by these, plus its number in the capture: one ordered tree, no second index."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    schema_1.STATEMENTS,
    schema_2.STATEMENTS,
    schema_3.STATEMENTS,
)
