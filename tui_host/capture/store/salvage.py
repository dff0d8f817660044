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

from tui_host.capture.store.schema import READ_FAULTS, connect, damaged_text, is_damage, make_private, make_tables

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
        carried = _copied(damaged, fresh) or _copied(_with_new_schema(damaged, fresh, mended), fresh)
    except (sqlite3.Error, OSError) as error:
        return f"what can be read of it could not be carried over: {error}; to try again, end this and move it back"
    finally:
        if not carried:
            fresh.unlink(missing_ok=True)
        for path in mended.parent.glob(f"{mended.name}*"):
            path.unlink()
    return carried or "nothing in it could be read"


def _copied(damaged: Path, fresh: Path) -> str:
    """Copy the rows of a file; return how much that was, empty where the file cannot be read."""
    fresh.unlink(missing_ok=True)
    make_private(fresh)
    lost: list[str] = []
    with closing(connect(fresh)) as target:
        target.execute("PRAGMA auto_vacuum = INCREMENTAL")
        target.execute("PRAGMA synchronous = OFF")
        make_tables(target)
        schema = target.execute(_SCHEMA).fetchall()
        try:
            with closing(connect(damaged, uri=f"{damaged.absolute().as_uri()}?mode=ro")) as source:
                source.text_factory = damaged_text
                source.execute("PRAGMA cell_size_check = ON")
                if source.execute(_SCHEMA).fetchall() != schema:
                    return ""
                target.execute("BEGIN")
                lost += [name for kind, name, *_ in schema if kind == "table" and not _copy_table(source, target, name)]
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
    left_out = f"; some rows of {', '.join(lost)} could not" if lost else ""
    return f"{sessions:,} sessions and {records:,} records could be read, and are in the new one{left_out}"


def _with_new_schema(damaged: Path, fresh: Path, mended: Path) -> Path:
    """Copy the file itself, with the schema of a new one over its own."""
    make_private(mended)
    shutil.copyfile(damaged, mended)
    log = damaged.with_name(damaged.name + "-wal")
    if log.exists():
        shutil.copyfile(log, mended.with_name(mended.name + "-wal"))
    with closing(connect(fresh)) as connection:
        roots = {row[2] for row in connection.execute(_SCHEMA)}
    new, size = fresh.read_bytes(), damaged.stat().st_size // _PAGE
    with mended.open("r+b") as file:
        # The size of the file stands at byte 28; a new file knows of no free pages, which reading does not need.
        file.write(new[:28] + size.to_bytes(4, "big") + new[32:_PAGE])
        for at in range(_PAGE, len(new), _PAGE):
            # in a new file these are the schema's, and one that reading does not need either
            if at // _PAGE + 1 not in roots:
                file.seek(at)
                file.write(new[at : at + _PAGE])
    return mended


def _copy_table(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> bool:
    """Copy the rows that can be read; returns whether these are all."""
    columns: list[tuple[str, str]] = [(row[1], row[2].lower()) for row in target.execute(f"PRAGMA table_info({table})")]
    names = ", ".join(name for name, _ in columns)
    insert = f"INSERT OR IGNORE INTO {table} (rowid, {names}) VALUES ({', '.join('?' * (len(columns) + 1))})"  # noqa: S608
    select = f"SELECT rowid, {names} FROM {table} NOT INDEXED WHERE rowid >= ? ORDER BY rowid LIMIT ?"  # noqa: S608

    def rows(start: int, most: int) -> list[tuple[int, ...]] | None:
        """Read rows; None where the tree is broken, or the numbers of rows are not those by which they are found."""
        try:
            read = source.execute(select, (start, most)).fetchall()
            numbers = [row[0] for row in read]
            is_found = not read or source.execute(select, (numbers[-1], 1)).fetchone() == read[-1]
            return read if is_found and all(map(lt, numbers, numbers[1:])) else None
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                return None
            raise

    is_whole, at, count = True, 0, AT_ONCE
    while at < _LAST:
        read = rows(at, count)
        if read is not None:
            target.executemany(insert, read)
            at, count = (read[-1][0] + 1, AT_ONCE) if len(read) == count else (_LAST, 0)
        elif count > 1:
            count //= 2
        else:  # the next number from which rows can be read again
            is_whole, count, step = False, AT_ONCE, 1
            while at + step < _LAST and rows(at + step, 1) is None:
                step *= 2
            low, high = at + step // 2, min(at + step, _LAST)
            at = bisect_left(range(_LAST), x=True, lo=low, hi=high, key=lambda start: rows(start, 1) is not None)
    wrong = [f"typeof({name}) NOT IN ('{kind}', 'null')" for name, kind in columns if kind]
    target.execute(f"DELETE FROM {table} WHERE {' OR '.join(wrong)}")  # noqa: S608 - a damaged page may hold anything
    return is_whole
