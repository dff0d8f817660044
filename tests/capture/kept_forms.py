"""Files as each version of the program wrote them, kept as SQL; what goes into one, and what must come out again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tests.capture.drafts import SESSION, FixedClock, frame, llm
from tui_host.capture.exports import jsonl_export as jsonl
from tui_host.capture.record import Head, Place, Record, Redaction
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.store import Store

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
