"""`tap llm` and `tap http` as a person starts them."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.request
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.kit.peer import peer_in_thread, response
from tests.kit.program import Programs, Running
from tests.tap.stdio_taps import data, recorded, recorder_of, records, sessions
from tui_host.capture.store.store import Store

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


def test_where_nothing_can_be_recorded_all_passes_and_that_is_told(
    program: Programs, origin: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    running = program.start(
        "tap", "http", "docs", "--upstream", f"{origin}/mcp", "--port", "0", "--data-dir", tmp_path / "file" / "x"
    )
    url = base_url(running)
    assert url.endswith("/mcp")
    assert ask(url, "") == EVENTS
    running.until_shown("nothing is recorded")
    assert ask(url, "") == EVENTS
    running.signal(signal.SIGTERM)
    ended = running.wait()
    assert ended.code == 143
    assert ended.err.count("nothing is recorded") == 1


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
    assert ended.code == 143
    assert ended.err.count("recording was interrupted: the recorder was ended by SIGKILL") == 1
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
    assert [record.kind for record in found if record.kind != "chunk"] == [
        "request",
        "response",
        "end",
    ] * 20
    assert b"".join(record.data for record in found if record.kind == "chunk") == 20 * EVENTS


def test_a_port_that_is_taken_and_an_upstream_that_is_none_are_told_in_a_line(
    program: Programs, origin: str, tmp_path: Path
) -> None:
    port = origin.rpartition(":")[2]
    taken = program.run("tap", "llm", "--upstream", origin, "--port", port, "--data-dir", tmp_path)
    none = program.run("tap", "llm", "--upstream", "api.example/v1", "--data-dir", tmp_path)
    assert (taken.code, taken.out) == (1, b"")
    assert taken.err == (
        f"tui-host: --port: port {port} is taken (choose another with --port N, or any free one with --port 0)\n"
    )
    assert (none.code, none.out, none.err.count("\n")) == (2, b"", 1)
    assert list(tmp_path.iterdir()) == []
