"""What can still be read of a damaged database is in the new one, and the damaged one stays as it is."""

from __future__ import annotations

import gc
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.capture.drafts import frame
from tests.capture.kept_forms import GOLDEN
from tests.capture.test_store import record, start_writer
from tests.capture.test_store_forms import kept, told
from tests.capture.test_store_sessions import FIRST, SECOND, save
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.database_file import doubted
from tui_host.capture.store.migrations import MIGRATIONS, NEWEST
from tui_host.capture.store.store import Store
from tui_host.errors import StoreError

PAGE = 4096


def pages_of(path: Path, table: str, *kinds: str) -> Sequence[int]:
    """Numbers of a table's pages, of these kinds, in the order of its rows."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute(
            "SELECT pageno, pagetype FROM dbstat WHERE name = ? ORDER BY path", (table,)
        ).fetchall()
    connection.close()
    return [number for number, kind in rows if kind in kinds]


def spoil(path: Path, *pages: int) -> bytes:
    """Write what means nothing over some pages; what the file holds then."""
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * PAGE)
            file.write(os.urandom(PAGE))
    return path.read_bytes()


def a_database(path: Path, frames: int = 300) -> None:
    """Two sessions with messages, and frames of one of them."""
    store = Store.open(path)
    for session in (FIRST, SECOND):
        save(store, session, turns=3)
    record(store, [frame(b"%04d " % number * 150, session=FIRST) for number in range(frames)])
    assert store.close()


def test_all_but_a_broken_page_is_carried_over_and_the_damaged_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    a_database(path)
    leaves = pages_of(path, "records", "leaf")
    damaged = spoil(path, leaves[len(leaves) // 3], leaves[-2])

    store = Store.open(path)
    (aside,) = tmp_path.glob("*.damaged-*")
    numbers = [each.seq for each in store.records()]
    sessions = [(info.id, info.turns, len(store.sessions.messages(info.id))) for info in store.sessions.list()]
    store.close()

    assert aside.read_bytes() == damaged
    assert 280 <= len(numbers) < 300, "some five stand on a page"
    assert numbers[0] == 1
    assert numbers[-1] == 300
    assert sessions == [(SECOND, 3, 3), (FIRST, 3, 3)]
    assert f"set aside as {aside.name}" in store.notices[0]
    assert f"2 sessions and {len(numbers)} records could be read, and are in the new one" in store.notices[0]


def test_what_was_carried_over_is_sound_and_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    a_database(path)
    spoil(path, pages_of(path, "records", "leaf")[0])

    store = Store.open(path)
    record(store, [frame(b"new", session=FIRST)], capture="c2")
    checked = store.read("PRAGMA integrity_check"), store.read("PRAGMA foreign_key_check")
    last = list(store.records())[-1]
    vacuum = store.read("PRAGMA auto_vacuum")
    store.close()
    again = Store.open(path)
    again.close()

    assert checked == ([("ok",)], [])
    assert (last.capture, last.draft.data) == ("c2", b"new")
    assert vacuum == [(2,)]
    assert again.notices == []


@pytest.mark.parametrize("table", ["captures", "connections", "sessions", "turns"])
def test_what_others_refer_to_is_made_up_for_where_it_is_lost(tmp_path: Path, table: str) -> None:
    path = tmp_path / "tui-host.db"
    a_database(path, 20)
    spoil(path, *pages_of(path, table, "leaf"))

    store = Store.open(path)
    found = [each.draft.data[:4] for each in store.records(session=FIRST)]
    sessions = {info.id: info.turns for info in store.sessions.list()}
    messages = [len(store.sessions.messages(session)) for session in (FIRST, SECOND)]
    checked = store.read("PRAGMA integrity_check"), store.read("PRAGMA foreign_key_check")
    store.close()

    assert found == [b"%04d" % number for number in range(20)]
    assert sessions == {FIRST: 3, SECOND: 3}
    assert messages == [3, 3]
    assert checked == ([("ok",)], [])


def test_a_damaged_file_of_an_older_form_is_carried_over_into_the_newest(tmp_path: Path) -> None:
    path = kept(3, tmp_path)
    spoil(path, *pages_of(path, "links_by_call", "leaf"))

    store = Store.open(path, migrations={**MIGRATIONS, NEWEST + 1: ("CREATE TABLE later (id INTEGER)",)})
    assert store.read("SELECT * FROM later") == []
    out = told(store)
    store.close()

    assert out == (GOLDEN / "store.told").read_bytes()


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
    path, notices = tmp_path / "tui-host.db", list[str]()
    if not is_new:
        Store.open(path).close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    subprocess.run([sys.executable, "-c", BEGUN, path], check=False)
    assert path.with_name("tui-host.db-journal").stat().st_size > 0
    Store.open(path, notices=notices).close()
    assert notices == []
    with closing(sqlite3.connect(path)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert "sessions" in names
    assert "begun" not in names


def test_a_file_of_whose_tables_not_even_the_names_are_text_is_set_aside_and_told(tmp_path: Path) -> None:
    """SQLite's error says the name, and Python cannot read what it says."""
    path, notices = tmp_path / "tui-host.db", list[str]()
    Store.open(path).close()
    data = path.read_bytes()
    named, made = b"tablesessionssessions", b"CREATE TABLE sessions "
    assert data.count(named) == data.count(made) == 1
    path.write_bytes(data.replace(named, named.replace(b"s", b"\xff")).replace(made, made.replace(b"A", b"B")))
    Store.open(path, notices=notices).close()
    assert "nothing in it could be read" in notices[0]


def test_a_file_whose_tables_cannot_be_found_is_set_aside_and_told(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    a_database(path, 20)
    with path.open("r+b") as file:
        file.seek(100)
        file.write(os.urandom(PAGE - 100))
    damaged = path.read_bytes()

    store = Store.open(path)
    assert list(store.records()) == []
    store.close()

    assert "nothing in it could be read" in store.notices[0]
    (aside,) = tmp_path.glob("*.damaged-*")
    assert aside.read_bytes() == damaged


@pytest.mark.exhaustive
def test_what_stood_in_the_log_of_a_damaged_file_is_carried_over_too(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    a_database(path)
    with start_writer(path, "c2") as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < 100:
            pass
        process.kill()
    damaged = spoil(path, pages_of_killed(path)[1])
    log = path.with_name("tui-host.db-wal").read_bytes()

    store = Store.open(path)
    assert len(list(store.records(capture="c2"))) >= 100
    store.close()

    (aside,) = (
        each for each in tmp_path.glob("*.damaged-*") if each.suffix != "-wal" and not each.name.endswith("wal")
    )
    assert aside.read_bytes() == damaged
    assert aside.with_name(aside.name + "-wal").read_bytes() == log


def pages_of_killed(path: Path) -> Sequence[int]:
    """The same of a copy, so that nothing is done to the log."""
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    pages = pages_of(copy, "records", "leaf")
    copy.unlink()
    return pages


def test_a_large_file_in_which_damage_was_met_is_looked_at_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    store = Store.open(path)
    record(store, [frame(os.urandom(15_000)) for _ in range(400)])
    store.close()
    leaves = pages_of(path, "records", "leaf")
    spoil(path, leaves[-1])

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


@pytest.mark.exhaustive
def test_two_that_open_a_damaged_file_at_once_set_it_aside_once(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    a_database(path)
    spoil(path, pages_of(path, "records", "leaf")[0])

    with start_writer(path, "c2", 100) as first, start_writer(path, "c3", 100) as second:
        first.communicate()
        second.communicate()

    assert (first.returncode, second.returncode) == (0, 0)
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1
    store = Store.open(path)
    assert [len(list(store.records(capture=capture))) for capture in ("c2", "c3")] == [100, 100]
    assert len(list(store.records(capture="c1"))) > 280
    store.close()


def test_a_text_that_is_damaged_on_the_disk_hides_nothing_else(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    for session in (FIRST, SECOND):
        save(store, session)
    spoiled = b"spoil\xc3(ed"
    store.run(
        lambda connection: connection.execute(
            "UPDATE sessions SET title = CAST(? AS TEXT) WHERE id = ?", (spoiled, FIRST)
        )
    )

    assert {info.title for info in store.sessions.list()} == {r"spoil\xc3(ed", f"title of {SECOND}"}
    store.close()


def test_a_file_whose_log_was_cut_stays_as_it_is_also_when_nobody_refers_to_its_store_any_more(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    store = Store.open(path)
    recorder = Recorder(store, Redactor(), capture="c1")
    recorder.append(frame(b"before"))
    assert recorder.flush(20)
    os.truncate(path.with_name("tui-host.db-wal"), 0)
    recorder.append(frame(b"after"))
    assert not recorder.flush(20)
    assert "log was cut off" in store.loss
    found = path.read_bytes()

    assert not store.close()
    del recorder, store
    gc.collect()

    assert path.read_bytes() == found
