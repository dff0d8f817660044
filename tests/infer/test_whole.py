"""The whole of what taps of one story recorded: listed, told, taken away with its calls joined, and brought in again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.infer.forms import FORMS, Answer, Call, Results, User
from tests.infer.kept import KeptModelTap, KeptServerTap, keep_story
from tui_host.capture.exports import EXPORTS
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.cli.session_list import listing, sessions_of
from tui_host.infer.taps.stories import Known, look_at, stories_of, story_with
from tui_host.infer.whole_story import Whole
from tui_host.opening.importing import import_files


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    keep_story(tmp_path)
    opened = Store.open(tmp_path / "data" / "tui-host.db")
    yield opened
    opened.close()


def whole_of(store: Store, name: str = "last") -> Whole:
    return Whole(store, story_with(store, store.find_session(name).id, {}))


def exported(store: Store, name: str = "last") -> bytes:
    whole = whole_of(store, name)
    return b"".join(EXPORTS["jsonl"](whole, whole.info))


def test_a_story_is_taken_away_whole_in_the_order_of_time_with_its_calls_joined(store: Store) -> None:
    whole = whole_of(store)
    assert (whole.info.title, whole.info.turns) == ("Cline: what is one and two? (tap llm example, tap stdio math)", 1)
    assert (whole.info.model, whole.info.protocol) == ("example/deepseek-chat", "cline")
    head, *lines = map(json.loads, exported(store).splitlines())
    assert (head["session"]["id"], head["session"]["source"]) == (whole.taps[0].id, "tap")
    records = [line for line in lines if line["kind"] != "link"]
    assert [line["wire"] for line in records if line["kind"] in {"request", "frame"}] == [
        *["mcp"] * 4,
        "llm",
        "mcp",
        "mcp",
        "llm",
    ]
    assert {(line.get("turn"), line.get("step")) for line in records if line["wire"] == "llm"} == {(1, 1), (1, 2)}
    told = [json.loads(line["text"]) for line in lines[len(records) :]]
    joined = [(link["relation"], link["known"]) for link in told if link["call"]]
    # By capture, whose names tell the second in which they began.
    assert sorted(joined) == [("answered", "value"), ("asked", "id"), ("sent", "value"), ("told", "value")]
    last = {line["capture"]: line["seq"] for line in records}
    assert all(line["seq"] > last[line["capture"]] for line in lines[len(records) :])
    items = [json.loads(text) for text in whole.session_items("")]
    assert [item["item"] for item in items] == ["user", "answer", "call", "answer"]
    document = b"".join(EXPORTS["markdown"](whole, whole.info)).decode()
    assert document.index("> what is one and two?") < document.index("tools/call") < document.index("> It is three.")


def test_two_hosts_at_once_tell_two_stories_each_with_the_server_that_it_called(tmp_path: Path) -> None:
    taps = [KeptModelTap(tmp_path, "cline"), KeptModelTap(tmp_path, "cherry")]
    servers = [KeptServerTap(tmp_path, name) for name in ("one", "two", "idle")]
    for server in servers:
        server.start(["tick"], client="mcp")
    for model, server in zip(taps, servers, strict=False):
        form, call = FORMS[model.id], Call("", f"{server.name}__tick", {"k": server.name})
        list(model.answer(form, model.ask(form, [User("go")], "OpenAI/JS 4"), Answer("", [call])))
        server.result(server.call("tick", call.arguments)[0], "ok")
    assert all(tap.kept.recording.close() for tap in (*taps, *servers))
    opened = Store.open(tmp_path / "data" / "tui-host.db")
    known: Known = {}
    sessions = opened.sessions.list()
    for session in sessions:
        look_at(opened, session, known)
    told = {tuple(sorted(tap.title for tap in each.taps)): each for each in stories_of(opened, sessions, known)}
    assert told.keys() == {("cline", "one"), ("cherry", "two"), ("idle",)}
    wholes = [Whole(opened, story_with(opened, each.taps[0].id, {})).info for each in told.values()]
    assert {(whole.title, whole.protocol) for whole in wholes} == {
        ("Cline: go (tap llm cline, tap stdio one)", "cline"),
        ("go (the OpenAI SDK for JavaScript and the MCP SDK for Python: tap llm cherry, tap stdio two)", "cherry"),
        ("the MCP SDK for Python: tap stdio idle", ""),
    }
    opened.close()


def test_taps_that_ended_and_saw_nothing_are_listed_each_by_itself_and_deleted_so(tmp_path: Path) -> None:
    taps = [KeptModelTap(tmp_path, "example"), KeptServerTap(tmp_path, "math"), KeptServerTap(tmp_path, "docs")]
    assert all(tap.kept.recording.close() for tap in taps)
    opened = Store.open(tmp_path / "data" / "tui-host.db")
    listed = {each.info.title: each for each in listing(opened)}
    assert {(title, each.length, len(each.taps)) for title, each in listed.items()} == {
        ("tap example", "nothing", 0),
        ("tap math", "nothing", 0),
        ("tap docs", "nothing", 0),
    }
    assert opened.sessions.delete(listed["tap example"].info.id)
    assert {each.info.title for each in listing(opened)} == {"tap math", "tap docs"}
    opened.close()


def test_hosts_that_take_turns_at_one_tap_are_one_story_in_which_each_calls_its_own_servers(tmp_path: Path) -> None:
    model, call = KeptModelTap(tmp_path, "example"), Call("", "everything__echo", {"a": 1})
    asked = [User("go")]
    hosts = (
        ("anthropic", "claude-cli/2.0.14", "claude-code"),
        ("gemini", "GeminiCLI/v0.9.0/gemini-x (linux)", "gemini-cli-mcp-client"),
        ("cherry", "OpenAI/Python 2.20", ""),
    )
    servers: list[KeptServerTap] = []
    for name, agent, client in hosts:
        form = FORMS[name]
        if client:
            servers.append(KeptServerTap(tmp_path, "everything"))
            servers[-1].start(["echo"], client=client)
        for _ in range(6):  # one after the other; what follows the first records tells of the others
            list(model.answer(form, model.ask(form, asked, agent), Answer("Hello.", [])))
        list(model.answer(form, model.ask(form, asked, agent), Answer("", [call] if client else [])))
        if client:
            servers[-1].result(servers[-1].call("echo", call.arguments)[0], name)
            list(
                model.answer(
                    form, model.ask(form, [*asked, Answer("", [call]), Results([(call, name)])], agent), Answer("Done.")
                )
            )
    assert all(tap.kept.recording.close() for tap in (model, *servers))
    opened = Store.open(tmp_path / "data" / "tui-host.db")
    (listed,) = listing(opened)
    whole = whole_of(opened)
    title = "go (Claude Code, Gemini CLI +1 more: tap llm example, tap stdio everything)"
    assert (listed.info.title, whole.info.title) == (title, title)
    assert listed.hosts == ["Claude Code", "Gemini CLI", "the OpenAI SDK for Python"]
    told = {(each.model, each.protocol) for each in (listed.info, whole.info)}
    assert told == {("example/claude-x, gemini-x +1 more", "native and cherry")}
    calls = [item for text in whole.session_items("") if (item := json.loads(text))["item"] == "call"]
    assert [(item["result"], item["words"]) for item in calls] == [
        (name, "approved by its host, not here · inferred") for name in ("anthropic", "gemini")
    ]
    links = [json.loads(record.draft.data) for record, _ in whole.session_records("") if record.draft.kind == "link"]
    assert sorted(link["relation"] for link in links if link["call"]) == sorted(
        [*["asked", "sent", "answered", "told"] * 2]
    )
    opened.close()


def test_a_story_that_was_brought_in_comes_out_line_for_line_and_stays_by_itself(store: Store, tmp_path: Path) -> None:
    before = exported(store)
    path = tmp_path / "story.jsonl"
    path.write_bytes(before)
    for _ in range(2):  # also where it is already
        brought = import_files(store, [path], Redactor()).id
        assert exported(store, brought) == before
        whole = whole_of(store, brought)
        assert [tap.id for tap in whole.taps] == [brought]
        assert len(whole.session_items("")) == 4
    assert exported(store, whole_of(store).info.id) == before


def test_of_a_tap_alone_its_own_records_come_out_as_they_came(store: Store) -> None:
    for tap in whole_of(store).taps:
        lines = [json.loads(line) for line in EXPORTS["jsonl"](store, tap)]
        assert {line["capture"] for line in lines[1:]} == {tap.id}
        assert not {"turn", "step"} & {key for line in lines[1:] for key in line}


def test_a_list_says_of_a_story_and_of_each_of_its_taps_whose_it_is_and_how_much_passed(store: Store) -> None:
    (story,) = listing(store)
    assert story.info.title == "Cline: what is one and two? (tap llm example, tap stdio math)"
    assert (story.info.model, story.length) == ("example/deepseek-chat", "2 requests, 6 frames")
    assert [each.info.title for each in story.taps] == [
        "Cline: what is one and two? (tap llm example)",
        "Cline: tap stdio math",
    ]
    assert [each.info.model for each in story.taps] == ["example/deepseek-chat", ""]
    assert [each.length for each in story.taps] == ["2 requests", "6 frames"]
    assert {each.story for each in (story, *story.taps)} == {story.info.id}
    assert {each.info.id for each in sessions_of([story])} == {each.info.id for each in story.taps}
