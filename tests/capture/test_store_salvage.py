"""What can still be read of a damaged database is in the new one, and the damaged one stays as it is."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.capture.drafts import frame
from tests.capture.stores import FIRST, SECOND, assert_sound, kept, killed_after, record, save
from tui_host.capture.store.companion_files import doubted
from tui_host.capture.store.store import Store
from tui_host.errors import StoreError

PAGE = 4096


def pages_of(path: Path, table: str) -> Sequence[int]:
    """Numbers of the pages on which a table's rows stand, in their order."""
    with closing(sqlite3.connect(path)) as connection:
        sql = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path"
        return [number for (number,) in connection.execute(sql, (table,))]


def spoil(path: Path, *pages: int) -> bytes:
    """Write what means nothing over some pages; what the file holds then."""
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * PAGE)
            file.write(os.urandom(PAGE))
    return path.read_bytes()


def a_database(path: Path, frames: int = 300) -> None:
    store = Store.open(path)
    for session in (FIRST, SECOND):
        save(store, session, turns=3)
    places = ("math#1", "math#2")  # alternately, so that no row holds several
    record(store, [frame(b"%04d " % each * 150, session=FIRST, connection=places[each % 2]) for each in range(frames)])
    assert store.close()


def test_all_but_a_broken_page_is_carried_over_and_the_damaged_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    a_database(path)
    leaves = pages_of(path, "records")
    damaged = spoil(path, leaves[len(leaves) // 3], leaves[-2])
    store = Store.open(path)
    (aside,) = tmp_path.glob("*.damaged-*")
    numbers = [each.seq for each in store.records()]
    sessions = [(info.id, info.turns, len(store.sessions.messages(info.id))) for info in store.sessions.list()]
    record(store, [frame(b"new", session=FIRST)], capture="c2")
    assert_sound(store)
    store.close()
    again = Store.open(path)
    assert (kept(again, capture="c2"), again.read("PRAGMA auto_vacuum"), again.notices) == ([b"new"], [(2,)], [])
    again.close()
    assert aside.read_bytes() == damaged
    assert 280 <= len(numbers) < 300, "some five stand on a page"
    assert (numbers[0], numbers[-1]) == (1, 300)
    assert sessions == [(SECOND, 3, 3), (FIRST, 3, 3)]
    assert f"set aside as {aside.name}" in store.notices[0]
    assert f"2 sessions and {len(numbers)} records could be read, and are in the new one; some rows" in store.notices[0]


def read(path: Path) -> str:
    """What a command is told that reads a database."""
    try:
        store = Store.open_to_read(path)
    except StoreError as error:
        return error.what
    store.close()
    return "".join(store.notices)


def test_each_page_that_is_damaged_costs_what_stands_on_it_and_reading_says_so(tmp_path: Path) -> None:
    def counted() -> dict[str, int]:
        with closing(sqlite3.connect(path)) as connection:
            sql = "SELECT count(*) FROM {} NOT INDEXED"
            return {table: connection.execute(sql.format(table)).fetchone()[0] for table in needs}

    path = tmp_path / "tui-host.db"
    a_database(path, frames=12)
    # A row that others refer to is made up for where it is lost.
    needs = {"sessions": set[str](), "messages": {"messages"}, "records": {"records", "places"}}
    sound, whole = path.read_bytes(), counted()
    with closing(sqlite3.connect(path)) as connection:
        owners = dict(connection.execute("SELECT pageno, name FROM dbstat"))
    assert list(owners.values()).count("sqlite_schema") > 1
    for page in range(1, len(sound) // PAGE + 1):
        path.write_bytes(sound)
        damaged = spoil(path, page)
        owner = owners.get(page, "")
        told = read(path)
        assert any(words in told for words in ("is damaged: what can be read", "malformed", "not a database")), owner
        assert path.read_bytes() == damaged, owner
        store = Store.open(path)
        assert store.close()
        assert "the database was damaged" in store.notices[0], owner
        carried = counted()
        assert not [table for table in needs if owner not in needs[table] and carried[table] < whole[table]], owner
        for leftover in tmp_path.glob("tui-host.db*"):
            leftover.unlink()


BEGUN = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("CREATE TABLE begun (thing)")
connection.executemany("INSERT INTO begun VALUES (?)", ((os.urandom(4000),) for _ in range(50)))
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("is_new", [True, False])
def test_what_a_killed_process_had_begun_is_taken_back_and_all_else_is_there(tmp_path: Path, *, is_new: bool) -> None:
    """A journal that is left behind can be brought in by none that may only read."""
    path = tmp_path / "tui-host.db"
    if not is_new:
        Store.open(path).close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    subprocess.run([sys.executable, "-c", BEGUN, path], check=False)
    assert path.with_name("tui-host.db-journal").stat().st_size > 0
    store = Store.open(path)
    names = {name for (name,) in store.read("SELECT name FROM sqlite_master")}
    assert ("sessions" in names, "begun" in names, store.notices) == (True, False, [])
    store.close()


def test_a_large_file_in_which_damage_was_met_is_looked_at_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    store = Store.open(path)
    record(store, [frame(os.urandom(15_000)) for _ in range(400)])
    store.close()
    spoil(path, pages_of(path, "records")[-1])
    store = Store.open(path)
    assert store.notices == [], "only what is small is looked at without a reason"
    store.close()
    store = Store.open(path)
    with pytest.raises(StoreError, match="damaged"):
        store.run(lambda connection: connection.execute("DELETE FROM records"))
    store.close()
    assert doubted(path).exists()
    store = Store.open(path)
    assert "set aside" in store.notices[0]
    store.close()


def test_damage_in_the_log_of_a_killed_process_costs_what_stood_behind_it_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    Store.open(path).close()
    killed_after(path, "to 100", 100)
    assert read(path) == "", "the log of a killed process is no damage"
    shown = killed_after(path, "to 2500", 2500)
    log = path.with_name("tui-host.db-wal")
    size = log.stat().st_size
    with log.open("r+b") as file:
        file.seek(size // 2)
        file.write(os.urandom(8192))
    told = read(path)
    assert all(words in told for words in ("the log beside", "is lost"))
    store = Store.open(path)
    numbers = [each.seq for each in store.records(capture="to 2500")]
    assert_sound(store)
    assert store.notices == []
    store.close()
    assert 0 < len(numbers) < shown
    assert numbers == list(range(1, len(numbers) + 1))


def test_damage_in_the_log_that_holds_all_of_a_new_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "killed" / "tui-host.db"
    killed_after(path, "first", 100)
    for at in (0, 24, 40, 5000):
        folder = shutil.copytree(path.parent, tmp_path / str(at))
        with (folder / "tui-host.db-wal").open("r+b") as file:
            file.seek(at)
            file.write(os.urandom(4096))
        assert "is lost" in read(folder / path.name), at
