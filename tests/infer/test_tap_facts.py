"""What a tap's records state about the tap, read while they come."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.infer.forms import FORMS
from tests.infer.world import ModelTap, World
from tests.kit.bodies import Answer, User, dumped
from tui_host.capture.record import Draft, Head, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.imported_records import Intake
from tui_host.capture.store.store import Store
from tui_host.infer.conversations.host_names import models_of
from tui_host.infer.tap_facts import FactsReader

SECRET = "wonderful-" * 4


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
    intake, kept, reader = Intake(store, tap.id, Redactor(), time.time_ns()), 0, FactsReader(tap.id)
    for number, client in enumerate(("mcp-inspector", "", "claude-code", "gemini-cli-mcp-client")):
        tap.start(["add"], client, f"c{number}")
        for _ in range(20):
            tap.call("add", {"a": number}, f"c{number}")
        for _, record in world.records[kept:]:
            intake.add(by_http(record))
        kept = len(world.records)
        intake.flush()
        reader.read(store)
    intake.close()
    assert (reader.facts.kind, reader.facts.peer) == ("http", "math")
    assert reader.facts.clients == ["mcp-inspector", "claude-code", "gemini-cli-mcp-client"]
    assert reader.facts.hosts == {"MCP Inspector", "Claude Code", "Gemini CLI"}


def test_a_host_is_known_however_many_requests_of_another_surround_its_own(store: Store) -> None:
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
            assert FactsReader(tap.id).read(store).hosts == {"Claude Code", "Gemini CLI"}
    intake.close()


def test_a_tap_is_known_by_its_first_question_however_much_else_was_asked_before(store: Store) -> None:
    world = World()
    model = world.model()
    intake, reader = Intake(store, model.id, Redactor(), time.time_ns()), FactsReader(model.id)
    assert (reader.read(store).kind, reader.facts.hosts) == ("", frozenset())
    for number in range(40):
        head = Head(method="GET", url="https://api.example/v1/models")
        model.keep(Draft(wire="llm", kind="request", peer="example", exchange=f"g{number}", direction="out", head=head))
    asked = model.ask(FORMS["openai"], [User(f"what is {SECRET}?")], "Cline/3")
    list(model.answer(FORMS["openai"], asked, Answer("That is secret.")))
    for _, record in world.records:
        intake.add(record)
    intake.close()
    store.redactor = Redactor([("KEY", SECRET)])
    facts = reader.read(store)
    assert (facts.kind, facts.peer, facts.hosts) == ("llm", "example", {"Cline"})
    assert (models_of(facts.speakers), facts.question) == ([("example", "gpt-x")], "what is ⟨secret:KEY⟩?")
    assert reader.read(store) == facts
