"""Sessions taken away, whole and in parts: as JSON lines, as Markdown, and for programs of others."""

import base64
import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft6Validator
from markdown_it import MarkdownIt

from tests.capture.drafts import SESSION, FixedClock, any_draft, frame, llm
from tests.kit.bodies import text
from tests.kit.peer import peer_in_thread
from tests.opening.captured import seen
from tui_host.capture.exports import jsonl_export as jsonl
from tui_host.capture.exports import markdown_export as markdown
from tui_host.capture.exports.formats import FORMATS
from tui_host.capture.exports.parts import PartOfSession, keys_in_words
from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.link import Link, Span
from tui_host.capture.record import Head, Place, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo
from tui_host.errors import JSON, StoreError

GOLDEN = Path(__file__).parent.parent / "golden"
KEY = "sk-canary-0123456789"
TIMES = 1_795_268_701_000_000_000, 1_795_268_709_123_456_000
INFO = SessionInfo(SESSION, "what's 6 × 5?", "chat", *TIMES, 1, "demo/openai", "native", live=True)
STEP = Place(session=SESSION, turn=1, step=1)


@given(any_draft, st.booleans(), st.integers(0, 2**62), st.integers(0, 2**62))
@example(frame("a\x9b2J\u2028b\x7f\u202e\x1b".encode()), False, 0, 0)
def test_any_record_survives_its_line(draft: Record, is_preamble: bool, time_us: int, mono_ns: int) -> None:  # noqa: FBT001 - generated
    record = replace(draft, capture="c1", seq=7, time_ns=time_us % (200 * 365 * 86400 * 10**6) * 1000, mono_ns=mono_ns)
    line = jsonl.record_line(record, is_preamble=is_preamble)
    assert jsonl.parse(line, session=SESSION) == (record, is_preamble)
    assert jsonl.record_line(*jsonl.parse(line)[:1], is_preamble=is_preamble) == line
    assert len(line.decode().splitlines()) == 1
    assert not {*line.decode()} & {*"\x9b\x7f\u202e\x1b"}, "nothing in it acts on a terminal"


def document(items: Sequence[str], drafts: Sequence[Record] = (), info: SessionInfo = INFO) -> str:
    records = [(replace(each, capture="c", seq=seq, time_ns=0, mono_ns=0), False) for seq, each in enumerate(drafts, 1)]
    return b"".join(markdown.pieces(info, records, items)).decode()


MARKUP = ["```", "~~~", "````md", "\n", "\r", "\r\n", "# no", "<!--", "<script>", "- ", "> ", "    ", "x", "`"]
hostile = st.lists(st.sampled_from(MARKUP), max_size=12).map("".join)


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
    tokens = MarkdownIt("commonmark").parse(document(list(map(json.dumps, items)), drafts))
    headings = [after.content for token, after in pairwise(tokens) if token.type == "heading_open" and not token.level]
    assert headings == ["what's 6 × 5?", "Turn 1", "Step 1", "Step 2"]


TITLE = "a_b ![p](http://e.example/x) <img src=//e/x> [go](x) `c` *d* https://e.example www.e.example a@e.example \\* &lt; #"


def test_a_title_is_words_in_its_heading_and_nothing_in_it_acts() -> None:
    """A host's name, an imported file's, or what was asked first."""
    text = document([], info=replace(INFO, title=f"{TITLE} \x1b[41m\u202eX", model="m\x1b[1m\u202e"))
    heading, below = MarkdownIt("gfm-like").parse(text)[1:5:3]
    assert {token.type for token in heading.children or ()} <= {"text", "text_special"}
    assert "".join(token.content for token in heading.children or ()) == f"{TITLE} ␛[41m⟨202e⟩X"
    assert "`m␛[1m⟨202e⟩`" in below.content


def test_what_is_there_is_shown_once_as_far_as_it_can_be_read() -> None:
    def answer(body: bytes, encoding: str) -> Iterator[Record]:
        yield llm("response", encoding, head=Head(status=200))
        yield replace(llm("chunk", encoding, body), encoding=encoding)

    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'
    sent = replace(frame(body, session=SESSION), exchange="x9")
    carrier = replace(sent, kind="request", head=Head(method="POST", url="http://127.0.0.1:1/mcp"))
    text = document(
        ["{", "[]", "7", '{"item": "later", "turn": 2}'],
        [
            *(carrier, sent),  # over HTTP a frame stands under the exchange that carried it
            *answer(gzip.compress(b'data: {"cut":1}\n\n')[:-9], "gzip"),
            *answer(b'data: {"plain":1}\n\n', "deflate"),
            *answer(b"\x1f\x9d\0\1", "compress"),
            llm("error", "x1", b'{"reason": "cut by peer", "error": "it went away", "bytes": 3, "kept": 3}'),
        ],
    )
    assert "## Turn 2\n\n## Turn 1: on the wires\n" in text, "records without items"
    assert (text.count('"method":"tools/call"'), text.count("`tools/call #1`")) == (1, 1)
    for words in (
        *("`POST http://127.0.0.1:1/mcp`", 'data: {"cut":1}', 'data: {"plain":1}', "cut by peer it went away"),
        "shown as far as they can be read: `the compressed body is not complete`",
        "4 bytes that cannot be shown as text: `compress cannot be decoded here`",
    ):
        assert words in text


# For programs of others, and parts of sessions


SCHEMA = Path(__file__).with_name("har_schema")
HOSTILE = SessionInfo(id=SESSION, title="'; rm -rf ~ #\n\x1b[2J", source="chat", model="demo/openai", protocol="native")
PATH, SHELL = os.environ["PATH"], "/bin/sh"
URL = "http://127.0.0.1:9/v1/chat/completions?api-version=1&q=a%20b"
JSON_TYPE = ("content-type", "application/json")


@dataclass(frozen=True, slots=True)
class Kept:
    drafts: Sequence[Record]
    items: Sequence[Mapping[str, JSON]] = ()

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:  # noqa: ARG002 - there is but one
        clock = FixedClock()
        for seq, draft in enumerate(self.drafts, 1):
            record = replace(draft, capture="c1", seq=seq, time_ns=clock.wall_ns(), mono_ns=clock.mono_ns())
            yield record, draft.connection is not None and draft.place.turn is None and seq < 5

    def session_items(self, session: str) -> Sequence[str]:  # noqa: ARG002 - as above
        return [json.dumps(item, ensure_ascii=False) for item in self.items]

    def told(self, name: str) -> bytes:
        return b"".join(FORMATS[name].export(self, HOSTILE))


def exchange(name: str, body: bytes, answer: bytes, *, url: str = URL, turn: int = 1) -> Iterator[Record]:
    place = replace(STEP, turn=turn)
    drafts = (
        llm("request", name, body, head=Head(method="POST", url=url, headers=(JSON_TYPE, ("x-empty", "")))),
        llm("response", name, head=Head(status=200, headers=(("content-type", "text/event-stream"),))),
        llm("chunk", name, answer[:9]),
        llm("chunk", name, answer[9:]),
        llm("end", name, b'{"reason": "complete"}'),
    )
    return (replace(draft, place=place) for draft in drafts)


def link(relation: str, call: str, turn: int, **span: str | int) -> Record:
    value = {"relation": relation, "call": call, "span": span, "known": "id", "server": "math", "tool": "add"}
    place = Place(session=SESSION, turn=turn, step=1, call=call)
    return Record(wire="host", kind="link", place=place, data=json.dumps(value).encode())


def over_http() -> Iterator[Record]:
    """A call to a server over HTTP, with the frames that its bodies carry."""
    sent = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"find"}}'
    came = b'{"jsonrpc":"2.0","id":7,"result":{"content":[]}}'
    bare = replace(frame(connection="docs#2", session=SESSION), exchange="m1")
    head = Head(method="POST", url="https://docs.example/mcp", headers=(JSON_TYPE,))
    yield replace(bare, kind="request", data=sent, head=head)
    yield replace(bare, data=sent)
    yield replace(bare, kind="response", direction="in", data=b"", head=Head(status=200, headers=(JSON_TYPE,)))
    yield replace(bare, kind="chunk", direction="in", data=came)
    yield replace(bare, direction="in", data=came)
    yield replace(bare, kind="end", direction="in", data=b'{"reason": "cut by peer", "error": "gone"}')


def two_turns() -> Kept:
    """A call in each of two turns, on two of three connections."""
    calls = [replace(STEP, call="1.1.1"), replace(STEP, turn=2, call="2.1.1")]
    drafts: list[Record] = [
        frame(b'{"id":0,"method":"initialize"}\n'),
        frame(b'{"id":0,"method":"initialize"}\n', connection="lab#2"),
        *exchange("x1", b'{"messages":[1]}', b'data: {"a":1}\n\n'),
        link("asked", "1.1.1", 1, exchange="x1"),
        replace(frame(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n'), place=calls[0]),
        Record(wire="stderr", kind="line", peer="math", connection="math#1", data=b"working\n"),
        Record(wire="stderr", kind="line", peer="lab", connection="lab#2", data=b"idle\n"),
        replace(frame(b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n', direction="in"), place=calls[0]),
        *exchange("x2", b'{"messages":[1,2]}', b'data: {"a":2}\n\n', turn=2),
        link("told", "1.1.1", 2, exchange="x2", side="request"),
        link("asked", "2.1.1", 2, exchange="x2"),
        replace(frame(b'{"jsonrpc":"2.0","id":2,"method":"tools/call"}\n', connection="lab#2"), place=calls[1]),
    ]
    items: list[dict[str, JSON]] = [
        {"item": "user", "turn": 1, "text": "one; %% #"},
        {"item": "call", "turn": 1, "step": 1, "call": "1.1.1", "tool": "add"},
        {"item": "user", "turn": 2, "text": "end"},
        {"item": "answer", "turn": 2, "step": 1, "text": "wrap: <b>$$"},
    ]
    return Kept(drafts, items)


ASKED = '{"a":6,"b":5}'
ITEMS: Sequence[Mapping[str, JSON]] = (
    {"item": "user", "turn": 3, "text": "what's 6 × 5?", "origin": "sums", "role": "user"},
    {"item": "answer", "turn": 3, "step": 1, "text": "", "thinking": "tools, then", "state": "done"},
    {"item": "call", "turn": 3, "step": 1, "call": "c1", "server": "math", "tool": "multiply", "asked": ASKED}
    | {"sent": ASKED, "state": "done", "words": "approved once, by you, after 2.5 s", "result": "30"},
    {"item": "note", "what": "it is slow", "remedy": "wait"},
    {"item": "answer", "turn": 3, "step": 2, "text": "6 × 5 = **30**", "state": "cut off"},
    {"item": "summary", "turn": 3, "steps": 2, "calls": 1, "seconds": 3.6},
)


def everything() -> Kept:
    """Two turns and a call over HTTP, and in a third turn what else there is."""
    place = replace(STEP, turn=3)
    decision = b'{"server":"math","tool":"multiply","decision":"approved","words":"approved once, by you"}'
    packed = base64.b64decode("H4sIAAAAAAACA6tWSswrLk8tUrJSMlOoUDBVsFUwNlCqBQCQQBPmFwAAAA==")
    key = Head(method="POST", url=f"{URL}&key={KEY}", headers=(("authorization", f"Bearer {KEY}"), JSON_TYPE))
    drafts = [
        llm("request", "x3", f'{{"messages":["6 × 5?","{KEY}"]}}'.encode(), head=key),
        llm("response", "x3", head=Head(status=200, headers=(("content-encoding", "gzip"),))),
        replace(llm("chunk", "x3", packed), encoding="gzip"),
        llm("end", "x3", b'{"reason": "complete"}'),
        Record(wire="host", kind="decision", place=replace(place, call="c1"), data=decision),
        Record(wire="stderr", kind="line", peer="math", connection="math#1", data=b"multiplied \x1b[2J\x85\n"),
        replace(frame(b"oops \xff\n", direction="in"), malformed="not UTF-8 at byte 5"),
    ]
    redactor = Redactor([("API_KEY", KEY)])
    third = (redactor.record(replace(draft, place=place) if draft.wire == "llm" else draft) for draft in drafts)
    return Kept([*two_turns().drafts, *over_http(), *third], [*two_turns().items, *ITEMS])


@pytest.mark.parametrize(("name", "file"), [("jsonl", "session.jsonl"), ("markdown", "session.md")])
def test_an_export_is_byte_for_byte_what_it_was(name: str, file: str) -> None:
    assert b"".join(FORMATS[name].export(everything(), INFO)) == (GOLDEN / file).read_bytes()


def test_an_archive_of_both_lanes_is_valid_by_the_schema_of_others() -> None:
    """The schema is `har-schema` 2.0.0 from npm."""
    kept = Kept([*exchange("x1", "{'é'}".encode(), b"data: 1\xff\n\n"), *over_http(), *two_turns().drafts[:2]])
    log = json.loads(kept.told("har"))["log"]
    schemas = {schema["$id"]: schema for schema in (json.loads(path.read_bytes()) for path in SCHEMA.glob("*.json"))}
    validator = Draft6Validator({"allOf": [{"$ref": "har.json#"}], "definitions": schemas})
    faults = validator.iter_errors({"log": log})  # pyright: ignore[reportUnknownMemberType]
    assert [fault.message for fault in faults] == []
    model, server = log["entries"]
    request, response = mapping(model["request"]), mapping(model["response"])
    assert request["postData"] == {"mimeType": "application/json", "text": "{'é'}"}
    assert items(request["queryString"])[1] == {"name": "q", "value": "a b"}
    assert base64.b64decode(text_or_empty(mapping(response["content"])["text"])) == b"data: 1\xff\n\n"
    assert model["timings"] == {"send": 0, "wait": 0.25, "receive": 0.75}
    assert (server["_wire"], mapping(server["response"])["_error"]) == ("mcp", "cut by peer gone")
    assert [each["peer"] for each in log["_frames"]] == ["math", "lab"]
    for wire, kind in (("llm", "request"), ("llm", "chunk"), ("mcp", "request")):  # read back to the same bodies
        bodies = [
            b"".join(draft.data for draft in some if (draft.wire, draft.kind) == (wire, kind))
            for some in (seen(kept.told("har"), "x.har"), kept.drafts)
        ]
        assert bodies[0] == bodies[1]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_script_sends_every_request_again_byte_for_byte_with_the_credential_of_the_environment() -> None:
    bodies = [
        b'{"quote":"it\'s $HOME `id` \\n %s !x","nl":"\n\t"}',
        '{"天气":"🌦","pad":"'.encode() + b"x" * 200_000 + b'"}',
        b"\x00\xff\x1b'%d\\7" + "\u202e".encode(),
    ]
    with peer_in_thread(text("a"), text("b"), text("c")) as peer:
        drafts = [
            replace(
                llm("request", f"x{number}", body),
                head=Head(
                    method="POST",
                    url=f"{peer.url}/chat?key={KEY}",
                    headers=(("Host", "x"), ("Authorization", f"Bearer {KEY}"), ("X-It's", "a 'b'"), JSON_TYPE),
                ),
            )
            for number, body in enumerate(bodies)
        ]
        redactor = Redactor([("MY_KEY", KEY)])
        script = Kept([redactor.record(draft) for draft in drafts]).told("curl")
        assert KEY.encode() not in script
        unset = subprocess.run([SHELL], input=script, capture_output=True, check=False)
        assert (unset.returncode != 0, b"MY_KEY" in unset.stderr, peer.requests) == (True, True, [])
        done = subprocess.run([SHELL], input=script, capture_output=True, check=True, env={"MY_KEY": KEY, "PATH": PATH})
        assert done.stderr == b""
    assert peer.bodies == bodies
    for request in peer.requests:
        first, *lines = request.head.decode().split("\r\n")
        assert first == f"POST /v1/chat?key={KEY} HTTP/1.1"
        assert {f"Authorization: Bearer {KEY}", "X-It's: a 'b'", "content-type: application/json"} <= {*lines}


def test_a_diagram_has_who_spoke_and_no_text_that_mermaid_acts_on() -> None:
    diagram = two_turns().told("mermaid").decode()
    names = ("you as You", "host as Host", "p0 as demo", "p1 as math", "p2 as lab")
    assert diagram.splitlines()[:6] == ["sequenceDiagram", *(f"  participant {name}" for name in names)]
    assert "  you->>host: one#59; #37;#37; #35;\n" in diagram
    assert "  you->>host: #101;nd\n" in diagram
    assert "  host->>you: #119;rap: #60;b#62;#36;#36;\n" in diagram
    assert "  p0-->>host: 200 asks math.add\n" in diagram
    assert "  Note over p1: stderr working\n" in diagram


def numbers_of(part: PartOfSession) -> list[int]:
    return [record.seq for record, _ in part.session_records(SESSION)]


def items_of(part: PartOfSession) -> list[str]:
    return [json.loads(item)["item"] for item in part.session_items(SESSION)]


def test_a_turn_or_a_row_has_its_records_and_the_start_of_the_connections_that_it_used() -> None:
    kept = two_turns()
    first, second = (PartOfSession(kept, turn=turn) for turn in (1, 2))
    assert (numbers_of(first), items_of(first)) == ([1, *range(3, 11), 12], ["user", "call"])
    assert (numbers_of(second), items_of(second)) == ([2, *range(13, 21)], ["user", "answer"])
    row, alone = (PartOfSession(kept, keys=frozenset({("c1", seq)})) for seq in (5, 9))
    assert (numbers_of(row), items_of(row), numbers_of(alone)) == ([*range(3, 9)], [], [1, 9])
    with pytest.raises(StoreError, match="there is no turn 3"):
        numbers_of(PartOfSession(kept, turn=3))


def test_a_call_has_its_decision_its_frames_and_the_exchanges_that_asked_for_it_and_told_it() -> None:
    """Also where a story has joined them: the links come last, and frames name no call."""
    kept = two_turns()
    call = PartOfSession(kept, call="1.1.1")
    assert (numbers_of(call), items_of(call)) == ([1, *range(3, 11), *range(12, 19)], ["call"])
    bare = [replace(draft, place=replace(draft.place, call=None)) for draft in kept.drafts if draft.kind != "link"]
    sent = Link(relation="sent", call="1.1.1", span=Span(seq=8), server="math").to_bytes()
    story = Kept([*bare, link("asked", "1.1.1", 1, exchange="x1"), Record(wire="host", kind="link", data=sent)])
    assert numbers_of(PartOfSession(story, call="1.1.1")) == [1, *range(3, 9), 18, 19]
    with pytest.raises(StoreError, match="there is no call x"):
        numbers_of(PartOfSession(story, call="x"))


def test_texts_that_look_like_keys_are_counted_and_masked_in_every_format() -> None:
    key = "ghp_0123456789abcdef0123456789abcdef"
    cut = f'data: {key}"}}\n\n'.encode()
    bare = frame(f'{{"key":"{key}"}}\xff\n'.encode("latin-1"), session=SESSION)
    kept = Kept([*exchange("x1", b"{}", cut), bare], [{"item": "user", "turn": 1, "text": f"it is {key}"}])
    assert keys_in_words(Kept([]), SESSION) == ""
    for some in (kept, Kept(kept.drafts[-1:]), Kept(kept.drafts[:-1])):
        assert keys_in_words(some, SESSION).startswith("1 text looks like a key of a vendor: ⟨secret:vendor-key⟩ is")
    for name in FORMATS:
        assert kept.told(name).count(key.encode()) == (1 if name == "raw" else 0), name
    last = json.loads(kept.told("jsonl").splitlines()[-1])
    assert base64.b64decode(last["data"]) == '{"key":"⟨secret:vendor-key⟩"}'.encode() + b"\xff\n"
    assert last["redacted"] == [{"where": "data", "name": "vendor-key", "length": len(key)}]
    assert "it is ⟨secret:vendor-key⟩" in kept.told("markdown").decode()
