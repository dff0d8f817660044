"""The database's form: a file of each version opens, with the same bytes out; what is published never changes."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tests.capture.drafts import frame
from tests.capture.kept_forms import GOLDEN, SESSION, fill, restore, told
from tests.capture.test_store import record
from tui_host.capture.record import Draft, Place
from tui_host.capture.store.migrations import MIGRATIONS
from tui_host.capture.store.store import Store
from tui_host.errors import StoreError

FORMS = range(1, len(MIGRATIONS) + 1)


def schema(path: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(path)
    try:
        found = connection.execute("SELECT name, coalesce(sql, '') FROM sqlite_master ORDER BY name").fetchall()
        return [(name, " ".join(sql.split())) for name, sql in found]
    finally:
        connection.close()


def kept(form: int, folder: Path) -> Path:
    path = folder / "tui-host.db"
    restore((GOLDEN / f"store-{form}.sql").read_text(encoding="utf-8"), path)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_a_file_of_each_form_gives_back_the_same_bytes(form: int, tmp_path: Path) -> None:
    path = kept(form, tmp_path)

    store = Store.open(path)
    out = told(store)
    checked = store.read("PRAGMA foreign_key_check"), store.read("PRAGMA integrity_check")
    store.close()

    assert out == (GOLDEN / "store.told").read_bytes()
    assert checked == ([], [("ok",)])


def test_what_this_version_writes_gives_back_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "data" / "tui-host.db"
    fill(path)

    store = Store.open(path)
    out = told(store)
    store.close()

    assert out == (GOLDEN / "store.told").read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_a_form_once_published_is_made_as_it_was(form: int, tmp_path: Path) -> None:
    path = tmp_path / "new" / "tui-host.db"
    Store.open(path, migrations=MIGRATIONS[:form]).close()

    assert schema(path) == schema(kept(form, tmp_path))


def test_every_form_has_a_kept_file() -> None:
    assert sorted(int(path.stem.partition("-")[2]) for path in GOLDEN.glob("store-*.sql")) == list(FORMS)


def test_a_file_of_an_older_form_has_its_decisions_links_and_turns_in_their_tables(tmp_path: Path) -> None:
    store = Store.open(kept(1, tmp_path))
    decisions = store.read("SELECT session, turn, call, server, tool, decision, by FROM decisions")
    links = store.read("SELECT call, relation, exchange, known FROM links")
    turns = store.read("SELECT number, model, began < changed FROM turns ORDER BY number")
    store.close()

    assert decisions == [("20261121-134501-x7k2q", 1, "call_1", "math", "multiply", "approved", "person")] * 2
    assert links == [("call_1", "asked", "x1", "id")] * 2
    assert turns == [(1, "demo/openai", 1), (2, "demo/openai", 0)]


@pytest.mark.parametrize(("form", "kept_of"), [(2, ("", "{}")), (3, ("translator", '{"temperature": 0.5}'))])
def test_profile_and_options_of_a_session_are_kept_from_the_third_form_on(
    form: int, kept_of: tuple[str, str], tmp_path: Path
) -> None:
    store = Store.open(kept(form, tmp_path))
    info = store.find_session(SESSION)
    store.close()

    assert (info.profile, info.options) == kept_of


def test_a_migration_that_fails_leaves_the_form_before_it(tmp_path: Path) -> None:
    path = kept(1, tmp_path)

    with pytest.raises(StoreError):
        Store.open(path, migrations=(*MIGRATIONS, ("CREATE TABLE later (id INTEGER)", "NONSENSE")))

    store = Store.open(path)
    assert store.read("PRAGMA user_version") == [(len(MIGRATIONS),)], "each form is a transaction of its own"
    assert store.read("SELECT count(*) FROM sqlite_master WHERE name = 'later'") == [(0,)]
    assert told(store) == (GOLDEN / "store.told").read_bytes()
    store.close()


def test_a_migrated_file_can_be_written_and_the_copy_aside_still_has_what_it_had(tmp_path: Path) -> None:
    store = Store.open(kept(1, tmp_path))
    record(store, [frame(b"new")], capture="capture-4")
    assert [each.draft.data for each in store.records(capture="capture-4")] == [b"new"]
    store.close()

    (copy,) = tmp_path.glob("tui-host.db.form1-*")
    store = Store.open(copy)
    assert told(store) == (GOLDEN / "store.told").read_bytes()
    store.close()


def test_an_exchange_is_one_row_however_many_places_its_records_have(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    sent = Draft(wire="mcp", kind="request", peer="math", exchange="x1", connection="math#1", place=Place())
    in_call = Place(session="s1", turn=1, step=1, call="call_1")
    record(store, [sent, replace(sent, kind="frame", place=in_call), replace(sent, exchange="x2", place=in_call)])

    rows = store.read("SELECT id, wire, peer, session FROM exchanges ORDER BY id")
    first = store.read("SELECT count(*) FROM exchanges JOIN records USING (place) WHERE exchanges.id = 'x1'")
    store.close()

    assert rows == [("x1", "mcp", "math", None), ("x2", "mcp", "math", "s1")]
    assert first == [(1,)]
