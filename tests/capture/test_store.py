"""The database: what goes in comes out, for its owner's eyes alone, whatever happens to process, file or disk."""

import errno
import fcntl
import json
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bench.recording import Traffic
from tests.capture.drafts import SESSION, FixedClock, any_draft, frame, llm, unstamped, wait_until
from tests.capture.stores import FIRST, SECOND, another, assert_sound, kept, killed_after, record, save, start_writer
from tests.cases import some
from tui_host.capture.exports import jsonl_export as jsonl
from tui_host.capture.record import Head, Place, Record, Redaction
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store import database, schema
from tui_host.capture.store.companion_files import is_held
from tui_host.capture.store.database import OlderFormError
from tui_host.capture.store.deletion import delete_session
from tui_host.capture.store.schema import FORM, connect
from tui_host.capture.store.store import Store
from tui_host.errors import SettingsError, StoreError


def test_a_row_or_a_text_that_cannot_be_read_says_so_and_hides_no_other(store: Store) -> None:
    record(store, [frame(b"%d" % number) for number in range(5)]).close()
    for session in (FIRST, SECOND):
        save(store, session)
    changes = ("head = '{'", "head = '[1,2]'", "redacted = '[1]'")
    rows = [f"UPDATE records SET {change} WHERE key & 255 = {seq}" for seq, change in enumerate(changes, 2)]  # noqa: S608
    text = "UPDATE sessions SET title = CAST(X'73C328' AS TEXT) WHERE rowid = 1"
    store.run(lambda connection: connection.executescript(";".join((*rows, text))))
    found = list(store.records())
    assert [each.data for each in found] == [b"0", b"", b"", b"", b"4"]
    assert ["damaged" in (each.malformed or "") for each in found] == [False, True, True, True, False]
    assert (found[1].key, found[1].kind, found[1].peer) == (("c1", 2), "frame", found[0].peer)
    assert {info.title for info in store.sessions.list()} == {r"s\xc3(", f"title of {SECOND}"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(drafts=st.lists(any_draft, max_size=5))
def test_any_draft_survives_the_store(store: Store, drafts: list[Record]) -> None:
    capture = f"c{time.monotonic_ns()}"
    record(store, drafts, capture)
    # without credentials: those in well-known places go whatever else is known
    assert unstamped(store.records(capture=capture)) == [Redactor().record(each) for each in drafts]


def test_records_are_chosen_by_capture_and_number_and_read_as_another_store_writes_them(store: Store) -> None:
    reading = Store.open_to_read(store.path)
    record(store, [frame(b"0"), frame(b"1"), frame(b"2")])
    record(store, [frame(b"3")], capture="c2")
    assert (kept(reading), kept(reading, capture="c1", after=1)) == ([b"0", b"1", b"2", b"3"], [b"1", b"2"])
    assert (kept(reading, capture="c1", after=1, until_seq=2), kept(reading, limit=2)) == ([b"1"], [b"0", b"1"])
    assert (kept(reading, capture="unknown"), reading.record("c1", 4)) == ([], None)
    with pytest.raises(StoreError, match="for reading alone"):
        reading.run(lambda connection: connection.execute("DELETE FROM records"))
    reading.close()


@pytest.mark.usefixtures("no_umask")
def test_only_the_owner_can_read_the_files_even_under_umask_000(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "deep" / "data" / "tui-host.db")
    record(store, [frame()])
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.iterdir()}
    names = [f"tui-host.db{ending}" for ending in ("", "-wal", "-shm", ".ballast", f".live-{store.owner}")]
    folders = [stat.S_IMODE(folder.stat().st_mode) for folder in list(store.path.parents)[:2]]
    store.close()
    assert modes == dict.fromkeys(names, 0o600)
    assert folders == [0o700, 0o700], "the folder above it too"


def test_a_folder_of_others_is_closed_to_them_or_refused_and_that_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    store = Store.open(tmp_path / "tui-host.db")
    store.close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    assert store.notices == [f"others could write in the data folder, {tmp_path}: from now on only you can"]
    tmp_path.chmod(0o1777)
    with pytest.raises(StoreError, match="shared by all users") as refused:
        Store.open(tmp_path / "tui-host.db")
    assert refused.value.remedy
    assert str(refused.value).count("(") == 1  # around what to do instead


def test_kill_9_loses_nothing_that_was_shown(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    for attempt in range(2):
        shown = killed_after(path, f"c{attempt}", 1500 * attempt)
        store = Store.open_to_read(path)
        numbers = [each.seq for each in store.records(capture=f"c{attempt}")]
        store.close()
        assert len(numbers) >= shown > 0
        assert numbers == list(range(1, len(numbers) + 1))


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    writers = [start_writer(tmp_path / "tui-host.db", capture, 500) for capture in ("c1", "c2")]
    for writer in writers:
        writer.communicate()
    assert [writer.returncode for writer in writers] == [0, 0]
    store = Store.open_to_read(tmp_path / "tui-host.db")
    for capture in ("c1", "c2"):
        assert [each.seq for each in store.records(capture=capture)] == list(range(1, 501))
    store.close()


def test_a_lock_goes_with_its_process_and_a_lack_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = tmp_path / "tui-host.db"
    with another(database, FIRST):
        (path,) = tmp_path.glob("tui-host.db.live-*")
        Store.open(database).close()
        assert is_held(path), "what is held is not removed"
    wait_until(lambda: not is_held(path))
    Store.open(database).close()
    assert not path.exists()

    def unable(_file: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unable)
    store = Store.open(database)
    assert ["allows no locks (No locks available)" in notice for notice in store.notices] == [True]
    store.close()


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


@pytest.mark.parametrize("is_network", [True, False])
def test_where_there_is_no_write_ahead_log_that_is_told_once_and_all_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_network: bool
) -> None:
    path, notices = tmp_path / "tui-host.db", list[str]()
    assert database.network_file_system(tmp_path) == "", "the disk of this machine"

    def network(_folder: Path) -> str:
        return "nfs4" if is_network else ""

    def without_shared_memory(path: Path, *, uri: str = "") -> sqlite3.Connection:
        return connect(path, uri=uri or ("" if is_network else f"{path.as_uri()}?vfs=unix-dotfile"))

    monkeypatch.setattr(database, "network_file_system", network)
    monkeypatch.setattr(database, "connect", without_shared_memory)
    for number in range(2):
        store = Store.open(path, notices=notices)
        record(store, [frame(b"%d" % number)], capture=f"c{number}")
        assert kept(store)[number] == b"%d" % number
        store.close()
    why = "is on a network file system (nfs4)" if is_network else "allows no shared memory (delete)"
    assert notices == [f"the data folder {why}: no write-ahead log is used, and keeping is slower here"]


# Bodies and answers are kept small and come back byte for byte, whatever became of what they stand against.

BODY = json.dumps(list(range(5000))).encode()


def test_a_long_conversation_takes_a_small_part_of_its_bytes_and_any_body_comes_back(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    drafts = list(Traffic("other calls between", 60).records())
    record(store, drafts).close()
    store.close()
    size = (tmp_path / "tui-host.db").stat().st_size
    assert size < sum(len(each.data) for each in drafts) / 10, "60 turns; the bench has 200"
    store = Store.open_to_read(tmp_path / "tui-host.db")
    assert unstamped(store.records(capture="c1")) == drafts
    for seq, each in enumerate(drafts, 1):
        if each.kind == "request":
            assert unstamped([some(store.record("c1", seq))]) == [each]
    store.close()


def test_an_answer_that_ends_while_it_is_read_is_read_to_its_end(store: Store) -> None:
    recorder = record(store, [llm("request", "x", BODY), *(llm("chunk", "x", b"%d" % number) for number in range(300))])
    following, exporting = store.records(capture="c1"), store.session_records(SESSION)
    first = [next(following).seq for _ in range(3)] + [next(exporting)[0].seq for _ in range(3)]
    for draft in (llm("end", "x"), llm("request", "x2", BODY)):
        recorder.append(draft)
    assert recorder.flush()
    assert first + [each.seq for each in following] == [1, 2, 3, 1, 2, 3, *range(4, 304)]
    assert [each.seq for each, _ in exporting] == [*range(4, 302)]


def test_nothing_of_one_session_stands_against_another(store: Store) -> None:
    record(store, [llm("request", f"x{n}", BODY, session=("one", "two")[n % 2]) for n in range(6)]).close()
    delete_session(store, "one")
    assert (kept(store), store.read("PRAGMA foreign_key_check")) == ([BODY] * 3, [])


def test_a_body_whose_bytes_are_damaged_says_so_and_the_others_are_read(store: Store) -> None:
    record(store, [*(llm("request", f"x{number}", BODY + b"%d" % number) for number in range(3)), frame(b"whole")])
    store.run(lambda it: it.execute("UPDATE records SET data = zeroblob(length(data)) WHERE key & 255 = 3"))
    drafts = unstamped(store.records())
    assert [each.data for each in drafts] == [BODY + b"0", BODY + b"1", b"", b"whole"]
    assert "damaged" in (drafts[2].malformed or "")


def test_what_stood_against_a_body_that_was_deleted_meanwhile_is_kept_by_itself(store: Store) -> None:
    recorder = record(store, [llm("request", "x1", BODY)])
    other = sqlite3.connect(store.path, isolation_level=None)
    for table in ("records", "places", "captures"):
        other.execute(f"DELETE FROM {table}")  # noqa: S608 - ours
    other.close()
    recorder.append(llm("request", "x2", BODY + b"2"))
    recorder.append(frame(b"after it"))
    assert recorder.flush(20)
    assert (kept(store), store.notices) == ([BODY + b"2", b"after it"], [])


def test_frames_that_come_in_a_burst_share_rows_and_come_back_one_by_one(store: Store) -> None:
    drafts = [frame(b"%d" % number * 30, session=SESSION, direction=("in", "out")[number % 2]) for number in range(300)]
    drafts[200] = replace(drafts[200], malformed="cut off")
    drafts[250] = replace(drafts[250], connection="math#2")
    seen = record(store, drafts).since(0)
    assert len(store.read("SELECT key FROM records")) < 20
    assert list(store.records(capture="c1")) == list(seen)
    assert unstamped(store.records(capture="c1", after=130, until_seq=140)) == drafts[130:140]
    asked = [1, 100, 129, 201, 251, 300]
    assert store.plain_data("c1", asked) == {seq: drafts[seq - 1].data for seq in asked}
    assert sum(traffic.frames for traffic in store.sessions.traffic(SESSION)) == len(drafts)
    delete_session(store, SESSION)
    assert list(store.records(capture="c1")) == []


def test_a_record_inside_an_answer_is_found_by_its_number(store: Store) -> None:
    drafts = [llm("request", "x1", b"{}"), llm("response", "x1")]
    for number in range(2500):
        drafts.append(llm("chunk", "x1", b"data: %d\n\n" % number))
        if number % 100 == 0:
            drafts.append(frame(b"log %d" % number))
    drafts.append(llm("end", "x1", b"{}"))
    record(store, drafts)
    assert unstamped(store.records(capture="c1")) == drafts
    for seq in (1, 2, 3, 4, 1000, 1026, 1500, 2527, len(drafts)):
        found = some(store.record("c1", seq))
        assert (found.seq, unstamped([found])) == (seq, [drafts[seq - 1]])
    assert store.record("c1", len(drafts) + 1) is None
    assert [each.seq for each in store.records(capture="c1", after=1500, until_seq=1510)] == list(range(1501, 1511))
    assert [each.seq for each in store.records(capture="c1", after=1500, limit=3)] == [1501, 1502, 1503]
    of_session = unstamped(each for each, _ in store.session_records(SESSION))
    assert of_session == [each for each in drafts if each.wire == "llm"]


def test_an_answer_with_a_secret_in_it_keeps_its_marks(store: Store) -> None:
    pieces = [b"one", b"two sk-canary-0123456789"]
    chunks = [*(llm("chunk", "x1", piece) for piece in pieces), replace(llm("chunk", "x1", b"three"), encoding="gzip")]
    record(store, [*chunks, llm("end", "x1", b"{}")], redactor=Redactor([("KEY", "sk-canary-0123456789")]))
    found = unstamped(store.records())
    assert [each.data for each in found] == [b"one", "two ⟨secret:KEY⟩".encode(), b"three", b"{}"]
    assert [each.encoding for each in found] == [None, None, "gzip", None]
    assert [len(each.redacted) for each in found] == [0, 1, 0, 0]


# Its form: a file of each form to be kept opens, with the same bytes out; an older one is set aside.

GOLDEN = Path(__file__).parent.parent / "golden"
DRAFT = "20261121-134502-bbbbb"
STEP = Place(session=SESSION, turn=1, step=1)
CALL = replace(STEP, call="call_1")
LINK = """{"relation": "asked", "call": "call_1", "span": {"exchange": "x1", "side": "response", "layer": "decoded", "start": 3, \
"end": 9}, "known": "id", "server": "math", "tool": "multiply", "words": "{\\"a\\":6,\\"b\\":5}"}"""
DECISION = """{"server": "math", "tool": "multiply", "asked": {"a": 6, "b": 5}, "sent": {"a": 6, "b": 5}, "decision": "approved", \
"by": "person", "reason": null, "result": null, "is_error": null, "ms": null}"""


def drafts() -> Iterator[Record]:
    """A turn of two steps on both wires, with whatever a record can have."""
    yield frame(b'{"jsonrpc":"2.0","id":0,"method":"initialize"}\n')
    yield frame(b"not JSON \xff\x00\n", direction="in", turn=None)
    yield Record(wire="stderr", kind="line", peer="math", direction="in", connection="math#1", data="警告\n".encode())
    messages = [{"role": "system", "content": "You are helpful. " * 20}, {"role": "user", "content": "6 × 5?"}]
    for step, exchange in ((1, "x1"), (2, "x2")):
        head = Head(
            method="POST",
            url="http://127.0.0.1:9/v1/chat/completions",
            headers=(("authorization", "Bearer ⟨secret:API_KEY⟩"), ("x-odd", "\udcff")),
        )
        body = json.dumps({"messages": messages}, ensure_ascii=False).encode()
        redacted = (Redaction(where="head", name="API_KEY", length=20),)
        coded = Head(status=200, headers=(("content-encoding", "gzip"),))
        yield replace(llm("request", exchange, body, step=step, head=head), redacted=redacted)
        yield llm("response", exchange, step=step, head=coded)
        yield replace(llm("chunk", exchange, b"\x1f\x8b" + bytes(range(256)), step=step), encoding="gzip")
        yield llm("end", exchange, b'{"reason": "complete", "bytes": 258, "kept": 258}', step=step)
        if step == 1:
            host = Record(wire="host", kind="link", place=CALL)
            yield replace(host, data=LINK.encode())
            yield replace(host, kind="decision", peer="math", data=DECISION.encode())
            yield replace(frame(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n'), place=CALL)
            yield replace(frame(b"x" * 10, direction="in"), place=CALL, malformed="no JSON")
            messages.append({"role": "tool", "content": "30"})


def fill(path: Path) -> None:
    """Write what every kept file holds, by the program as it is now."""
    store = Store.open(path)
    for number in (1, 2):
        recorder = Recorder(store, Redactor(), capture=f"capture-{number}", clock=FixedClock())
        for draft in drafts():
            recorder.append(draft)
        recorder.close()
    store.begin_capture("capture-3", "ask", 1_795_268_701_000_000_000)
    times = 1_795_268_701_000_000_000, 1_795_268_702_000_000_000
    of_model = "demo/openai", "native", "translator", '{"temperature": 0.5}', "{}"
    store.sessions.save(SessionInfo(SESSION, "what's 6 × 5?", "chat", *times, 2, *of_model))
    store.sessions.save(SessionInfo(DRAFT, "", "chat", *times, 0, *of_model, draft="half a que"))
    for turn in (1, 2):
        text, at = json.dumps({"turn": turn, "role": "user", "parts": []}), 1_795_268_703_000_000_000 + turn
        store.sessions.save_message(SESSION, turn - 1, turn=turn, text=text, time_ns=at)
        store.sessions.save_item(SESSION, turn - 1, json.dumps({"item": "user", "turn": turn, "text": "工具"}))
    store.sessions.release(SESSION)
    assert store.close()


def told(store: Store) -> bytes:
    """All that a person can get out of the file again."""
    info = store.sessions.find(SESSION)
    lines = list(jsonl.pieces(info, store.session_records(SESSION), ()))
    lines += [jsonl.record_line(record) for record in store.records()]
    left = next(iter(store.sessions.left(has_turn=False)), None)
    texts = store.sessions.messages(SESSION), [*enumerate(store.session_items(SESSION))], left and (left.id, left.draft)
    return b"".join(lines) + json.dumps(texts, ensure_ascii=False, indent=0).encode() + b"\n"


def restored(form: int, folder: Path) -> Path:
    path = folder / "tui-host.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((GOLDEN / f"store-{form}.sql").read_text(encoding="utf-8"))
    return path


def test_a_file_of_the_kept_form_and_one_of_this_version_give_back_the_same_bytes(tmp_path: Path) -> None:
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
            schemas += [connection.execute("SELECT name, coalesce(sql, '') FROM sqlite_master ORDER BY 1").fetchall()]
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


def test_a_newer_form_and_a_foreign_database_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
