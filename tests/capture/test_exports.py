"""Sessions taken away: byte for byte as JSON lines, readable as Markdown, whatever the foreign text in them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.capture.drafts import SESSION, any_draft, frame, llm
from tests.capture.stores import record, settle
from tui_host.capture.exports import EXPORTS
from tui_host.capture.exports import jsonl_export as jsonl
from tui_host.capture.exports import markdown_export as markdown
from tui_host.capture.record import Draft, Head, Place, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError

GOLDEN = Path(__file__).parent.parent / "golden"
KEY = "sk-canary-0123456789"
INFO = SessionInfo(
    id=SESSION,
    title="what's 6 × 5?",
    created_ns=1_795_268_701_000_000_000,
    updated_ns=1_795_268_709_123_456_000,
    turns=1,
    source="chat",
    live=True,
    model="demo/openai",
    protocol="native",
)
STEP = Place(session=SESSION, turn=1, step=1)
CALL = replace(STEP, call="c1")
ITEMS = (
    {"item": "user", "turn": 1, "text": "what's 6 × 5?"},
    {"item": "answer", "turn": 1, "step": 1, "text": "", "thinking": "tools, then", "state": "done"},
    {
        "item": "call",
        "turn": 1,
        "step": 1,
        "call": "c1",
        "server": "math",
        "tool": "multiply",
        "asked": '{"a":6,"b":5}',
        "sent": '{"a":6,"b":5}',
        "state": "done",
        "words": "approved once, by you, after 2.5 s",
        "result": "30",
    },
    {"item": "answer", "turn": 1, "step": 2, "text": "6 × 5 = **30**", "state": "done"},
    {"item": "summary", "turn": 1, "steps": 2, "calls": 1, "seconds": 3.6},
)


def a_turn() -> Iterator[Draft]:
    request = Head(
        method="POST",
        url="http://127.0.0.1:9/v1/chat/completions",
        headers=(("authorization", f"Bearer {KEY}"), ("content-type", "application/json")),
    )
    ok = Head(status=200, headers=(("content-type", "text/event-stream"),))
    complete = b'{"reason": "complete"}'
    yield frame(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\n')
    yield frame(b'{"jsonrpc":"2.0","id":0,"result":{}}\n', direction="in")
    yield llm("request", "x1", b'{"messages":[{"role":"user","content":"what\'s 6 \xc3\x97 5?"}]}', head=request)
    yield llm("response", "x1", head=ok)
    yield llm("chunk", "x1", b'data: {"delta":"\xe5\xb7')
    yield llm("chunk", "x1", b'\xa5"}\n\n')
    yield llm("end", "x1", complete)
    yield Draft(wire="host", kind="link", place=CALL, data=b'{"relation":"asked"}')
    yield Draft(
        wire="host",
        kind="decision",
        place=CALL,
        data=b'{"server":"math","tool":"multiply","decision":"approved","words":"approved once, by you"}',
    )
    call = b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"multiply"}}\n'
    yield replace(frame(call), place=CALL)
    yield Draft(
        wire="stderr", kind="line", peer="math", direction="in", connection="math#1", data=b"multiplied \x1b[2J\x85\n"
    )
    result = b'{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"30"}]}}\n'
    yield replace(frame(result, direction="in"), place=CALL)
    yield replace(frame(b"oops \xff\n", direction="in"), malformed="not UTF-8 at byte 5")
    yield llm("request", "x2", b'{"messages":[1,2]}', step=2, head=request)
    yield llm("response", "x2", step=2, head=Head(status=200, headers=(("content-encoding", "gzip"),)))
    packed = base64.b64decode("H4sIAAAAAAACA6tWSswrLk8tUrJSMlOoUDBVsFUwNlCqBQCQQBPmFwAAAA==")
    yield replace(llm("chunk", "x2", packed, step=2), encoding="gzip")
    yield llm("end", "x2", complete, step=2)


@pytest.fixture
def recorded(store: Store) -> Store:
    record(store, a_turn(), redactor=Redactor([("API_KEY", KEY)]))
    store.sessions.save(
        SessionInfo(
            id=SESSION,
            title=INFO.title,
            created_ns=INFO.created_ns,
            updated_ns=INFO.updated_ns,
            source="chat",
            model=INFO.model,
            protocol=INFO.protocol,
        )
    )
    for number, item in enumerate(ITEMS):
        store.sessions.save_item(SESSION, number, json.dumps(item, ensure_ascii=False))
    settle(store)
    return store


@pytest.mark.parametrize(("name", "file"), [("jsonl", "session.jsonl"), ("markdown", "session.md")])
def test_an_export_is_byte_for_byte_what_it_was(recorded: Store, name: str, file: str) -> None:
    assert b"".join(EXPORTS[name](recorded, INFO)) == (GOLDEN / file).read_bytes()


@pytest.mark.parametrize("name", EXPORTS)
def test_no_export_contains_a_secret(recorded: Store, name: str) -> None:
    exported = b"".join(EXPORTS[name](recorded, INFO))

    assert b"canary" not in exported
    assert base64.b64encode(KEY.encode())[:20] not in exported


def test_a_vendors_key_known_by_its_form_alone_is_in_no_export(recorded: Store) -> None:
    key = "ghp_0123456789abcdef0123456789abcdef"
    record(recorded, [llm("request", "x3", f'{{"key":"{key}"}}\xff'.encode("latin-1"))], capture="c2")
    recorded.sessions.save_item(SESSION, len(ITEMS), json.dumps({"item": "user", "turn": 1, "text": f"it is {key}"}))
    settle(recorded)

    jsonl_lines, document = (b"".join(EXPORTS[name](recorded, INFO)) for name in ("jsonl", "markdown"))

    last = next(line for line in map(json.loads, jsonl_lines.splitlines()[1:]) if line.get("exchange") == "x3")
    assert base64.b64decode(last["data"]) == '{"key":"⟨secret:vendor-key⟩"}'.encode() + b"\xff"
    assert last["redacted"] == [{"where": "data", "name": "vendor-key", "length": len(key)}]
    assert key.encode() not in document
    assert "it is ⟨secret:vendor-key⟩".encode() in document


def test_bodies_and_frames_come_out_as_the_bytes_they_were(recorded: Store) -> None:
    lines = [json.loads(line) for line in EXPORTS["jsonl"](recorded, INFO)][1:]

    def data(kind: str, exchange: str | None = None) -> bytes:
        found = [line for line in lines if line["kind"] == kind and line.get("exchange") == exchange]
        return b"".join(base64.b64decode(line["data"]) for line in found)

    drafts = list(a_turn())
    assert data("chunk", "x1") == 'data: {"delta":"工"}\n\n'.encode()
    assert data("frame") == b"".join(draft.data for draft in drafts if draft.kind == "frame")
    assert data("request", "x1") == drafts[2].data


def test_nothing_in_a_line_acts_on_a_terminal_or_splits_it() -> None:
    draft = frame("a\x9b2J\u2028b\x7f\u202e\x1b".encode())
    record = Record(capture="c", seq=1, time_ns=1, mono_ns=1, draft=draft)

    line = jsonl.record_line(record)

    assert line.decode().splitlines() == [line.decode().rstrip("\n")]
    assert not any(character in line.decode() for character in "\x9b\x7f\u202e\x1b")
    assert json.loads(line)["text"] == draft.data.decode()


@given(any_draft, st.booleans(), st.integers(0, 2**62), st.integers(0, 2**62))
def test_any_record_survives_its_line(draft: Draft, is_preamble: bool, time_us: int, mono_ns: int) -> None:  # noqa: FBT001 - generated
    time_ns = time_us % (200 * 365 * 86400 * 10**6) * 1000
    record = Record(capture="c1", seq=7, time_ns=time_ns, mono_ns=mono_ns, draft=draft)

    line = jsonl.record_line(record, is_preamble=is_preamble)

    assert jsonl.parse(line, session=SESSION) == (record, is_preamble)
    assert jsonl.record_line(*jsonl.parse(line)[:1], is_preamble=is_preamble) == line


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"{", b'{"capture": 1}', b'{"capture":"c","seq":1,"time":"x","wire":"llm","kind":"end"}']
)
def test_a_line_that_is_no_record_is_told(line: bytes) -> None:
    with pytest.raises(TuiHostError, match="not a record"):
        jsonl.parse(line)


def document(items: Sequence[dict[str, object]], drafts: Sequence[Draft] = ()) -> str:
    records = [
        (Record(capture="c", seq=seq, time_ns=0, mono_ns=0, draft=draft), False) for seq, draft in enumerate(drafts, 1)
    ]
    return b"".join(markdown.pieces(INFO, map(json.dumps, items), records)).decode()


def headings(text: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(text)
    return [after.content for token, after in pairwise(tokens) if token.type == "heading_open" and token.level == 0]


hostile = st.lists(
    st.sampled_from(
        ["```", "~~~", "````md", "\n", "\r", "\r\n", "# no", "<!--", "<script>", "- ", "> ", "    ", "x", "`"]
    ),
    max_size=12,
).map("".join)


@given(hostile, hostile, hostile)
def test_foreign_text_never_breaks_out_of_its_quote_or_fence(said: str, answered: str, sent: str) -> None:
    items: list[dict[str, object]] = [
        {"item": "user", "turn": 1, "text": said},
        {"item": "answer", "turn": 1, "step": 1, "text": answered, "thinking": said, "state": answered},
        {"item": "call", "turn": 1, "step": 1, "server": said, "tool": sent, "asked": answered, "result": sent},
        {"item": "note", "turn": 1, "what": said},
        {"item": "answer", "turn": 1, "step": 2, "text": "end"},
    ]
    drafts = [
        replace(frame(sent.encode() or b"x", session=SESSION), malformed=said or None, peer=sent or "p"),
        replace(frame(answered.encode(), session=SESSION), wire="stderr", kind="line", peer=said or "p"),
    ]

    assert headings(document(items, drafts)) == ["what's 6 × 5?", "Turn 1", "Step 1", "Step 2"]


TITLE = "a_b ![p](http://e.example/x) <img src=//e/x> [go](x) `c` *d* https://e.example www.e.example a@e.example \\* &lt; #"


def test_a_title_is_words_in_its_heading_and_nothing_in_it_acts() -> None:
    """A host's name, an imported file's, or what was asked first."""
    (heading, *_) = markdown.pieces(replace(INFO, title=f"{TITLE} \x1b[41m\u202eX", model="m\x1b[1m\u202e"), [], [])
    inline = MarkdownIt("gfm-like").parse(heading.decode())[1]
    assert {token.type for token in inline.children or ()} <= {"text", "text_special"}
    assert "".join(token.content for token in inline.children or ()) == f"{TITLE} ␛[41m⟨202e⟩X"
    text = b"".join(markdown.pieces(replace(INFO, model="m\x1b[1m\u202e"), [], [])).decode()
    assert "`m␛[1m⟨202e⟩`" in text


def _an_answer(body: bytes, encoding: str) -> str:
    """The document with an answer that has such a body in such a coding."""
    head = Head(status=200, headers=(("content-encoding", encoding),))
    drafts = [llm("response", "x", head=head), replace(llm("chunk", "x", body), encoding=encoding)]
    return document([], drafts)


def test_a_compressed_stream_that_is_cut_is_readable_as_far_as_it_came() -> None:
    coder = zlib.compressobj(wbits=31)
    written = _an_answer(coder.compress(b'data: {"a":1}\n\n') + coder.flush(zlib.Z_SYNC_FLUSH), "gzip")
    assert 'data: {"a":1}' in written
    assert "the compressed body is not complete" in written


def test_a_body_that_is_not_in_the_coding_it_names_is_readable_where_it_is_text() -> None:
    assert 'data: {"a":1}' in _an_answer(b'data: {"a":1}\n\n', "deflate")
    assert "4 bytes that cannot be shown as text: `compress cannot be decoded here`" in _an_answer(
        b"\x1f\x9d\0\1", "compress"
    )


def test_items_that_cannot_be_read_are_left_out() -> None:
    pieces = b"".join(markdown.pieces(INFO, ["{", "[]", "7", '{"item": "later", "turn": 1}'], ())).decode()

    assert pieces.startswith("# what's 6 × 5?\n")


def test_over_http_a_frame_is_shown_once_with_the_exchange_that_carried_it() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'
    head = Head(method="POST", url="http://127.0.0.1:1/mcp")
    sent = replace(frame(body, session=SESSION), exchange="x9")

    text = document([], [replace(sent, kind="request", head=head), sent])

    assert text.count('"method":"tools/call"') == 1
    assert "`POST http://127.0.0.1:1/mcp`" in text
    assert "`tools/call #1`" in text


def test_a_turn_that_has_records_but_no_items_is_still_told_and_why_an_exchange_failed() -> None:
    end = b'{"reason": "cut by peer", "error": "the peer closed the connection", "bytes": 3, "kept": 3}'
    text = document([], [llm("error", "x1", end)])

    assert "## Turn 1: on the wires" in text
    assert "cut by peer the peer closed the connection" in text
