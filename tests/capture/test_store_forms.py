"""The database's form: a file of each form to be kept opens, with the same bytes out; an older one is set aside."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.capture.drafts import SESSION, FixedClock, frame, llm
from tests.capture.stores import assert_sound, kept, record
from tui_host.capture.exports import jsonl_export as jsonl
from tui_host.capture.record import Head, Place, Record, Redaction
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store import schema
from tui_host.capture.store.database import OlderFormError
from tui_host.capture.store.schema import FORM
from tui_host.capture.store.store import Store
from tui_host.errors import SettingsError, StoreError

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
    left = store.sessions.left_draft()
    items = [*enumerate(store.sessions.item_texts(SESSION))]
    texts = store.sessions.messages(SESSION), items, left and (left.id, left.draft)
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
