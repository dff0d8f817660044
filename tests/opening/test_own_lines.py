"""Sessions of our own that come back from a file: line for line, with their chat, or told what is broken."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.capture.drafts import frame
from tests.opening.captured import ASK, ASKS, CHAT, stream
from tests.opening.imports import GOLDEN, SESSION, exported, info, links, made, recorded, written
from tui_host.capture.exports.formats import FORMATS
from tui_host.capture.exports.parts import PartOfSession
from tui_host.capture.link import Link, Span
from tui_host.capture.record import Head, Place, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError
from tui_host.opening.bodies import to_json
from tui_host.opening.importing import import_files


def test_a_session_and_its_parts_come_out_again_line_for_line_each_time(store: Store, tmp_path: Path) -> None:
    first, second = import_files(store, [GOLDEN], Redactor()), import_files(store, [GOLDEN], Redactor())
    assert first.id == SESSION
    assert second.id != first.id
    assert exported(store, first.id) == exported(store, second.id) == GOLDEN.read_bytes()
    assert {info.listed_source for info in store.sessions.list()} == {"import"}
    for turn, call in ((1, None), (None, "1.1.1")):
        part = PartOfSession(store, turn=turn, call=call)
        lines = b"".join(FORMATS["jsonl"].export(part, store.sessions.find(first.id)))
        assert 4 < lines.count(b"\n") <= GOLDEN.read_bytes().count(b"\n")
        assert exported(store, import_files(store, [written(tmp_path, "part.jsonl", lines)], Redactor()).id) == lines


def test_several_captures_come_out_in_the_same_order(store: Store, there: Store, tmp_path: Path) -> None:
    own, other = SESSION, "20261121-134501-other"
    call = frame(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n', session=own)
    plain, theirs = frame(b'{"jsonrpc":"2.0","method":"x"}\n'), frame(session=other, connection="math#1")
    request = Record(wire="llm", kind="request", peer="demo", exchange="x1", place=call.place, data=b"{}")
    tries = [request, replace(request, kind="error", data=b""), replace(request, exchange="x2")]
    # in the first capture the session used no server, so that the second one's preamble comes first of all
    recorded(there, "b-capture", tries)
    recorded(there, "a-capture", [plain, theirs, plain, call, plain, theirs, plain])
    made(there, info())
    before = exported(there, own)
    assert before.count(b'"preamble":true') == 2
    assert exported(store, import_files(store, [written(tmp_path, "own.jsonl", before)], Redactor()).id) == before


PLAIN = b'{"capture":"c1","seq":9,"time":"2026-11-21T13:45:01Z","wire":"llm","kind":"end"}'
UNSTORABLE = "its capture, its seq or another number cannot be stored"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"capture":"c1"', "this is not a record: Expecting ',' delimiter"),
        (b"stray \xff words", "this is not a record: 'utf-8' codec can't decode"),
        (b'{"tui_host":1,"session":', "this is not a session's line: Expecting value"),
        (PLAIN.replace(b"c1", b"../c1"), UNSTORABLE),
        (PLAIN.replace(b"c1", b"c2").replace(b"9,", b'9,"mono":99999999999999999999,'), UNSTORABLE),
        (PLAIN.replace(b'"end"', b'"run"'), "its kind is none that is known"),
        (PLAIN.replace(b"01Z", b"01"), "its time is no time with a zone"),
        (PLAIN.replace(b"}", b',"data":"="}'), "a record: its data is no base64"),
        (PLAIN.replace(b"}", b',"head":{"headers":[["a"]]}}'), "a header in it is no name with a value"),
        pytest.param(b'{"seq":' + b"9" * 5000 + b"}", "a record: Exceeds the limit", id="many digits"),
        (b'{"tui_host":1,"session":{"created":"soon"}}', "this is not a session's line: its created is no time"),
        (GOLDEN.read_bytes().splitlines()[-1], UNSTORABLE),
        (b"[" * 100_000, "this is not a record: maximum recursion depth"),
    ],
)
def test_a_line_that_is_no_record_is_named(store: Store, tmp_path: Path, line: bytes, words: str) -> None:
    path = written(tmp_path, "own.jsonl", GOLDEN.read_bytes() + line + b"\n")
    with pytest.raises(TuiHostError) as error:
        import_files(store, [path], Redactor())
    assert words in error.value.what
    assert "Error" not in error.value.what
    assert error.value.where == "own.jsonl, line 35"
    assert [each.id for each in store.sessions.list()] == ([] if b"tui_host" in line else [SESSION])


MODEL_HEAD = Head(method="POST", url="http://127.0.0.1:9/v1/chat/completions")
ASKED = Record(
    wire="llm", kind="request", peer="demo", exchange="x1", direction="out", head=MODEL_HEAD, data=to_json(CHAT)
)
EXCHANGE = [
    ASKED,
    replace(ASKED, kind="response", head=Head(status=200), direction="in", data=b""),
    replace(ASKED, kind="chunk", head=None, data=stream(ASKS).encode(), direction="in"),
    replace(ASKED, kind="end", head=None, data=b'{"reason": "complete"}', direction="in"),
]


@pytest.mark.parametrize("files", [1, 2])
def test_logs_of_taps_are_one_story_also_cut(store: Store, there: Store, tmp_path: Path, files: int) -> None:
    call = to_json({**ASK, "params": {"name": "add", "arguments": {"a": 1}}}) + b"\n"
    texts: list[bytes] = []
    for name, drafts in {
        "20261121-134501-model": EXCHANGE,
        "20261121-134501-serve": [frame(call, session=None), frame(b"[]\n" * 20, session=None)],
    }.items():
        recorded(there, name, [replace(draft, place=Place(session=name)) for draft in drafts])
        made(there, info("tap", name))
        texts.append(exported(there, name))
    texts[1] = texts[1][:-30]
    told = ["tap{}.jsonl, line 3 breaks off: left out."]
    if files == 1:  # in which each of two taps was killed
        texts = [b"".join((texts[0], texts[0].splitlines()[-1][:50], b"\n", texts[1]))]
        told = [f"tap{{}}.jsonl, line {line} breaks off: left out." for line in (6, 9)]
    paths = [written(tmp_path, f"tap{number}.jsonl", text) for number, text in enumerate(texts)]
    imported = import_files(store, paths, Redactor())
    assert imported.notices == [words.format(files - 1) for words in told]
    assert links(store, imported.id) == ["asked", "sent"]
    with pytest.raises(TuiHostError, match="a session that is no tap's is read alone"):
        import_files(store, [GOLDEN, *paths], Redactor())


def test_a_chat_has_its_own_turns_calls_and_decisions(store: Store, there: Store, tmp_path: Path) -> None:
    step, call = (Place(session=SESSION, turn=3, step=1, call=call) for call in (None, "3.1.1"))
    link = Link(relation="asked", call="3.1.1", span=Span(exchange="x1"), server="math", tool="add")
    decision = b'{"server":"math","tool":"add","decision":"rejected","by":"person","words":"rejected by you"}'
    decided = [Record(wire="host", kind="link", place=call, data=link.to_bytes())]
    decided.append(Record(wire="host", kind="decision", place=call, data=decision))
    recorded(there, "c1", [*(replace(record, place=step) for record in EXCHANGE), *decided])
    made(there, info())
    imported = import_files(store, [written(tmp_path, "own.jsonl", exported(there, SESSION))], Redactor())
    items = [json.loads(text) for text in store.session_items(imported.id)]
    assert [(item["item"], item["turn"]) for item in items] == [("user", 3), ("call", 3)]
    told = ("call", "server", "tool", "state", "by", "words")
    assert [items[1][name] for name in told] == ["3.1.1", "math", "add", "rejected", "person", "rejected by you"]
