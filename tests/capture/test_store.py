"""The database: what goes in comes out, for its owner's eyes alone, whatever happens to process, file or disk."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.capture.drafts import FixedClock, any_draft, frame, wait_until
from tui_host.capture.record import Draft
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.migrations import MIGRATIONS, NEWEST
from tui_host.capture.store.schema_version import connect
from tui_host.capture.store.store import Store
from tui_host.errors import SettingsError, StoreError

WRITER = """
import sys
from pathlib import Path
from tui_host.capture.record import Draft
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.capture.store.schema_version import connect

path, capture, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = Store.open(path)
recorder = Recorder(store, Redactor(), capture=capture)
shown = 0
number = 0
while not count or number < count:
    number += 1
    recorder.append(Draft(wire="mcp", kind="frame", peer="math", data=b"%d" % number * 50))
    for record in recorder.since(shown):
        shown = record.seq
    if number % 100 == 0:
        print(shown, flush=True)
recorder.close(30)
store.close(30)
"""


def start_writer(path: Path, capture: str, count: int = 0) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(path), capture, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


@pytest.mark.parametrize(
    "change",
    ["head = '{'", "head = '[1,2,3,[[4,5]]]'", "time = 'x'", "time = -1 << 63", "data = 5", "redacted = '[1]'"],
)
def test_a_row_that_cannot_be_read_says_so_and_hides_no_other(tmp_path: Path, change: str) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    record(store, [frame(b"one"), frame(b"two"), frame(b"three")]).close()
    store.run(lambda connection: connection.execute(f"UPDATE records SET {change} WHERE data = CAST('two' AS BLOB)"))  # noqa: S608 - ours
    found = list(store.records())
    assert [each.draft.data for each in found[::2]] == [b"one", b"three"]
    assert "damaged" in (found[1].draft.malformed or "")
    assert found[1].time_ns >= 0
    store.close()


def record(store: Store, drafts: list[Draft], capture: str = "c1") -> Recorder:
    recorder = Recorder(store, Redactor(), capture=capture, clock=FixedClock())
    for draft in drafts:
        recorder.append(draft)
    recorder.flush(20)
    return recorder


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(drafts=st.lists(any_draft, max_size=5))
def test_any_draft_survives_the_store(drafts: list[Draft], tmp_path_factory: pytest.TempPathFactory) -> None:
    store = Store.open(tmp_path_factory.mktemp("store") / "tui-host.db")
    try:
        record(store, drafts)

        # without credentials: those in well-known places go whatever else is known
        assert [each.draft for each in store.records(capture="c1")] == [Redactor().draft(each) for each in drafts]
    finally:
        store.close()


def test_records_are_chosen_by_session_connection_and_number(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    record(store, [frame(b"0"), frame(b"1", session="s1"), frame(b"2", session="s1", connection="time#2")])
    record(store, [frame(b"3", session="s1")], capture="c2")

    def data(**choice: str | int) -> list[bytes]:
        return [each.draft.data for each in store.records(**choice)]  # pyright: ignore[reportArgumentType] - by name

    assert data() == [b"0", b"1", b"2", b"3"]
    assert data(session="s1") == [b"1", b"2", b"3"]
    assert data(session="s1", capture="c1") == [b"1", b"2"]
    assert data(connection="math#1", capture="c1") == [b"0", b"1"]
    assert data(capture="c1", after=1) == [b"1", b"2"]
    assert data(capture="c1", after=1, until_seq=2) == [b"1"]
    assert data(limit=2) == [b"0", b"1"]
    assert data(capture="unknown") == []
    assert store.record("c1", 4) is None
    store.close()


def test_more_records_than_a_page_come_complete_and_once(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    record(store, [frame(b"%d" % number) for number in range(300)])

    assert [each.seq for each in store.records(capture="c1")] == list(range(1, 301))
    assert [each.seq for each in store.records(capture="c1", limit=200)] == list(range(1, 201))
    store.close()


def test_a_body_is_the_requests_data_or_the_responses_chunks_joined(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    for capture in ("c1", "c2"):
        record(
            store,
            [
                Draft(wire="llm", kind="request", exchange="x1", data=b"ask " + capture.encode()),
                Draft(wire="llm", kind="response", exchange="x1"),
                Draft(wire="llm", kind="chunk", exchange="x1", data=b"an"),
                Draft(wire="llm", kind="chunk", exchange="x2", data=b"other"),
                Draft(wire="llm", kind="chunk", exchange="x1", data=b"swer"),
                Draft(wire="llm", kind="end", exchange="x1", data=b"{}"),
            ],
            capture=capture,
        )

    assert store.body("c2", "x1", "request") == b"ask c2"
    assert store.body("c1", "x1", "response") == b"answer"
    store.close()


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
        kept = [each.seq for each in store.records(capture=f"c{attempt}")]
        store.close()

        assert len(kept) >= shown > 0
        assert kept == list(range(1, len(kept) + 1))


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    with start_writer(path, "c1", 3000) as first, start_writer(path, "c2", 3000) as second:
        first.communicate()
        second.communicate()

    assert (first.returncode, second.returncode) == (0, 0)
    store = Store.open(path)
    assert [each.seq for each in store.records(capture="c1")] == list(range(1, 3001))
    assert [each.seq for each in store.records(capture="c2")] == list(range(1, 3001))
    store.close()


def test_a_file_that_is_no_database_is_set_aside_and_told(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    path.write_text("these are my notes, not a database\n" * 100, encoding="utf-8")

    store = Store.open(path)
    record(store, [frame(b"new")])

    (aside,) = tmp_path.glob("tui-host.db.damaged-*")
    assert aside.read_text(encoding="utf-8").startswith("these are my notes")
    assert aside.name in store.notices[0]
    assert [each.draft.data for each in store.records()] == [b"new"]
    store.close()


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    path.touch(0o644)

    store = Store.open(path)

    assert store.notices == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    store.close()


def test_a_newer_form_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    Store.open(path, migrations={**MIGRATIONS, NEWEST + 1: ("CREATE TABLE later (id INTEGER)",)}).close()
    before = path.read_bytes()

    with pytest.raises(SettingsError, match="newer"):
        Store.open(path)
    with pytest.raises(SettingsError, match="newer"):
        Store.open_to_read(path)

    assert path.read_bytes() == before


def test_an_older_form_is_copied_aside_and_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    store = Store.open(path)
    record(store, [frame(b"old")])
    store.close()
    later = {**MIGRATIONS, NEWEST + 1: ("CREATE TABLE later (id INTEGER)", "INSERT INTO later VALUES (7)")}

    store = Store.open(path, migrations=later)

    assert store.read("SELECT id FROM later") == [(7,)]
    assert [each.draft.data for each in store.records()] == [b"old"]
    store.close()
    (copy,) = tmp_path.glob(f"tui-host.db.form{NEWEST}-*")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    store = Store.open_to_read(copy)
    assert [each.draft.data for each in store.records()] == [b"old"]
    store.close()


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
        assert [each.draft.data for each in store.records()] == [b"kept"]
        store.close()
    finally:
        folder.chmod(0o755)


def test_a_store_opened_to_read_sees_what_another_writes_and_writes_nothing(tmp_path: Path) -> None:
    writing = Store.open(tmp_path / "tui-host.db")
    reading = Store.open_to_read(tmp_path / "tui-host.db")
    record(writing, [frame(b"now")])

    assert [each.draft.data for each in reading.records()] == [b"now"]
    with pytest.raises(StoreError):
        reading.run(lambda connection: connection.execute("DELETE FROM records"))
    reading.close()
    writing.close()


def test_a_record_made_while_the_disk_was_full_names_its_own_capture_later(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    first = Store.open(path, retry_seconds=0.01)
    first.run(lambda connection: connection.execute("PRAGMA max_page_count = 1").fetchall())
    late = Recorder(first, Redactor(), capture="late")
    late.append(frame(b"late" * 3000))
    wait_until(lambda: late.unkept == 1)

    second = Store.open(path)
    record(second, [frame(b"early")], capture="early")
    with pytest.raises(StoreError):
        first.run(lambda _: None)
    first.close()
    second.close()

    store = Store.open(path)
    assert [(each.capture, each.draft.data) for each in store.records()] == [("early", b"early")]
    store.close()


def test_a_closed_store_says_what_it_could_not_write(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    store.run(lambda connection: connection.execute("PRAGMA max_page_count = 1").fetchall())
    recorder = Recorder(store, Redactor(), capture="c1")
    recorder.append(frame(b"x" * 9000))

    assert not recorder.close(5)
    assert not store.close()
    assert recorder.append(frame(b"after the end")) == 2
    assert recorder.unkept == 2


def test_where_there_is_no_write_ahead_log_that_is_told_and_all_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "data" / "tui-host.db"

    def without_shared_memory(path: Path) -> sqlite3.Connection:
        return connect(path, uri=f"{path.as_uri()}?vfs=unix-dotfile")

    store = Store.open(path, connect=without_shared_memory)
    record(store, [frame(b"kept")])
    found = [each.draft.data for each in store.records()]
    store.close()

    assert found == [b"kept"]
    assert store.notices == ["the data folder allows no write-ahead log (delete): keeping is slower here"]
