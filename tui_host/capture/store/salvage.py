"""Copies everything readable of a damaged database into a new one. The damaged file is only read.

Rows are copied in the order of the tree that they stand in, many at once, fewer where it is damaged; what cannot be read is
passed over. Where a page of the schema is damaged, that of a new file takes its place: a form's schema is the same in each file.
"""

from __future__ import annotations

import shutil
import sqlite3
from bisect import bisect_left
from contextlib import closing
from operator import lt
from pathlib import Path

from tui_host.capture.store.schema import connect, damaged_text, make_private, make_tables
from tui_host.capture.store.store_faults import READ_FAULTS, is_damage

AT_ONCE = 512
_LAST = (1 << 63) - 1
_PAGE = 4096
_SCHEMA = "SELECT type, name, rootpage, sql FROM sqlite_master ORDER BY name"

_MENDED = """
    INSERT INTO captures (key, id, kind, started, ended, pid)
    SELECT key >> 40, 'salvaged-' || (key >> 40), 'app', min(time), max(time), 0 FROM records
    WHERE key >> 40 NOT IN (SELECT key FROM captures) GROUP BY 1;

    DELETE FROM places WHERE capture NOT IN (SELECT key FROM captures);
    DELETE FROM records WHERE place NOT IN (SELECT key FROM places);
    UPDATE records SET base = NULL WHERE base NOT IN (SELECT key FROM records); -- it says itself that it is damaged

    INSERT OR IGNORE INTO sessions (id, title, created, updated, turns, source, model, protocol, draft)
    SELECT session, 'salvaged', now, now, max(turn), 'chat', coalesce(max(model), ''), coalesce(max(protocol), 'native'), ''
    FROM (SELECT session, turn FROM messages UNION ALL SELECT session, 0 FROM items)
        LEFT JOIN turns USING (session),
        (SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000000000 AS now)
    GROUP BY session;
"""
"""What refers to a lost row goes too, but a page of captures or of sessions holds many: what is left of these is to be found."""


def salvage(damaged: Path, fresh: Path) -> str:
    """Make a new database of everything readable in a damaged one, if there is anything; return in words what that is. Blocks."""
    mended = fresh.with_name(fresh.name + ".schema")
    carried = ""
    try:
        carried = _copied(damaged, fresh)
        if not carried:
            _copy_with_schema(damaged, fresh, mended)
            carried = _copied(mended, fresh)
    except (sqlite3.Error, OSError) as error:
        return f"what can be read of it could not be carried over: {error}; to try again, end this and move it back"
    finally:
        if not carried:
            fresh.unlink(missing_ok=True)
        for path in (mended, *mended.parent.glob(f"{mended.name}-*")):
            path.unlink(missing_ok=True)
    return carried or "nothing in it could be read"


def _copied(damaged: Path, fresh: Path) -> str:
    """Copy the rows of a file; return how much that was, empty where the file cannot be read."""
    fresh.unlink(missing_ok=True)
    make_private(fresh)
    with closing(connect(fresh)) as target:
        target.execute("PRAGMA auto_vacuum = INCREMENTAL")
        target.execute("PRAGMA synchronous = OFF")
        make_tables(target)
        try:
            with closing(connect(damaged, uri=f"{damaged.absolute().as_uri()}?mode=ro")) as source:
                source.text_factory = damaged_text
                source.execute("PRAGMA cell_size_check = ON")
                if source.execute(_SCHEMA).fetchall() != target.execute(_SCHEMA).fetchall():
                    return ""
                target.execute("BEGIN")
                tables: list[str] = [row[1] for row in target.execute(_SCHEMA).fetchall() if row[0] == "table"]
                lost = ", ".join([table for table in tables if not _copy_table(source, target, table)])
        except READ_FAULTS as error:
            if is_damage(error):
                return ""
            raise
        target.executescript(_MENDED)  # after a commit
        counts = "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM records)"
        sessions, records = target.execute(counts).fetchone()
        target.execute("PRAGMA synchronous = FULL")
        target.execute("PRAGMA journal_mode = WAL").fetchall()  # and with that all of it is on the disk
    if not (sessions or records):
        return ""
    lost = f"; some rows of {lost} could not" if lost else ""
    return f"{sessions:,} sessions and {records:,} records could be read, and are in the new one{lost}"


def _copy_with_schema(damaged: Path, fresh: Path, mended: Path) -> None:
    make_private(mended)
    shutil.copyfile(damaged, mended)
    log = damaged.with_name(damaged.name + "-wal")
    if log.exists():
        shutil.copyfile(log, mended.with_name(mended.name + "-wal"))
    with closing(connect(fresh)) as connection:
        roots = {row[0] for row in connection.execute("SELECT rootpage FROM sqlite_master")}
    new, pages = fresh.read_bytes(), damaged.stat().st_size // _PAGE
    with mended.open("r+b") as file:
        # The size of the file stands at byte 28; a new file knows of no free pages, which reading does not need.
        file.write(new[:28] + pages.to_bytes(4, "big") + new[32:_PAGE])
        for page in range(2, len(new) // _PAGE + 1):
            if page not in roots:  # in a new file these are the schema's, and one that reading does not need either
                file.seek((page - 1) * _PAGE)
                file.write(new[(page - 1) * _PAGE : page * _PAGE])


def _copy_table(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> bool:
    """Copy the rows that can be read; returns whether these are all."""
    columns: list[tuple[str, str]] = [(row[1], row[2].lower()) for row in target.execute(f"PRAGMA table_info({table})")]
    names = ", ".join(name for name, _ in columns)
    insert = f"INSERT OR IGNORE INTO {table} (rowid, {names}) VALUES ({', '.join('?' * (len(columns) + 1))})"  # noqa: S608
    select = f"SELECT rowid, {names} FROM {table} NOT INDEXED WHERE rowid >= ? ORDER BY rowid LIMIT ?"  # noqa: S608
    there = f"SELECT 1 FROM {table} NOT INDEXED WHERE rowid = ?"  # noqa: S608

    def rows(start: int, most: int) -> list[tuple[int, ...]] | None:
        """Read rows; None where the tree is broken, or the numbers of rows are not those by which they are found."""
        try:
            read = source.execute(select, (start, most)).fetchall()
            numbers = [row[0] for row in read]
            is_right = all(map(lt, numbers, numbers[1:]))
            if not is_right or (numbers and source.execute(there, numbers[-1:]).fetchone() is None):
                return None
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                return None
            raise
        return read

    def is_readable(start: int) -> bool:
        return rows(start, 1) is not None

    is_whole, at, count = True, 0, AT_ONCE
    while at < _LAST:
        read = rows(at, count)
        if read is not None:
            target.executemany(insert, read)
            if len(read) < count:
                break
            at, count = read[-1][0] + 1, AT_ONCE
        elif count > 1:
            count //= 2
        else:  # the next number from which rows can be read again
            is_whole, count, step = False, AT_ONCE, 1
            while at + step < _LAST and not is_readable(at + step):
                step *= 2
            low, high = at + step // 2, min(at + step, _LAST)
            at = bisect_left(range(_LAST), x=True, lo=low, hi=high, key=is_readable)
    wrong = [f"typeof({name}) NOT IN ('{kind}', 'null')" for name, kind in columns if kind]
    target.execute(f"DELETE FROM {table} WHERE {' OR '.join(wrong)}")  # noqa: S608 - a damaged page may hold anything
    return is_whole
