"""What a tap is, as its records tell."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.infer.forms import FORMS, User, dumped
from tests.infer.world import ModelTap, World
from tui_host.capture.record import Draft, Head, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.imported_records import Intake
from tui_host.capture.store.store import Store
from tui_host.infer.taps.about import Looking


@pytest.fixture
def store(tmp_path: Path) -> Generator[Store]:
    store = Store.open(tmp_path / "kept.db")
    yield store
    store.close()


def by_http(record: Record) -> Record:
    """The same frame in the body of a request or an answer."""
    return replace(record, draft=replace(record.draft, exchange=f"x{record.seq}"))


def test_hosts_that_connect_to_a_server_one_after_the_other_are_all_known(store: Store) -> None:
    world = World()
    tap = world.server("math")
    intake, kept = Intake(store, tap.id, Redactor(), time.time_ns()), 0
    looking = Looking(tap.id)
    for number, client in enumerate(("mcp-inspector", "", "claude-code", "gemini-cli-mcp-client")):
        tap.start(["add"], client, f"c{number}")
        for _ in range(20):
            tap.call("add", {"a": number}, f"c{number}")
        for _, record in world.records[kept:]:
            intake.add(by_http(record))
        kept = len(world.records)
        intake.flush()
        looking.look(store)
    intake.close()
    assert looking.about.kind == "http"
    assert looking.about.hosts == ["MCP Inspector", "Claude Code", "Gemini CLI"]


def test_a_host_that_was_heard_is_not_forgotten_however_much_follows(store: Store) -> None:
    agents = ["claude-cli/2.1.0 (external)"] * 60
    agents[8] = "GeminiCLI/0.61.0/gemini (linux; x64)"
    world = World()
    tap = ModelTap(world, "tap")
    intake = Intake(store, tap.id, Redactor(), time.time_ns())
    body = dumped({"model": "m", "messages": [{"role": "user", "content": "hello"}]})
    for count, agent in enumerate(agents, start=1):
        head = Head(method="POST", url="https://api.example/v1/chat/completions", headers=(("User-Agent", agent),))
        tap.keep(Draft(wire="llm", kind="request", peer="x", exchange=tap.exchange(), head=head, data=body))
        intake.add(world.records[-1][1])
        if count > 9 and count % 10 == 0:
            intake.flush()
            looking = Looking(tap.id)  # as another process looks at it for the first time
            looking.look(store)
            assert looking.look(store).hosts == ["Claude Code", "Gemini CLI"]
    intake.close()


def test_what_comes_between_a_look_and_the_calls_in_it_tells_what_the_tap_is_as_well(store: Store) -> None:
    world = World()
    tap = ModelTap(world, "tap")
    intake, looking = Intake(store, tap.id, Redactor(), time.time_ns()), Looking(tap.id)
    assert looking.look(store).kind == ""
    tap.ask(FORMS["openai"], [User("What is 6 × 5?")], "Cline/3.20")
    for _, record in world.records:
        intake.add(record)
    intake.close()
    assert len(looking.calls(store).exchanges) == 1
    about = looking.look(store)
    assert (about.kind, about.peer, about.hosts, about.question) == ("llm", "example", ["Cline"], "What is 6 × 5?")
