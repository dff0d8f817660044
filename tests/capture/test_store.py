"""The database: what goes in comes out, for its owner's eyes alone, whatever happens to process, file or disk."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.capture.conftest import Disk
from tests.capture.drafts import any_draft, frame, unstamped
from tests.capture.stores import kept, record, start_writer, write_at_once
from tui_host.capture.record import Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store import schema, write_ahead_log
from tui_host.capture.store.schema import FORM, connect
from tui_host.capture.store.store import Store
from tui_host.errors import SettingsError, StoreError


@pytest.mark.parametrize(
    "change",
    ["head = '{'", "head = '[1,2]'", "redacted = '[1]'"],
)
def test_a_row_that_cannot_be_read_says_so_and_hides_no_other(store: Store, change: str) -> None:
    record(store, [frame(b"one"), frame(b"two"), frame(b"three")]).close()
    store.run(lambda connection: connection.execute(f"UPDATE records SET {change} WHERE data = CAST('two' AS BLOB)"))  # noqa: S608 - ours
    found = list(store.records())
    assert [each.data for each in found] == [b"one", b"", b"three"]
    assert "damaged" in (found[1].malformed or "")
    assert (found[1].key, found[1].kind, found[1].peer) == (("c1", 2), "frame", found[0].peer)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(drafts=st.lists(any_draft, max_size=5))
def test_any_draft_survives_the_store(drafts: list[Record], tmp_path_factory: pytest.TempPathFactory) -> None:
    store = Store.open(tmp_path_factory.mktemp("store") / "tui-host.db")
    try:
        record(store, drafts)

        # without credentials: those in well-known places go whatever else is known
        assert unstamped(store.records(capture="c1")) == [Redactor().record(each) for each in drafts]
    finally:
        store.close()


def test_records_are_chosen_by_capture_and_number(store: Store) -> None:
    record(store, [frame(b"0"), frame(b"1"), frame(b"2")])
    record(store, [frame(b"3")], capture="c2")

    assert kept(store) == [b"0", b"1", b"2", b"3"]
    assert kept(store, capture="c1", after=1) == [b"1", b"2"]
    assert kept(store, capture="c1", after=1, until_seq=2) == [b"1"]
    assert kept(store, limit=2) == [b"0", b"1"]
    assert kept(store, capture="unknown") == []
    assert store.record("c1", 4) is None


def test_only_the_owner_can_read_the_files_even_under_umask_000(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = Store.open(tmp_path / "deep" / "data" / "tui-host.db")
        record(store, [frame()])
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.iterdir()}
        names = [f"tui-host.db{ending}" for ending in ("", "-wal", "-shm", ".ballast", f".live-{store.owner}")]
        folders = [stat.S_IMODE(folder.stat().st_mode) for folder in list(store.path.parents)[:2]]
        store.close()
    finally:
        os.umask(before)

    assert modes == dict.fromkeys(names, 0o600)
    assert folders == [0o700, 0o700], "the folder above it too"


def test_a_folder_in_which_others_could_write_is_closed_to_them_and_that_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    store = Store.open(tmp_path / "tui-host.db")
    store.close()

    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    assert store.notices == [f"others could write in the data folder, {tmp_path}: from now on only you can"]


def test_a_folder_that_all_users_share_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(StoreError, match="shared by all users") as refused:
        Store.open(tmp_path / "tui-host.db")
    assert str(refused.value).count("(") == 1  # around what to do instead


def test_kill_9_loses_nothing_that_was_shown(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    for attempt in range(3):
        with start_writer(path, f"c{attempt}") as process:
            assert process.stdout is not None
            shown = 0
            while shown <= 1000 * attempt:
                shown = int(process.stdout.readline())
            process.kill()

        store = Store.open(path)
        numbers = [each.seq for each in store.records(capture=f"c{attempt}")]
        store.close()

        assert len(numbers) >= shown > 0
        assert numbers == list(range(1, len(numbers) + 1))


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    write_at_once(tmp_path / "tui-host.db", 1000, "c1", "c2")

    store = Store.open(tmp_path / "tui-host.db")
    assert [each.seq for each in store.records(capture="c1")] == list(range(1, 1001))
    assert [each.seq for each in store.records(capture="c2")] == list(range(1, 1001))
    store.close()


def test_a_file_that_is_no_database_is_set_aside_and_told(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    path.write_text("these are my notes, not a database\n" * 100, encoding="utf-8")

    store = Store.open(path)
    record(store, [frame(b"new")])

    (aside,) = tmp_path.glob("tui-host.db.damaged-*")
    assert aside.read_text(encoding="utf-8").startswith("these are my notes")
    assert aside.name in store.notices[0]
    assert kept(store) == [b"new"]
    store.close()


def test_a_newer_form_is_refused_and_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tui-host.db"
    with monkeypatch.context() as later:
        later.setattr(schema, "FORM", FORM + 1)
        Store.open(path).close()
    before = path.read_bytes()

    with pytest.raises(SettingsError, match="newer"):
        Store.open(path)
    with pytest.raises(SettingsError, match="newer"):
        Store.open_to_read(path)

    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (id INTEGER)")
    connection.commit()
    connection.close()

    with pytest.raises(StoreError, match="another program"):
        Store.open(path)


def test_a_folder_that_cannot_be_made_is_told_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreError) as told:
        Store.open(tmp_path / "file" / "tui-host.db")

    assert told.value.remedy


def test_a_database_in_a_folder_that_cannot_be_written_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    store = Store.open(folder / "tui-host.db")
    record(store, [frame(b"kept")])
    store.close()
    folder.chmod(0o555)
    if os.access(folder, os.W_OK):
        # Nothing can be made unwritable for him; whoever runs the tests as themselves sees this one run.
        pytest.skip("the superuser may write everywhere")
    try:
        with pytest.raises(StoreError):
            Store.open(folder / "tui-host.db")
        store = Store.open_to_read(folder / "tui-host.db")
        assert kept(store) == [b"kept"]
        store.close()
    finally:
        folder.chmod(0o755)


def test_a_store_opened_to_read_sees_what_another_writes_and_writes_nothing(store: Store) -> None:
    reading = Store.open_to_read(store.path)
    record(store, [frame(b"now")])

    assert kept(reading) == [b"now"]
    with pytest.raises(StoreError):
        reading.run(lambda connection: connection.execute("DELETE FROM records"))
    reading.close()


def test_a_closed_store_says_what_it_could_not_write(store: Store, disk: Disk) -> None:
    disk.fill()
    recorder = Recorder(store, Redactor(), capture="c1")
    recorder.append(frame(b"x" * 9000))

    assert not recorder.close(5)
    assert not store.close()
    assert recorder.append(frame(b"after the end")) == 2
    assert recorder.unkept == 2


def test_on_a_network_file_system_there_is_no_write_ahead_log_and_that_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, notices = tmp_path / "tui-host.db", list[str]()

    def nfs(_folder: Path) -> str:
        return "nfs4"

    monkeypatch.setattr(write_ahead_log, "network_file_system", nfs)
    for number in range(2):
        store = Store.open(path, notices=notices)
        record(store, [frame(b"%d" % number)], capture=f"c{number}")
        assert (kept(store)[number], store.read("PRAGMA journal_mode")) == (b"%d" % number, [("delete",)])
        store.close()
    assert notices == [
        "the data folder is on a network file system (nfs4): no write-ahead log is used, and keeping is slower here"
    ]


def test_the_disk_of_this_machine_is_no_network_file_system(tmp_path: Path) -> None:
    assert write_ahead_log.network_file_system(tmp_path) == ""


def test_where_there_is_no_write_ahead_log_that_is_told_and_all_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "data" / "tui-host.db"

    def without_shared_memory(path: Path) -> sqlite3.Connection:
        return connect(path, uri=f"{path.as_uri()}?vfs=unix-dotfile")

    store = Store.open(path, connect=without_shared_memory)
    record(store, [frame(b"kept")])
    found = kept(store)
    store.close()

    assert found == [b"kept"]
    assert store.notices == [
        "the data folder allows no shared memory (delete): no write-ahead log is used, and keeping is slower here"
    ]
