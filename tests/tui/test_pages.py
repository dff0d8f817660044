"""The pages of the details, each whole as it is drawn, against `tests/golden/pages.txt`.

After a change that is meant: `UPDATE_PICTURES=1 pytest tests/tui/test_pages.py`, then read the difference.
"""

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from rich.cells import cell_len

from tests.llm.protocols.answers import PLAIN, TOOLS
from tests.tui.inspector_wires import (
    CALL,
    MESSAGES,
    TOOL,
    Wires,
    a_turn,
    asking,
    begun,
    drawn,
    events_of,
    request_body,
    row_of,
    to_json,
)
from tests.tui.still import UPDATE
from tui_host.answers.masks import Mask
from tui_host.answers.request_weights import LISTS
from tui_host.answers.wires import Section
from tui_host.capture.connection_end import connection_end
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link, Span
from tui_host.capture.record import Head, Place, Record, Redaction
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import JSON
from tui_host.llm.protocols.table import protocol
from tui_host.llm.protocols.text_protocol import TextProtocol
from tui_host.settings.schema import Price
from tui_host.tui.widgets.details.tabs import OF_SECTIONS, page_of

GOLDEN = Path(__file__).parent.parent / "golden" / "pages.txt"
SESSION = Section(is_session=True)
PACKED = bytes.fromhex("1f8b0800000000000203ab56cacf56b22a292a4dad0500905fd4a70b000000")
"""`{"ok":true}` in gzip."""
USAGE: JSON = {
    "choices": [],
    "usage": {
        "prompt_tokens": 120,
        "completion_tokens": 48,
        "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 9},
        "completion_tokens_details": {"reasoning_tokens": 16},
    },
}
Scene = Callable[[Wires], Mapping[str, Row | Section]]
SCENES: dict[str, Scene] = {}
"""What happens on the wires; gives what is looked at, by its tab and a word on it."""


def scene(make: Scene) -> Scene:
    SCENES[make.__name__.replace("_", " ")] = make
    return make


def asked(wires: Wires, *bodies: bytes) -> Row:
    return [wires.request(body, number, exchange=f"x{number}") for number, body in enumerate(bodies)][-1]


def answered(wires: Wires, exchange: str, at: float, *, step: int, body: bytes) -> None:
    request = wires.request(body, at, exchange=exchange, step=step)
    *events, last = events_of({"role": "assistant", "content": "30"})
    wires.end(wires.response(request, at + 0.1, *events, b"data: " + to_json(USAGE) + b"\n\n", last), at + 0.5)


def answering(wires: Wires, *chunks: bytes, status: int = 200, encoding: str | None = None) -> Row:
    request = wires.request(request_body(MESSAGES), 1.0, exchange="x")
    return wires.response(request, 1.1, *chunks, status=status, encoding=encoding)


def answer(what: str, *chunks: bytes, ended: float = 0.0, status: int = 200, encoding: str | None = None) -> Scene:
    def make(wires: Wires) -> Mapping[str, Row | Section]:
        row = answering(wires, *chunks, status=status, encoding=encoding)
        return {what: wires.end(row, ended) if ended else row}

    return make


def changes(*bodies: bytes, what: str = "Changes") -> Scene:
    return lambda wires: {what: asked(wires, *bodies)}


def function(name: str, description: str) -> JSON:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": {}}}


@scene
def calls_decided_by_a_person_a_rule_and_a_flag(wires: Wires) -> Mapping[str, Row | Section]:
    done: JSON = {"content": []}
    wrong: JSON = {"content": [{"type": "text", "text": "no such number"}], "isError": True}
    wires.decision(0.1, call="1.1.1", by="person", decision="approved")
    wires.decision(
        0.2, "edited and approved, by you", call="1.1.2", by="person", decision="edited", sent={"a": 6, "b": 7}
    )
    wires.decision(0.3, "rejected by you after 0.3 s: no", call="1.1.3", by="person", decision="rejected")
    wires.decision(0.4, "allowed by the rule math.* in rules.toml", call="1.1.4", by="rule", decision="approved")
    wires.decision(0.5, "allowed by --yes", call="1.1.5", by="flag", decision="approved")
    for number, result in ((1, done), (2, wrong), (4, done), (5, None)):
        wires.calls(number, number, result=result, call=f"1.1.{number}")
    wires.append(connection_end("math", "n1", "exited 1"), 6.0)
    return {"Calls of the session": SESSION}


@scene
def a_turn_with_a_call(wires: Wires) -> Mapping[str, Row | Section]:
    a_turn(wires)
    first, second = row_of(wires, "request"), row_of(wires, "request", 1)
    answer, decision = row_of(wires, "response"), row_of(wires, "decision")
    return {
        "Parts of the first request": first,
        "Parts of the second request": second,
        "Parts of the answer": answer,
        "Changes of the first request": first,
        "Changes of the second request": second,
        "Headers of the request": first,
        "Events of the answer": answer,
        "Decision of a person": decision,
        "Chain of the call": decision,
        "Bill of the session": SESSION,
        "Tools of the session": SESSION,
        "Time of the session": SESSION,
    }


@scene
def a_secret_that_is_spelled_over_two_events(wires: Wires) -> Mapping[str, Row | Section]:
    wires.hide = Mask(lambda: Redactor([("KEY", "hunter2-hunter2")]))
    row = answering(wires, *events_of({"content": "x" * 195 + "hunter2"}, {"content": "-hunter2"}))
    return {"Parts with its mask": wires.end(row, 1.3)}


def zipped(*pieces: bytes) -> list[bytes]:
    """The chunks of a gzip body that is flushed behind each piece, as services do that stream."""
    zipping = zlib.compressobj(wbits=31)
    coded = [zipping.compress(piece) + zipping.flush(zlib.Z_SYNC_FLUSH) for piece in pieces]
    return [*coded[:-1], coded[-1] + zipping.flush()]


@scene
def a_schema_that_was_adapted(wires: Wires) -> Mapping[str, Row | Section]:
    body = request_body(MESSAGES)
    row = wires.request(body, 1.0, exchange="x")
    start = body.index(to_json(TOOL))
    span = Span(exchange="x", side="request", layer="wire", start=start, end=start + len(to_json(TOOL)))
    link = Link(relation="adapted", call="", span=span, words="adapted for openai: left out: oneOf")
    wires.append(Record(wire="host", kind="link", data=link.to_bytes()), 1.0)
    return {"Parts with its tool open": row}


A, B, C = (function(name, f"does {name}") for name in "abc")


@scene
def prefixes_that_break(wires: Wires) -> Mapping[str, Row | Section]:
    noon: JSON = {"role": "system", "content": "You are helpful. It is 12:00."}
    later: JSON = {"role": "system", "content": "You are helpful. It is 12:05."}
    more: JSON = {"role": "user", "content": "and now?"}
    answered(wires, "x1", 1.0, step=1, body=request_body([noon, more, more]))
    refused = wires.request(request_body([noon, more, more, more, more]), 3.0, exchange="x2", step=2)
    wires.end(wires.response(refused, 3.1, b"{}", status=429), 3.2)
    answered(wires, "x3", 5.0, step=3, body=request_body([later, more, more, more]))
    return {"Bill of the largest answered request": SESSION, "Bill of a step": Section(clock="c1", turn=1, step=1)}


@scene
def configured_prices(wires: Wires) -> Mapping[str, Row | Section]:
    wires.prices["openai"] = Price(input=10.0, cached=1.0, cache_written=10.0, output=100.0)
    for number in range(1, 3):
        answered(wires, f"x{number}", number, step=number, body=request_body(MESSAGES))
    return {"Bill in money": SESSION, "Tools in money": SESSION}


@scene
def what_a_tool_protocol_put_in(wires: Wires) -> Mapping[str, Row | Section]:
    body = request_body(MESSAGES)
    wires.request(body, 1.0, exchange="x1")
    start = body.index(b"You are helpful")
    wires.link("injected", Span(exchange="x1", side="request", start=start, end=start + 15), 1.0)
    return {"Bill by purpose": SESSION}


@scene
def tools_that_changed(wires: Wires) -> Mapping[str, Row | Section]:
    changed = json.loads(to_json(TOOL))
    changed["function"]["description"] = "Multiply three numbers."
    for number, tools in enumerate(([TOOL, function("math__add", "Adds.")], [TOOL], [changed]), start=1):
        body = to_json({"model": "m", "tools": tools, "messages": MESSAGES})
        answered(wires, f"x{number}", number, step=number, body=body)
    return {"Tools by their tokens in all": SESSION}


@scene
def a_rejected_call(wires: Wires) -> Mapping[str, Row | Section]:
    asks: JSON = {"role": "assistant", "tool_calls": [{"index": 0, **CALL}]}
    wires.end(answering(wires, *events_of(asks, finish="tool_calls")), 1.6)
    wires.link("asked", Span(exchange="x", start=0, end=10), 1.6)
    wires.decision(2.0, "", decision="rejected", by="person")
    said: JSON = {"role": "tool", "tool_call_id": "call_1", "content": "The user rejected this call."}
    body = request_body([*MESSAGES, {"role": "assistant", "tool_calls": [CALL]}, said])
    again = wires.request(body, 3.0, exchange="x2", step=2)
    start = body.index(b"The user rejected")
    wires.link("told", Span(exchange="x2", side="request", start=start, end=start + 28), 3.0)
    return {"Tools with a rejection": SESSION, "Parts with the host's own words": again}


@scene
def servers_of_two_versions(wires: Wires) -> Mapping[str, Row | Section]:
    begun(wires)
    introduction: JSON = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "Maths", "version": "2.1"}}
    listed: JSON = {"tools": [{"name": "multiply", "inputSchema": {}}, {"name": "add", "inputSchema": {}}]}
    later: JSON = {"tools": [{"name": "multiply", "inputSchema": {"type": "object"}}, {"name": "divide"}]}
    answers = ("initialize", introduction), ("tools/list", listed), ("tools/list", later)
    for number, (method, result) in enumerate(answers, start=7):
        wires.frame(to_json({"jsonrpc": "2.0", "id": number, "method": method}), 0.2, direction="out", turn=0)
        wires.frame(to_json({"jsonrpc": "2.0", "id": number, "result": result}), 0.3, direction="in", turn=0)
    a_turn(wires)
    wires.stderr("one\x1b[31m", 9.0)
    wires.stderr("Aborted (core dumped)", 9.1)
    wires.append(connection_end("math", "n1", "exited 134"), 9.2)
    wires.ladder.feed([replace(wires.records[0], capture="of the app that shows the session now")])
    return {"Servers with how they ended": SESSION}


@scene
def a_server_that_dies_in_a_call(wires: Wires) -> Mapping[str, Row | Section]:
    wires.request(request_body(MESSAGES), 1.0, exchange="x1")
    wires.calls(4, 2.0)
    wires.append(connection_end("math", "n1", "exited 134"), 2.4)
    wires.request(request_body(MESSAGES), 2.5, exchange="x2", step=2)
    return {"Time that is the server's": SESSION}


@scene
def an_url_with_credentials(wires: Wires) -> Mapping[str, Row | Section]:
    draft = Record(
        wire="mcp", kind="request", peer="lab", direction="out", exchange="h1", connection="n9", place=Place()
    )
    head = Head(method="POST", url="https://me:hunter2@lab.example/mcp?token=abcdef123456")
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    wires.append(replace(draft, head=head, data=ping), 1.0)
    wires.append(replace(draft, kind="frame", data=ping), 1.0)
    return {"Servers without them": SESSION}


def tools_in_the_prompt(name: str) -> Scene:
    def make(wires: Wires) -> Mapping[str, Row | Section]:
        spoken = protocol(name)
        assert isinstance(spoken, TextProtocol)
        content = spoken.tool_list([replace(tool, description=f"- {tool.tool}: it does.\n") for tool in TOOLS])
        body = to_json({"model": "m", "messages": [{"role": "system", "content": content}]})
        wires.request(body, 1.0, exchange="x1")
        span = Span(exchange="x1", side="request", start=body.index(b'"content":"') + 11, end=len(body) - 4)
        link = Link(relation="injected", call="", span=span, words=LISTS)
        wires.append(Record(wire="host", kind="link", data=link.to_bytes()), 1.0)
        return {"Bill with their shares": SESSION, "Tools with their shares": SESSION}

    return make


TRICKY: JSON = {**CALL, "function": {"name": "x", "arguments": "1\n+ tools (9)\x1b[2J"}}
BEGUN: JSON = {"tool_calls": [{**CALL, "index": 0, "function": {"name": "add", "arguments": '{"a": 1, '}}]}
REPORTED = b"data: " + to_json(USAGE) + b"\n\ndata: [DONE]\n\n"
NO = to_json({"error": {"message": "bad key", "type": "auth"}})
HIDDEN = "key ⟨secret:KEY⟩ and ⟨secret:OTHER⟩".encode()
REMOVED = Redaction(where="data", name="was gzip", length=40), Redaction(where="data", name="KEY", length=51)
ZIPPED = zipped(b'data: {"a":1}\n\n', b'data: {"b"', b":2}\n\ndata: [DONE]\n\n")
BROKEN = *zipped(b'data: {"a":1}\n\n', b"data: 2\n\n")[:1], b"\xff\xff\xff", b"more"
SCENES.update(
    {
        **{f"tools in the prompt of {name}": tools_in_the_prompt(name) for name in PLAIN},
        "nothing at all": lambda _: {f"{tab} of the session": SESSION for tab in OF_SECTIONS},
        "a call that still comes": answer("Parts so far", events_of(BEGUN)[0]),
        "a refusal": answer("Parts in the provider's words", NO, status=401, ended=1.3),
        "every figure that is reported": answer("Parts with figures", REPORTED, ended=1.2),
        "a compressed stream": answer("Events by their chunks", *ZIPPED, encoding="gzip", ended=1.5),
        "a compressed stream that is half": answer("Events so far", *ZIPPED[:2], encoding="gzip"),
        "a compressed stream that breaks": answer("Events until it broke", *BROKEN, encoding="gzip", ended=1.5),
        "a compressed body": answer("Raw and decoded", PACKED, encoding="gzip", ended=1.3),
        "a stream in an unknown coding": answer("Events", b'data: {"number":1}\n\n', encoding="compress", ended=1.5),
        "an event in two chunks": answer("Events that are one", b'data: {"a"', b":1}\n\n"),
        "an argument that looks like an entry": changes(
            request_body([{"role": "assistant", "tool_calls": [TRICKY]}]), what="Parts open"
        ),
        "a time in the system prompt": changes(
            asking("It is 10:31 in Paris.", "hi"), asking("It is 10:32 in Paris.", "hi", "two")
        ),
        "a message that moved": changes(asking("s", "one", "two", "three"), asking("s", "two", "three", "one")),
        "a tool that is gone": changes(asking("s", tools=(A, B, C)), asking("s", tools=(A, C))),
        "tools in another order": changes(asking("s", tools=(A, B, C)), asking("s", tools=(B, A, C))),
        "the same bytes": changes(asking("s", "hi"), asking("s", "hi")),
        "a body that was kept decoded for a secret": lambda wires: {
            "Raw": wires.request(HIDDEN, 1.0, exchange="x", redacted=REMOVED)
        },
        "a frame that is no text": lambda wires: {"Raw as hex": wires.frame(b"\x00\x01", 1.0, direction="in")},
        "a frame that is no json": lambda wires: {"Frame as received": wires.frame(b"hello {", 1.0, direction="in")},
        "a decision about a call that nobody saw": lambda wires: {
            "Chain": wires.decision(1.0, words="rejected, by you")
        },
    }
)
OPEN = {"Parts with its tool open": {"/tools", "/tools/tools/math__multiply"}, "Parts open": {"/messages/messages/0"}}


def pages_of(name: str, width: int = 120) -> Mapping[str, str]:
    wires = Wires()
    return {
        f"{what}, {name}": "\n".join(
            map(str.rstrip, drawn(page_of(what.split()[0], wires, subject, {*OPEN.get(what, ())}), width))
        )
        for what, subject in SCENES[name](wires).items()
    }


def test_every_page_is_as_it_is_kept() -> None:
    made = {what: page for name in SCENES for what, page in pages_of(name).items()}
    if UPDATE:
        GOLDEN.write_text("".join(f"=== {what}\n{page}\n" for what, page in made.items()), encoding="utf-8")
    sections = GOLDEN.read_text(encoding="utf-8").split("=== ")[1:]
    kept = {what: page[:-1] for what, _, page in (section.partition("\n") for section in sections)}
    assert list(made) == list(kept)
    for what, page in made.items():
        assert page == kept[what], what
    for name in SCENES:
        assert all(cell_len(line) <= 40 for page in pages_of(name, 40).values() for line in page.splitlines()), name
    text = "\n".join(made.values())
    assert not [words for words in ("hunter", "abcdef123456", "\x1b") if words in text]


def test_where_labels_have_little_room_the_lesser_columns_give_way() -> None:
    for width, wanted in {50: "all tokens calls", 90: "all tokens tokens requests calls"}.items():
        page = pages_of("tools that changed", width)["Tools by their tokens in all, tools that changed"].split("\n")
        head = next(number for number, words in enumerate(page) if words.strip().startswith("all tokens"))
        assert " ".join(page[head].split()) == wanted
        assert len(page[head + 1].split()[-4:]) == 4, page[head + 1]
