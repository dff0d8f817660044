"""What `--log -` says of what passes: a line for each thing, whatever the dialect, and nothing in it that a terminal obeys."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from tests.infer.forms import DIALECTS, FORMS, Answer, Call, Results, User
from tests.infer.world import MS, ModelTap, World
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.record import Draft, Head
from tui_host.capture.session_summary import SessionInfo
from tui_host.cli.columns import cells
from tui_host.cli.plain_log import PlainLines

SESSION = SessionInfo(
    id="s1", title="example", created_ns=1, updated_ns=1, turns=0, source="tap", live=True, model="", protocol=""
)
WHOLE = Ending(size=7, kept=7)
OWN, KIND = (("Server", "tui-host tap"),), (("Content-Type", "text/event-stream; charset=utf-8"),)
MODELS = Draft(
    wire="llm",
    kind="request",
    peer="example",
    direction="out",
    exchange="x1",
    head=Head(method="GET", url="http://h/v1/models"),
)
PING = b'{"jsonrpc":"2.0","id":"seven","method":"ping"}'
CALL = Call("c1", "math__add", {"a": 1, "b": 2})


def lines(world: World, *, hidden: str = "") -> list[str]:
    """What is said of all that happened, without the time of day."""
    said: list[str] = []
    plain = PlainLines(said.append)
    plain.begin(SESSION, lambda text: text.replace(hidden, "⟨secret:KEY⟩") if hidden else text)
    for _, record in world.records:
        plain.write(record)
    assert not any(letter < " " for line in said for letter in line)
    return [line[len("00:00:00.000 ") :] for line in said[1:]]


def pass_time(world: World, pauses: Iterable[int]) -> None:
    for pause in pauses:
        world.now += pause


def exchange(world: World, draft: Draft, *, status: int = 0, ending: Ending = WHOLE, body: bytes = b"") -> None:
    """One that asks no model anything, answered after two milliseconds."""
    tap = ModelTap(world, "c")
    tap.keep(draft)
    if draft.data:
        tap.keep(replace(draft, kind="frame", head=None))
    answer = replace(draft, direction="in", data=b"")
    world.now += 2 * MS
    if status:
        tap.keep(replace(answer, kind="response", head=Head(status=status, headers=OWN if status == 502 else KIND)))
        tap.keep(replace(answer, kind="chunk", head=None, data=body))
    tap.keep(replace(answer, kind=ending.kind, head=None, data=ending.to_bytes()))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_and_its_answer_are_a_line_each_in_every_dialect(dialect: str) -> None:
    world = World()
    tap, form = world.model(), FORMS[dialect]
    asked = [User("what is one\nand \x1b[31mtwo?")]
    pass_time(world, tap.answer(form, tap.ask(form, asked, "Cline/3"), Answer("Let me see.", [CALL])))
    second = tap.ask(form, [*asked, Answer("Let me see.", [CALL]), Results([(CALL, "三")])])
    pass_time(world, tap.answer(form, second, Answer("It is three.")))

    host, *four = lines(world)
    assert host.split() == ["example", "*", "host:", "Cline"]
    assert [line.split()[1:3] for line in four] == [["-->", "#1"], ["<--", "#1"], ["-->", "#2"], ["<--", "#2"]]
    assert f"({dialect.removesuffix('-cli')}) · " in four[0]
    assert four[0].endswith(" · user: what is one and ␛[31mtwo?")
    assert 'asks math__add {"a": 1, "b": 2}' in four[1] or 'asks math__add {"a":1,"b":2}' in four[1]
    assert '"Let me see."' in four[1]
    assert " ms 200" in four[1]
    assert "三" in four[2].rpartition(" · result of math__add: ")[2]
    assert '"It is three."' in four[3]
    assert "ERROR" not in "".join(four)


def test_a_secret_that_stands_compressed_in_a_record_is_not_shown() -> None:
    world = World()
    tap, form = world.model(), FORMS["openai"]
    body = form.request([User("the key is k3y-0123456789")], "")
    head = Head(method="POST", url=form.url)
    tap.keep(Draft(wire="llm", kind="request", exchange="x1", head=head, data=gzip.compress(body), encoding="gzip"))

    (line,) = lines(world, hidden="k3y-0123456789")
    assert line.endswith("user: the key is ⟨secret:KEY⟩")


def test_what_went_wrong_is_told_by_one_word_and_whose_it_was() -> None:
    world = World()
    tap, form = world.model(), FORMS["openai"]
    tap.refuse(tap.ask(form, [User("hi")]), 429)
    pass_time(world, tap.answer(form, tap.ask(form, [User("hi")]), Answer("It is three."), cut=True))
    exchange(world, MODELS, ending=Ending(reason="not connected", error="nobody is there"))
    exchange(world, MODELS, status=502, body=b"no")
    told = [line.split(" ms ", 1)[1] for line in lines(world) if "<--" in line]

    path = form.url.partition("//")[2].partition("/")[2]
    assert told[0] == f"ERROR 429 for POST /{path} · slow down"
    assert told[1].startswith("200 ERROR cut by peer · ")
    assert told[2:] == ["ERROR not connected: nobody is there", "ERROR 502 of the tap itself · no"]


CUT = b'{"message":{"role":"assistant","content":"It is"},"done":false}\n'
UNREADABLE = b'{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"print(add(1"}]}'


@pytest.mark.parametrize(
    ("dialect", "status", "headers", "body", "told"),
    [
        ("openai", 302, (("Location", "https://h/login"),), b"", "302 → https://h/login"),
        ("openai", 404, (), b"", "ERROR 404 for POST {path} · empty"),
        ("openai", 200, (), b"", "200 ERROR no answer · empty"),
        ("ollama", 200, (), CUT, '200 ERROR without its end · "It is", cut off'),
        (
            "gemini",
            200,
            KIND,
            b"data: " + UNREADABLE + b"\n\n",
            "200 MALFORMED_FUNCTION_CALL: print(add(1 · ERROR unreadable call: print(add(1",
        ),
        ("", 200, (), b'{"error":{"message":"no such model","code":7}}', "200 ERROR in the answer: no such model"),
        ("", 200, KIND, b'{"data":[]}', "200 text/event-stream"),
    ],
)
def test_a_complete_response_that_is_no_whole_answer_says_what_it_is(
    dialect: str, status: int, headers: tuple[tuple[str, str], ...], body: bytes, told: str
) -> None:
    world = World()
    tap, form = world.model(), FORMS[dialect or "openai"]
    url = form.url if dialect else "http://h/v1/embeddings"
    asked = form.request([User("hi")], "")
    draft = replace(MODELS, head=Head(method="POST", url=url), data=asked)
    tap.keep(draft)
    answer = replace(draft, direction="in", data=b"", head=None)
    tap.keep(replace(answer, kind="response", head=Head(status=status, headers=headers)))
    if body:
        tap.keep(replace(answer, kind="chunk", data=body, encoding="gzip" if body[:1] == b"\x1f" else None))
    tap.keep(replace(answer, kind="end", data=Ending(size=len(body), kept=len(body)).to_bytes()))

    line = lines(world)[-1].partition(" ms ")[2]
    assert line.partition(" · first byte")[0] == told.format(path=urlsplit(url).path)


def test_of_a_servers_exchange_that_holds_frames_only_the_failure_has_a_line() -> None:
    world = World()
    listening = replace(MODELS, wire="mcp", head=Head(method="GET", url="http://h/mcp?a=1"))
    ping = replace(listening, head=Head(method="POST", url="http://h/mcp"), data=PING)
    exchange(world, listening, status=200)
    exchange(world, replace(ping, exchange="x2"), status=200)
    exchange(world, replace(ping, exchange="x3"), status=401)

    assert [" ".join(line.split()) for line in lines(world)] == [
        "example --> #1 0 B GET /mcp?a=1",
        "example <-- #1 7 B 2 ms 200 text/event-stream",
        'example --> "seven" 46 B ping',
        'example --> "seven" 46 B ping',
        'example <-- "seven" 7 B 2 ms ERROR 401 for POST /mcp',
    ]


def test_frames_are_told_with_what_they_answer_and_how_long_that_took() -> None:
    world = World()
    tap = world.server("math")
    call, _ = tap.call("add", {"city": "北京"})
    world.now += 12 * MS
    tap.frame("in", {"method": "notifications/progress", "params": {"progress": 1, "total": 2, "message": "half"}})
    tap.result(call, "\x1b]52;c;x\x07" + "晴" * 200)
    failed, _ = tap.call("add", {})
    tap.result(failed, "no", is_error=True)
    tap.frame("in", {"id": 9, "error": {"code": -32601, "message": "Method not found"}})
    tap.keep(Draft(wire="mcp", kind="frame", peer="math", direction="in", data=b"hello\r\n", malformed="not JSON"))
    tap.keep(Draft(wire="stderr", kind="line", peer="math", direction="in", data=b"which the host has already\n"))

    told = lines(world)
    assert [line[32:] for line in told if "晴" not in line] == [
        'tools/call add {"city":"北京"}',
        "notifications/progress 1/2 half",
        "tools/call add {}",
        "tools/call add ERROR: no",
        "error ERROR: -32601 Method not found",
        "ERROR no message (not JSON): hello",
    ]
    (result,) = [line for line in told if "晴" in line]
    assert " 12 ms tools/call add ok: ␛]52;c;x␇晴" in result
    assert result.endswith("…")
    assert cells(result) < 140


def test_each_message_of_a_batch_is_told_as_it_is_alone() -> None:
    world = World()
    tap = world.server("math")
    tap.call("add", {})
    refused, others = b'{"jsonrpc":"2.0","id":1,"error":"bad thing"}', [b'{"id":"a","result":{}}'] * 29
    batch = b"[" + b",".join([refused, *others]) + b"]\n"
    tap.keep(Draft(wire="mcp", kind="frame", peer="math", direction="in", data=batch, connection="c1"))

    told = lines(world)[1:]
    assert told[0].endswith("tools/call add ERROR: bad thing")
    assert len(told) == 21
    assert told[-1].split(maxsplit=2) == ["math", "<--", "and 10 more of this batch"]


@pytest.mark.parametrize(
    ("code", "told"),
    [(0, "exit code 0"), (3, "ERROR exit code 3"), (-15, "killed by SIGTERM"), (-11, "ERROR killed by SIGSEGV")],
)
def test_the_servers_end_is_told(code: int, told: str) -> None:
    said: list[str] = []
    plain = PlainLines(said.append)
    plain.begin(SESSION, str)
    plain.exited(code, 1)
    assert said[-1].endswith(f"ends: {told}")
