"""A story of several taps: listed, shown, exported with its calls joined, and imported again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.infer.kept import keep_story
from tui_host.capture.exports import EXPORTS
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.infer.stories import Stories, TapStory, story_id
from tui_host.infer.whole_story import WholeStory
from tui_host.opening.importing import import_files


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    keep_story(tmp_path)
    opened = Store.open(tmp_path / "data" / "tui-host.db")
    yield opened
    opened.close()


def whole_of(store: Store, name: str = "last") -> WholeStory:
    story = Stories(store).find(name)
    assert isinstance(story, TapStory)
    return WholeStory(store, story)


def exported(store: Store, name: str = "last") -> bytes:
    whole = whole_of(store, name)
    return b"".join(EXPORTS["jsonl"](whole, whole.info))


def test_a_story_is_taken_away_whole_in_the_order_of_time_with_its_calls_joined(store: Store) -> None:
    whole = whole_of(store)
    assert (whole.info.title, whole.info.turns) == ("Cline: what is one and two? (tap llm example, tap stdio math)", 1)
    assert (whole.info.model, whole.info.protocol) == ("example/deepseek-chat", "cline")
    head, *lines = map(json.loads, exported(store).splitlines())
    assert (head["session"]["id"], head["session"]["source"]) == (story_id(whole.taps[0].id), "tap")
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


def test_a_taps_id_gives_the_half_of_that_tap_so_that_nothing_is_exported_twice(store: Store) -> None:
    def records(name: str) -> set[tuple[str, int]]:
        head, *lines = map(json.loads, exported(store, name).splitlines())
        assert head["session"]["id"] == name
        return {(line["capture"], line["seq"]) for line in lines if line["kind"] != "link"}

    whole = whole_of(store)
    halves = [records(tap.id) for tap in whole.taps]
    assert [{capture for capture, _ in half} for half in halves] == [{tap.id} for tap in whole.taps]
    assert records(whole.info.id) == halves[0] | halves[1]
