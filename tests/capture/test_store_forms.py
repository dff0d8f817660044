"""The database's form: a file of each version opens, with the same bytes out; what is published never changes."""

from __future__ import annotations

import re
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tests.capture.drafts import SESSION, frame
from tests.capture.kept_forms import GOLDEN, fill, restored, told
from tests.capture.stores import assert_sound, kept, record
from tui_host.capture.record import Place, Record
from tui_host.capture.store.migrations import MIGRATIONS, NEWEST
from tui_host.capture.store.schema_version import OlderFormError
from tui_host.capture.store.store import Store
from tui_host.errors import StoreError

FORMS = sorted(MIGRATIONS)


def schema(path: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(path)
    try:
        found = connection.execute("SELECT name, coalesce(sql, '') FROM sqlite_master ORDER BY name").fetchall()
        return [(name, _without_comments(sql)) for name, sql in found]
    finally:
        connection.close()


def _without_comments(sql: str) -> str:
    return re.sub(r"\s+([,)])", r"\1", " ".join(re.sub(r"--.*|\"", "", sql).split()))


@pytest.mark.parametrize("form", [*FORMS, None])
def test_a_file_of_each_form_and_what_this_version_writes_give_back_the_same_bytes(
    form: int | None, tmp_path: Path
) -> None:
    path = restored(form, tmp_path) if form else tmp_path / "tui-host.db"
    if form is None:
        fill(path)

    store = Store.open(path)
    out = told(store)
    info = store.find_session(SESSION)
    assert_sound(store)
    store.close()

    assert out == (GOLDEN / "store.told").read_bytes()
    assert (info.profile, info.options) == ("translator", '{"temperature": 0.5}')


@pytest.mark.parametrize("form", FORMS)
def test_a_form_once_published_is_made_as_it_was(form: int, tmp_path: Path) -> None:
    path = tmp_path / "new" / "tui-host.db"
    Store.open(path, migrations={number: MIGRATIONS[number] for number in FORMS if number <= form}).close()

    assert schema(path) == schema(restored(form, tmp_path))


def test_every_form_has_a_kept_file() -> None:
    assert sorted(int(path.stem.partition("-")[2]) for path in GOLDEN.glob("store-*.sql")) == list(FORMS)


@pytest.mark.parametrize("form", [1, 2])
def test_a_file_of_a_form_before_the_third_is_set_aside_and_named(form: int, tmp_path: Path) -> None:
    path = restored(3, tmp_path)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {form}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(OlderFormError):
        Store.open_to_read(path)

    store = Store.open(path)

    (aside,) = tmp_path.glob(f"tui-host.db.form{form}-*")
    assert aside.read_bytes() == before
    assert store.notices == [f"the database of an early version was set aside as {aside.name}, and a new one begun"]
    assert (list(store.records()), store.read("PRAGMA user_version")) == ([], [(NEWEST,)])
    store.close()
    assert Store.open(path).close()


def test_a_form_that_cannot_be_made_leaves_the_form_before_it(tmp_path: Path) -> None:
    path = restored(3, tmp_path)
    broken = {
        NEWEST + 1: ("CREATE TABLE later (id INTEGER)",),
        NEWEST + 2: ("CREATE TABLE last (id INTEGER)", "NONSENSE"),
    }

    with pytest.raises(StoreError):
        Store.open(path, migrations={**MIGRATIONS, **broken})

    connection = sqlite3.connect(path)
    tables = connection.execute("SELECT name FROM sqlite_master WHERE name IN ('later', 'last')").fetchall()
    assert connection.execute("PRAGMA user_version").fetchone() == (NEWEST + 1,), (
        "each form is a transaction of its own"
    )
    connection.close()
    assert tables == [("later",)]
    (copy,) = tmp_path.glob("tui-host.db.form3-*")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    store = Store.open(copy)
    assert told(store) == (GOLDEN / "store.told").read_bytes()
    record(store, [frame(b"new")], capture="capture-4")
    assert kept(store, capture="capture-4") == [b"new"]
    store.close()


def test_an_exchange_is_one_row_however_many_places_its_records_have(store: Store) -> None:
    sent = Record(wire="mcp", kind="request", peer="math", exchange="x1", connection="math#1", place=Place())
    in_call = Place(session="s1", turn=1, step=1, call="call_1")
    record(store, [sent, replace(sent, kind="frame", place=in_call), replace(sent, exchange="x2", place=in_call)])

    rows = store.read("SELECT id, wire, peer, session FROM exchanges ORDER BY id")
    first = store.read("SELECT count(*) FROM exchanges JOIN records USING (place) WHERE exchanges.id = 'x1'")

    assert rows == [("x1", "mcp", "math", None), ("x2", "mcp", "math", "s1")]
    assert first == [(1,)]
