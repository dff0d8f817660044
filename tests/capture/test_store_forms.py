"""The database's form: a file of each form to be kept opens, with the same bytes out; an older one is set aside."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.capture.drafts import SESSION, frame
from tests.capture.kept_forms import GOLDEN, fill, restored, told
from tests.capture.stores import assert_sound, kept, record
from tui_host.capture.store import schema
from tui_host.capture.store.database import OlderFormError
from tui_host.capture.store.schema import FORM
from tui_host.capture.store.store import Store
from tui_host.errors import SettingsError, StoreError


def test_a_file_of_the_kept_form_and_what_this_version_writes_have_one_schema_and_give_back_the_same_bytes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "new" / "tui-host.db"
    fill(path)
    schemas: list[list[tuple[str, str]]] = []
    for file in (path, restored(FORM, tmp_path)):
        store = Store.open(file)
        assert told(store) == (GOLDEN / "store.told").read_bytes()
        info = store.sessions.find(SESSION)
        assert (info.profile, info.options) == ("translator", '{"temperature": 0.5}')
        assert_sound(store)
        store.close()
        with closing(sqlite3.connect(file)) as connection:
            schemas += [
                connection.execute("SELECT name, coalesce(sql, '') FROM sqlite_master ORDER BY name").fetchall()
            ]
    assert schemas[0] == schemas[1], "what changes is a new form"


@pytest.mark.parametrize("form", [1, FORM - 1])
def test_a_file_of_an_older_form_is_set_aside_and_named(form: int, tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    fill(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {form}")
    before = path.read_bytes()
    with pytest.raises(OlderFormError):
        Store.open_to_read(path)

    store = Store.open(path)
    (aside,) = tmp_path.glob(f"tui-host.db.form{form}-*")
    assert aside.read_bytes() == before
    assert store.notices == [f"the database of an early version was set aside as {aside.name}, and a new one begun"]
    record(store, [frame(b"new")])
    assert (kept(store), store.read("PRAGMA user_version")) == ([b"new"], [(FORM,)])
    store.close()


def test_a_newer_form_and_another_programs_database_are_refused_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer, foreign = tmp_path / "tui-host.db", tmp_path / "theirs.db"
    with monkeypatch.context() as later:
        later.setattr(schema, "FORM", FORM + 1)
        Store.open(newer).close()
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE theirs (id INTEGER)")
    connection.close()

    for path, error, words in ((newer, SettingsError, "newer"), (foreign, StoreError, "another program")):
        before = path.read_bytes()
        for opening in (Store.open, Store.open_to_read):
            with pytest.raises(error, match=words):
                opening(path)
        assert path.read_bytes() == before
