"""Sessions taken away for programs of others: archives, scripts, diagrams and bytes, and parts of sessions."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from jsonschema import Draft6Validator

from tests.capture.drafts import SESSION, FixedClock, frame, llm
from tests.kit.bodies import text
from tests.kit.peer import peer_in_thread
from tests.opening.captured import seen
from tui_host.capture.exports import EXPORTS
from tui_host.capture.exports.exported import keys_in_words
from tui_host.capture.exports.part_of_session import PartOfSession
from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.link import Link, Span
from tui_host.capture.record import Draft, Head, Place, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo
from tui_host.errors import JSON, StoreError

SCHEMA = Path(__file__).with_name("har_schema")
INFO = SessionInfo(id=SESSION, title="'; rm -rf ~ #\n\x1b[2J", source="chat", model="demo/openai", protocol="native")
STEP = Place(session=SESSION, turn=1, step=1)
URL = "http://127.0.0.1:9/v1/chat/completions?api-version=1&q=a%20b"
JSON_TYPE = ("content-type", "application/json")


@dataclass(frozen=True, slots=True)
class Kept:
    """Records and items in memory, as a store gives them."""

    drafts: Sequence[Draft]
    items: Sequence[Mapping[str, JSON]] = ()

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:  # noqa: ARG002 - there is but one
        clock = FixedClock()
        for seq, draft in enumerate(self.drafts, 1):
            record = Record(capture="c1", seq=seq, time_ns=clock.wall_ns(), mono_ns=clock.mono_ns(), draft=draft)
            yield record, draft.connection is not None and draft.place.turn is None and seq < 5

    def session_items(self, session: str) -> Sequence[str]:  # noqa: ARG002 - as above
        return [json.dumps(item, ensure_ascii=False) for item in self.items]

    def told(self, name: str) -> bytes:
        return b"".join(EXPORTS[name](self, INFO))


def exchange(name: str, body: bytes, answer: bytes, *, url: str = URL, turn: int = 1) -> Iterator[Draft]:
    """A request to a model and its answer."""
    place = replace(STEP, turn=turn)
    drafts = (
        llm("request", name, body, head=Head(method="POST", url=url, headers=(JSON_TYPE, ("x-empty", "")))),
        llm("response", name, head=Head(status=200, headers=(("content-type", "text/event-stream"),))),
        llm("chunk", name, answer[:9]),
        llm("chunk", name, answer[9:]),
        llm("end", name, b'{"reason": "complete"}'),
    )
    return (replace(draft, place=place) for draft in drafts)


def link(relation: str, call: str, turn: int, **span: str | int) -> Draft:
    value = {"relation": relation, "call": call, "span": span, "known": "id", "server": "math", "tool": "add"}
    place = Place(session=SESSION, turn=turn, step=1, call=call)
    return Draft(wire="host", kind="link", place=place, data=json.dumps(value).encode())


def over_http() -> Iterator[Draft]:
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
    drafts: list[Draft] = [
        frame(b'{"id":0,"method":"initialize"}\n'),
        frame(b'{"id":0,"method":"initialize"}\n', connection="lab#2"),
        *exchange("x1", b'{"messages":[1]}', b'data: {"a":1}\n\n'),
        link("asked", "1.1.1", 1, exchange="x1"),
        replace(frame(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n'), place=calls[0]),
        Draft(wire="stderr", kind="line", peer="math", connection="math#1", data=b"working\n"),
        Draft(wire="stderr", kind="line", peer="lab", connection="lab#2", data=b"idle\n"),
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


def har(kept: Kept) -> dict[str, list[dict[str, JSON]]]:
    archive = json.loads(kept.told("har"))
    schemas = [json.loads(path.read_bytes()) for path in SCHEMA.glob("*.json")]
    validator = Draft6Validator(
        {"allOf": [{"$ref": "har.json#"}], "definitions": {each["$id"]: each for each in schemas}}
    )
    assert [error.message for error in validator.iter_errors(archive)] == []  # pyright: ignore[reportUnknownMemberType]
    return archive["log"]


def test_an_archive_of_both_lanes_is_valid_by_the_schema_of_others() -> None:
    """The schema is `har-schema` 2.0.0 from npm."""
    log = har(Kept([*exchange("x1", "{'é'}".encode(), b"data: 1\xff\n\n"), *over_http(), *two_turns().drafts[:2]]))
    model, server = log["entries"]
    request, response = mapping(model["request"]), mapping(model["response"])
    assert request["postData"] == {"mimeType": "application/json", "text": "{'é'}"}
    assert items(request["queryString"])[1] == {"name": "q", "value": "a b"}
    content = text_or_empty(mapping(response["content"])["text"])
    assert base64.b64decode(content) == b"data: 1\xff\n\n"
    assert model["timings"] == {"send": 0, "wait": 0.25, "receive": 0.75}
    assert (server["_wire"], mapping(server["response"])["_error"]) == ("mcp", "cut by peer gone")
    assert [each["peer"] for each in log["_frames"]] == ["math", "lab"]


def test_an_archive_is_read_back_to_the_same_bodies() -> None:
    kept = Kept([*exchange("x1", b'{"messages":[]}', 'data: {"a":"工"}\n\n'.encode()), *over_http()])
    drafts = [each.draft for each in seen(kept.told("har"), names=("x.har",))]
    for wire, kind in (("llm", "request"), ("llm", "chunk"), ("mcp", "request"), ("mcp", "frame")):
        bodies = [
            b"".join(draft.data for draft in some if (draft.wire, draft.kind) == (wire, kind))
            for some in (drafts, kept.drafts)
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
        script = Kept([redactor.draft(draft) for draft in drafts]).told("curl")
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


def test_raw_is_the_bytes_of_bodies_and_frames_in_order() -> None:
    drafts = [*exchange("x1", b"{}", b"data: 12345\n\n"), *over_http(), frame(b"{}\n"), frame(b"no \xff\n")]
    once = [draft.data for draft in over_http() if draft.kind in {"request", "chunk"}]
    assert Kept(drafts).told("raw") == b"".join([b"{}data: 12345\n\n", *once, b"{}\nno \xff\n"])


def test_a_diagram_has_who_spoke_and_no_text_that_mermaid_acts_on() -> None:
    kept = two_turns()
    diagram = kept.told("mermaid").decode()
    assert diagram.splitlines()[:6] == [
        "sequenceDiagram",
        "  participant you as You",
        "  participant host as Host",
        "  participant p0 as demo",
        "  participant p1 as math",
        "  participant p2 as lab",
    ]
    assert "  you->>host: one#59; #37;#37; #35;\n" in diagram
    assert "  you->>host: #101;nd\n" in diagram
    assert "  host->>you: #119;rap: #60;b#62;#36;#36;\n" in diagram
    assert "  p0-->>host: 200 asks math.add\n" in diagram
    assert "  Note over p1: stderr working\n" in diagram


def records_of(part: PartOfSession) -> list[tuple[str, str]]:
    return [
        (record.draft.kind, record.draft.exchange or record.draft.connection or "")
        for record, _ in part.session_records(SESSION)
    ]


WHOLE = [(kind, "x1") for kind in ("request", "response", "chunk", "chunk", "end")]


def test_a_turn_has_its_records_and_the_start_of_the_connections_that_it_used() -> None:
    kept = two_turns()
    first, second = (PartOfSession(kept, turn=turn) for turn in (1, 2))
    frames = [("frame", "math#1"), ("line", "math#1"), ("frame", "math#1")]
    assert records_of(first) == [("frame", "math#1"), *WHOLE, ("link", ""), *frames]
    assert records_of(second)[0] == ("frame", "lab#2")
    assert ("line", "lab#2") not in records_of(second)
    assert [json.loads(item)["item"] for item in first.session_items(SESSION)] == ["user", "call"]
    with pytest.raises(StoreError, match="there is no turn 3"):
        records_of(PartOfSession(kept, turn=3))


def test_a_call_has_its_decision_its_frames_and_the_exchanges_that_asked_for_it_and_told_it() -> None:
    """Also where a story has joined them: the links come last, and frames name no call."""
    kept = two_turns()
    call = PartOfSession(kept, call="1.1.1")
    asked = [("frame", "math#1"), *WHOLE, ("link", "")]
    frames = [("frame", "math#1"), ("line", "math#1"), ("frame", "math#1")]
    told = [(kind, "x2") for kind, _ in WHOLE]
    assert records_of(call) == [*asked, *frames, *told, ("link", "")]
    assert [json.loads(item)["call"] for item in call.session_items(SESSION)] == ["1.1.1"]
    bare = [replace(draft, place=replace(draft.place, call=None)) for draft in kept.drafts if draft.kind != "link"]
    sent = Link(relation="sent", call="1.1.1", span=Span(seq=8), server="math").to_bytes()
    story = Kept([*bare, link("asked", "1.1.1", 1, exchange="x1"), Draft(wire="host", kind="link", data=sent)])
    assert records_of(PartOfSession(story, call="1.1.1")) == [
        ("frame", "math#1"),
        *WHOLE,
        ("frame", "math#1"),
        ("link", ""),
        ("link", ""),
    ]
    with pytest.raises(StoreError, match="there is no call x"):
        records_of(PartOfSession(story, call="x"))


def test_rows_have_their_exchanges_whole_or_their_own_records_and_no_chat() -> None:
    kept = two_turns()
    exchange_of_row = PartOfSession(
        kept, keys=frozenset({next(r.key for r, _ in kept.session_records(SESSION) if r.draft.exchange == "x1")})
    )
    assert records_of(exchange_of_row) == [*WHOLE, ("link", "")]
    frame_alone = PartOfSession(kept, keys=frozenset({("c1", 9)}))
    assert records_of(frame_alone) == [("frame", "math#1"), ("frame", "math#1")], "and how the server was started"
    assert exchange_of_row.session_items(SESSION) == []


def test_texts_that_look_like_keys_are_counted_and_masked_in_every_format() -> None:
    key = "ghp_0123456789abcdef0123456789abcdef"
    cut = f'data: {key}"}}\n\n'.encode()
    kept = Kept([*exchange("x1", b"{}", cut), frame(f'{{"key":"{key}"}}\n'.encode(), session=SESSION)])
    assert keys_in_words(Kept([]), SESSION) == ""
    assert keys_in_words(Kept(kept.drafts[-1:]), SESSION) == (
        "1 text looks like a key of a vendor: ⟨secret:vendor-key⟩ is written instead"
    )
    assert "1 of them stand in compressed or cut bodies" in keys_in_words(kept, SESSION)
    for name in EXPORTS:
        left = kept.told(name).count(key.encode())
        assert left == (1 if name == "raw" else 0), name


KEY = "sk-canary-0123456789"
PATH = os.environ["PATH"]
SHELL = "/bin/sh"
