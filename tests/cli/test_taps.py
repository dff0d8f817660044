"""`tap llm` and `tap http` as a person starts them, and what `--log -` prints: a line for each row, and nothing that a terminal obeys."""

import json
import os
import re
import signal
import urllib.request
from collections.abc import Generator, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.infer.forms import FORMS
from tests.infer.world import MS, ModelTap, World
from tests.kit.bodies import Answer, User
from tests.kit.peer import peer_in_thread, response
from tests.kit.program import Programs, Running
from tests.tap.stdio_taps import data, recorded, recorder_of, records, sessions
from tui_host.capture.connection_end import connection_end
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.record import Head, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.store import Store
from tui_host.cli.output import cells
from tui_host.cli.tap_log import PlainLines

EVENTS = b"".join(b'data: {"n":%d}\n\n' % number for number in range(50))


@pytest.fixture(scope="module")
def origin() -> Generator[str]:
    with peer_in_thread(always=response(EVENTS, kind="text/event-stream"), path="") as there:
        yield there.url


def base_url(running: Running) -> str:
    running.until(lambda: b"\n" in running.out.data, "the base URL")
    return running.out.data.decode().rstrip("\n")


def ask(url: str, path: str = "/chat/completions") -> bytes:
    asked = urllib.request.Request(  # noqa: S310 - a URL of this machine
        url + path, b'{"model":"m"}', {"Content-Type": "application/json", "Authorization": "Bearer sk-0123456789"}
    )
    with urllib.request.urlopen(asked, timeout=90) as answered:  # noqa: S310
        body: bytes = answered.read()
    return body


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str
)
def test_a_tap_prints_one_line_records_what_passes_and_ends_with_a_signal(
    program: Programs, origin: str, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    words = ("--upstream", f"{origin}/v1", "--port", "0", "--data-dir", tmp_path, "--log", tmp_path / "log")
    running = program.start("tap", "llm", *words)
    url = base_url(running)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", url)
    assert ask(url) == EVENTS
    running.signal(number)
    ended = running.wait()
    assert (ended.code, ended.out.decode(), ended.left) == (code, f"{url}\n", ())
    assert f"OPENAI_BASE_URL={url}" in ended.err
    assert "recorded" not in ended.err
    store = Store.open(tmp_path / "tui-host.db")
    (session,) = store.sessions.list()
    records = [record for record, _ in store.session_records(session.id)]
    store.close()
    assert session.source == "tap"
    assert [record.kind for record in records][:2] == ["request", "response"]
    assert b"".join(record.data for record in records if record.kind == "chunk") == EVENTS
    assert "sk-0123456789" not in repr(records)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line.get("kind", "") for line in lines][:3] == ["", "request", "response"]


def test_a_recorder_that_stands_still_or_is_killed_takes_nothing_with_it(
    program: Programs, origin: str, tmp_path: Path
) -> None:
    running = program.start("tap", "llm", "--upstream", origin, "--port", "0", "--data-dir", tmp_path)
    url = base_url(running)
    recorder = recorder_of(running.pid)
    os.kill(recorder, signal.SIGSTOP)
    assert all(ask(url) == EVENTS for _ in range(20))
    os.kill(recorder, signal.SIGCONT)
    running.until(lambda: len(data(records(tmp_path), "in", "llm")) >= 20 * len(EVENTS) if sessions(tmp_path) else 0)
    os.kill(recorder, signal.SIGKILL)
    assert all(ask(url) == EVENTS for _ in range(20))
    running.signal(signal.SIGTERM)
    ended = running.wait()
    assert (ended.code, ended.err.count("recording was interrupted: the recorder was ended by SIGKILL")) == (143, 1)
    assert data(recorded(tmp_path), "in", "llm").count(EVENTS) == 40


def test_of_a_tap_that_is_killed_all_that_passed_before_is_recorded(
    program: Programs, origin: str, tmp_path: Path
) -> None:
    running = program.start("tap", "llm", "--upstream", origin, "--port", "0", "--data-dir", tmp_path)
    url = base_url(running)
    assert all(ask(url) == EVENTS for _ in range(20))
    running.signal(signal.SIGKILL)
    running.wait()
    found = recorded(tmp_path)
    assert [record.kind for record in found if record.kind != "chunk"] == ["request", "response", "end"] * 20
    assert b"".join(record.data for record in found if record.kind == "chunk") == 20 * EVENTS


def test_a_port_that_is_taken_and_a_missing_upstream_are_told(program: Programs, origin: str, tmp_path: Path) -> None:
    port = origin.rpartition(":")[2]
    taken = program.run("tap", "llm", "--upstream", origin, "--port", port, "--data-dir", tmp_path)
    none = program.run("tap", "llm", "--upstream", "api.example/v1", "--data-dir", tmp_path)
    assert (taken.code, taken.out) == (1, b"")
    assert taken.err == (
        f"tui-host: --port: port {port} is taken (choose another with --port N, or any free one with --port 0)\n"
    )
    assert (none.code, none.out, none.err.count("\n")) == (2, b"", 1)
    assert list(tmp_path.iterdir()) == []


SESSION = SessionInfo("s1", "example", "tap", created_ns=1, updated_ns=1, live=True)
HEAD = Head(method="GET", url="http://h/v1/models")
MODELS = Record(wire="llm", kind="request", peer="example", direction="out", exchange="x1", head=HEAD)
PING = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'


def lines(world: World) -> list[str]:
    """What is printed of all that happened, without the time of day, and with single spaces."""
    plain = PlainLines(str)
    log = plain.begin(SESSION)
    log += b"".join(plain.line(record) for _, record in world.records)
    log += plain.line(stamped("ended by SIGSEGV"))
    printed = log.decode().removesuffix("\n").split("\n")
    assert not any(letter < " " for line in printed for letter in line)
    assert max(map(cells, printed)) < 240
    return [" ".join(line.split()[1:]) for line in printed]


def pass_time(world: World, pauses: Iterable[int]) -> None:
    for pause in pauses:
        world.now += pause


def exchange(world: World, draft: Record, *, status: int = 0, ending: Ending, body: bytes = b"") -> None:
    """One that asks no model anything, answered after two milliseconds."""
    tap = ModelTap(world, "c")
    tap.keep(draft)
    if draft.data:
        tap.keep(replace(draft, kind="frame", head=None))
    answer = replace(draft, direction="in", data=b"")
    world.now += 2 * MS
    if status:
        headers = (("Server", "tui-host tap"),) if status == 502 else ()
        tap.keep(replace(answer, kind="response", head=Head(status=status, headers=headers)))
        tap.keep(replace(answer, kind="chunk", head=None, data=body))
    tap.keep(replace(answer, kind=ending.kind, head=None, data=ending.to_bytes()))


def test_what_went_wrong_is_told_by_one_word() -> None:
    world = World()
    tap, form = world.model(), FORMS["openai"]
    tap.refuse(tap.ask(form, [User("hi")]), 429)
    pass_time(world, tap.answer(form, tap.ask(form, [User("hi")]), Answer("It is three."), cut=True))
    exchange(world, MODELS, ending=Ending(reason="not connected", error="nobody is there"))
    exchange(world, MODELS, status=502, body=b"no", ending=Ending(size=2, kept=2))
    answers = [re.sub(r" \d+ B", "", line) for line in lines(world) if line.startswith("<--")]
    assert answers == [
        '<-- LLM 1 0 ms ERROR 429 POST /v1/chat/completions {"error":{"message":"slow down"}}',
        "<-- LLM 2 3 ms ERROR 200 POST /v1/chat/completions cut by peer",
        "<-- LLM 2 ms ERROR GET /v1/models nobody is there",
        "<-- LLM 2 ms ERROR 502 GET /v1/models the tap itself answered: no",
    ]


def test_of_a_servers_exchange_that_holds_frames_only_the_failure_has_a_line() -> None:
    world, whole = World(), Ending(size=7, kept=7)
    listening = replace(MODELS, wire="mcp", head=Head(method="GET", url="http://h/mcp?a=1"))
    ping = replace(listening, head=Head(method="POST", url="http://h/mcp"), data=PING)
    exchange(world, listening, status=200, ending=whole)
    exchange(world, replace(ping, exchange="x2"), status=200, ending=whole)
    exchange(world, replace(ping, exchange="x3"), status=401, ending=whole)
    assert lines(world)[1:-1] == [
        "--> example 0 B GET /mcp?a=1",
        "<-- example 0 B 2 ms 200 GET /mcp?a=1",
        "--> example #7 40 B ping",
        "--> example #7 40 B ping",
        "<-- example 7 B 2 ms ERROR 401 POST /mcp HTTP 401 Unauthorized",
    ]


def test_frames_are_told_with_what_they_answer_and_how_long_that_took() -> None:
    world = World()
    tap = world.server("math")
    call, _ = tap.call("add", {"city": "北京"})
    world.now += 12 * MS
    for done in (1, 2):
        tap.frame("in", {"method": "notifications/progress", "params": {"progress": done, "total": 2}})
    tap.result(call, "\x1b]52;c;x\x07" + "晴" * 200)
    failed, _ = tap.call("add", {})
    tap.result(failed, "no", is_error=True)
    tap.frame("in", {"id": 9, "error": {"code": -32601, "message": "Method not found"}})
    tap.keep(Record(wire="mcp", kind="frame", peer="math", direction="in", data=b"hello\r\n", malformed="not JSON"))
    tap.keep(Record(wire="stderr", kind="line", peer="math", direction="in", data=b"which the host has already\n"))
    assert lines(world)[1:-1] == [
        '--> math #1 112 B tools/call add {"city":"北京"}',
        "<-- math 94 B notifications/progress 1/2",
        "<-- math 188 B notifications/progress 2/2",
        f"<-- math #1 720 B 12 ms tools/call add ok: ␛]52;c;x␇{'晴' * 35}…",
        "--> math #2 96 B tools/call add {}",
        "<-- math #2 102 B 0 ms tools/call add ERROR: no",
        "<-- math #9 86 B answer ERROR: -32601 Method not found",
        "<-- math 7 B hello · ERROR not JSON",
    ]


def stamped(reason: str) -> Record:
    return replace(connection_end("math", "math#1", reason), capture="c", seq=1, time_ns=1, mono_ns=1)
