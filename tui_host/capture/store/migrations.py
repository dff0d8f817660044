"""The forms of the database. To add a form, write `schema_N.py` with the statements, and name the module in `MIGRATIONS`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tui_host.capture.store import schema_3, schema_4, schema_5

APPLICATION_ID = 0x74756968
"""SQLite's application id of our files: the letters `tuih`."""

SEQ_BITS = 40
"""A record's key is its capture's key, shifted left by this many bits, plus the record's number in the capture."""

Migrations: TypeAlias = Mapping[int, tuple[str, ...]]
"""The statements that make each form out of the form before it, by the form's number. The lowest makes a new database."""

MIGRATIONS: Migrations = {
    3: schema_3.STATEMENTS,
    4: schema_4.STATEMENTS,
    5: schema_5.STATEMENTS,
}

NEWEST = max(MIGRATIONS)
