"""Copies everything readable of a damaged database into a new one. The damaged file is only read.

Rows are copied in the order of the tree that they stand in; where it is broken, the next one that can be reached is looked for.
Whoever refers to a row that is lost goes with it, or gets the least that it needs to be found.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from operator import lt
from pathlib import Path

from tui_host.capture.store.migrations import MIGRATIONS, Migrations
from tui_host.capture.store.schema_version import connect, damaged_text, make_private, migrate_once, version_of
from tui_host.capture.store.store_faults import is_damage

AT_ONCE = 512
"""Rows copied in one statement, while all is well."""
_LAST = (1 << 63) - 1

_SAID = "json(CASE WHEN json_valid(CAST(data AS TEXT)) THEN CAST(data AS TEXT) ELSE '{}' END)"
_DECISIONS = f"""
    INSERT OR IGNORE INTO decisions
    SELECT record, session, turn, call, json_extract(said, '$.server'), json_extract(said, '$.tool'),
        json_extract(said, '$.decision'), json_extract(said, '$.by')
    FROM (
        SELECT records.key AS record, session, turn, call, {_SAID} AS said
        FROM records JOIN places ON places.key = place WHERE kind = 'decision'
    )
    """  # noqa: S608 - constants alone
_LINKS = f"""
    INSERT OR IGNORE INTO links
    SELECT record, session, json_extract(said, '$.call'), json_extract(said, '$.relation'),
        json_extract(said, '$.span.exchange'), json_extract(said, '$.known')
    FROM (
        SELECT records.key AS record, session, {_SAID} AS said
        FROM records JOIN places ON places.key = place WHERE kind = 'link'
    )
    """  # noqa: S608 - constants alone
_MENDED = (
    """
    INSERT INTO captures (key, id, kind, started, ended, pid)
    SELECT key >> 40, 'salvaged-' || (key >> 40), 'app', min(time), max(time), 0 FROM records
    WHERE key >> 40 NOT IN (SELECT key FROM captures) GROUP BY 1
    """,
    "DELETE FROM places WHERE capture NOT IN (SELECT key FROM captures)",
    """
    INSERT INTO connections (key, capture, id, peer)
    SELECT connection, capture, coalesce(peer, '') || '#salvaged-' || connection, coalesce(peer, '') FROM places
    WHERE connection IS NOT NULL AND connection NOT IN (SELECT key FROM connections) GROUP BY 1
    """,
    "DELETE FROM connections WHERE capture NOT IN (SELECT key FROM captures)",
    "DELETE FROM records WHERE place NOT IN (SELECT key FROM places)",
    "UPDATE records SET base = NULL WHERE base NOT IN (SELECT key FROM records)",  # it says itself that it is damaged
    "DELETE FROM decisions WHERE record NOT IN (SELECT key FROM records)",
    "DELETE FROM links WHERE record NOT IN (SELECT key FROM records)",
    _DECISIONS,
    _LINKS,
    """
    INSERT OR IGNORE INTO sessions (id, title, created, updated, turns, source, model, protocol, draft)
    SELECT session, 'salvaged', now, now, max(turn), 'chat', '', 'native', ''
    FROM (SELECT session, turn FROM messages UNION ALL SELECT session, 0 FROM items),
        (SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000000000 AS now)
    GROUP BY session
    """,
    """
    UPDATE sessions SET model = turns.model, protocol = turns.protocol, created = began, updated = changed
    FROM (SELECT session, min(began) AS began, max(changed) AS changed, model, protocol FROM turns GROUP BY session) AS turns
    WHERE turns.session = sessions.id AND sessions.model = ''
    """,
)
"""What a new database asks of its rows, in the newest form."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The result of copying a damaged database.

    Attributes:
        records: Rows of records; an answer is one.
        fault: Why nothing was; empty if something was, or there is nothing that could have been read.
        damaged_tables: The tables of which some rows could not be read.
    """

    sessions: int = 0
    records: int = 0
    fault: str = ""
    damaged_tables: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether nothing was copied."""
        return not (self.sessions or self.records)

    @property
    def words(self) -> str:
        """Describe the result for the user."""
        if self.fault:
            return f"what can be read of it could not be carried over: {self.fault}; to try again, end this and move it back"
        if self.is_nothing:
            return "nothing in it could be read"
        lost = f"; some rows of {', '.join(self.damaged_tables)} could not" if self.damaged_tables else ""
        return f"{self.sessions:,} sessions and {self.records:,} records could be read, and are in the new one{lost}"


def salvage(damaged: Path, fresh: Path, migrations: Migrations = MIGRATIONS) -> Carried:
    """Make a new database of everything readable in a damaged one. Blocks. What stands at `fresh` is removed first."""
    carried = _salvage(damaged, fresh, migrations, "mode=ro")
    if carried.is_nothing and not carried.fault:  # its log may be what is damaged: without it more can be read
        carried = _salvage(damaged, fresh, migrations, "mode=ro&immutable=1")
    return carried


def _salvage(damaged: Path, fresh: Path, migrations: Migrations, how: str) -> Carried:
    fresh.unlink(missing_ok=True)
    make_private(fresh)
    try:
        with (
            closing(connect(damaged, uri=f"{damaged.absolute().as_uri()}?{how}")) as source,
            closing(connect(fresh)) as target,
        ):
            return _carried(source, target, migrations)
    except UnicodeDecodeError:  # nor what SQLite says of that
        return Carried()
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, sqlite3.Error) and is_damage(error):
            return Carried()  # not even what its tables are can be read
        return Carried(fault=str(error))


def _carried(source: sqlite3.Connection, target: sqlite3.Connection, migrations: Migrations) -> Carried:
    source.text_factory = damaged_text
    source.execute("PRAGMA cell_size_check = ON")
    form = version_of(source)
    for pragma in ("auto_vacuum = INCREMENTAL", "synchronous = OFF", "foreign_keys = OFF"):
        target.execute(f"PRAGMA {pragma}")
    migrate_once(target, {number: statements for number, statements in migrations.items() if number <= form})
    damaged_tables: tuple[str, ...] = ()
    for (table,) in target.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        target.execute("BEGIN")
        copied = _Table(source, target, table)
        copied.copy()
        damaged_tables += (table,) * copied.is_damaged
        target.execute("COMMIT")
    while version_of(target) < max(migrations):
        migrate_once(target, migrations)
    target.execute("BEGIN")
    for statement in _MENDED:
        target.execute(statement)
    target.execute("COMMIT")
    sessions, records = target.execute(
        "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM records)"
    ).fetchone()
    target.execute("PRAGMA synchronous = FULL")
    target.execute("PRAGMA journal_mode = WAL").fetchall()  # and with that all of it is on the disk
    return Carried(sessions, records, damaged_tables=damaged_tables)


class _Table:
    """One table to copy from the damaged database.

    Attributes:
        is_damaged: Some rows could not be read.
    """

    def __init__(self, source: sqlite3.Connection, target: sqlite3.Connection, name: str) -> None:
        self._source = source
        self._target = target
        self._name = name
        self.is_damaged = False
        columns = [row[1] for row in target.execute(f"PRAGMA table_info({name})")]
        self._rows = f"SELECT {', '.join(columns)} FROM {name} NOT INDEXED WHERE"  # noqa: S608
        self._numbered = f"SELECT rowid FROM {name} NOT INDEXED WHERE"  # noqa: S608
        self._insert = f"INSERT OR IGNORE INTO {name} VALUES ({', '.join('?' * len(columns))})"  # noqa: S608

    def copy(self) -> None:
        """Copy all readable rows."""
        if self._name == "turns":  # its rows have no number: they stand under their session
            for session in self._target.execute("SELECT id FROM sessions").fetchall():
                self.is_damaged |= not self._copy("session = ?", session)
            return
        at: int | None = 0
        while at is not None:
            at = self._copy_from(at)

    def _copy_from(self, at: int) -> int | None:
        """Copy some rows; where to go on, None at the end."""
        count = AT_ONCE
        while count:
            numbers = self._numbers(at, count)
            if numbers == []:
                return None
            if numbers and self._copy("rowid BETWEEN ? AND ? ORDER BY rowid", (numbers[0], numbers[-1])):
                return numbers[-1] + 1
            count //= 8
        return self._past(at)

    def _past(self, at: int) -> int | None:
        """Return the next reachable row behind an unreadable one; None without one."""
        self.is_damaged = True
        here = self._numbers(at, 1)
        bad = here[0] if here else at
        step = 1
        while (numbers_behind := self._numbers(bad + step, 1)) is None:
            step *= 2
            if bad + step > _LAST:
                return None
        low, high = bad + step // 2, bad + step
        while high - low > 1:
            middle = (low + high) // 2
            numbers = self._numbers(middle, 1)
            if numbers is None:
                low = middle
            else:
                high, numbers_behind = middle, numbers
        return numbers_behind[0] if numbers_behind else None

    def _numbers(self, at: int, count: int) -> list[int] | None:
        """Return the numbers of the next rows; None where the tree is broken and the numbers cannot be relied on."""
        try:
            rows = self._source.execute(f"{self._numbered} rowid >= ? ORDER BY rowid LIMIT ?", (at, count))
            numbers: list[int] = [number for (number,) in rows]
            is_right = all(map(lt, numbers, numbers[1:]))
            if numbers and is_right:
                is_right = bool(self._source.execute(f"{self._numbered} rowid = ?", numbers[-1:]).fetchone())
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                return None
            raise
        return numbers if is_right else None

    def _copy(self, which: str, values: Sequence[int | str]) -> bool:
        """Copy some rows; return False at damage, with some rows or none copied."""
        try:
            self._target.executemany(self._insert, self._source.execute(f"{self._rows} {which}", values))
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                return False
            raise
        return True
