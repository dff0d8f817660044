"""Which taps are one story, whose they are, and what they tell of themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tests.infer.forms import FORMS
from tests.infer.kept import KeptServerTap
from tests.infer.world import World
from tests.kit.bodies import User
from tui_host.capture.record import Head, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.deletion import delete_session
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError
from tui_host.infer.stories import Links, Stories, TapStory, grouped, story_of
from tui_host.infer.story_reader import LiveStory
from tui_host.infer.tap_facts import TapFacts
from tui_host.settings.paths import DATABASE
from tui_host.tap.session import RecorderOptions, TapSession

HOSTS = {
    "anthropic": ("claude-cli/2.0.14", "claude-code"),
    "gemini": ("GeminiCLI/v0.9.0/gemini-x", "gemini-cli-mcp-client"),
}


def recorded(tmp_path: Path, *titles: str, client: str = "mcp") -> Path:
    """Taps of servers with these titles, in the order in which they began; gives the database."""
    for title in titles:
        tap = KeptServerTap(tmp_path, title)
        tap.start(["add"], client=client)
        assert tap.kept.recording.close()
    return tmp_path / "data" / DATABASE


def titles(store: Store) -> list[str]:
    """The titles of the taps of each story."""
    listed = [story for story in Stories(store).listed() if isinstance(story, TapStory)]
    return sorted(" ".join(tap.title for tap in story.taps) for story in listed)


def by_title(store: Store) -> dict[str, str]:
    return {info.title: info.id for info in store.sessions.list()}


def story_id(tap: str) -> str:
    """The id of the story that a tap begins."""
    return f"{tap[:-5]}s{tap[-5:]}"


def test_a_story_keeps_its_id_when_taps_join_and_a_taps_id_gives_its_half(tmp_path: Path) -> None:
    store = Store.open(recorded(tmp_path, "a"))
    stories, a = Stories(store), by_title(store)["a"]
    (alone,) = stories.listed()
    assert alone.id == story_id(a)
    recorded(tmp_path, "b")
    (story,) = stories.listed()
    assert (story.id, titles(store)) == (alone.id, ["a b"])
    b = by_title(store)["b"]
    assert isinstance(story, TapStory)
    for name in ("last", story.id, story.id[:-1], story.id[:10]):  # the last begins the taps' ids, too
        assert stories.find(name) == story
    assert [(half.id, [tap.id for tap in half.taps]) for half in story.halves] == [(tap, [tap]) for tap in (a, b)]
    assert [stories.find(name) for name in (a, b[:-1])] == story.halves
    with pytest.raises(TuiHostError, match="there is no such session"):
        stories.find(f"{a}x")
    delete_session(store, a)
    assert titles(store) == ["b"]
    assert Stories(store).get(story.id) is None
    store.close()


def test_what_a_person_joins_and_parts_stays_so_for_every_process(tmp_path: Path) -> None:
    recorded(tmp_path, "a", "b", client="Cline")
    path = recorded(tmp_path, "c", client="zed")
    store, reader = Store.open(path), Store.open_to_read(path)
    stories, ids = Stories(store), by_title(store)
    following = LiveStory(store, story_id(ids["a"]))
    following.read(60)
    assert titles(reader) == ["a b", "c"]
    with pytest.raises(TuiHostError, match=f"name the tap to part: {ids['a']}, {ids['b']}"):
        stories.part(story_id(ids["a"]))
    with pytest.raises(TuiHostError, match="by itself already"):
        stories.part(ids["c"])
    with pytest.raises(TuiHostError, match="there is no such session"):
        stories.join(ids["a"], "nothing")
    with pytest.raises(TuiHostError, match="the same tap"):
        stories.join(ids["c"], story_id(ids["c"]))

    joined = stories.join(story_id(ids["c"]), ids["b"])
    assert (joined.id, [tap.title for tap in joined.taps]) == (story_id(ids["a"]), ["a", "b", "c"])
    assert titles(reader) == ["a b c"]
    following._looked_for_taps = 0.0  # pyright: ignore[reportPrivateUsage] - a second later
    following.read(60)
    assert {record.capture for piece in following.updates for record in piece.records} == {*ids.values()}

    assert [tap.title for tap in stories.part(ids["a"]).taps] == ["a"]
    assert titles(reader) == ["a", "b c"]
    following._looked_for_taps = 0.0  # pyright: ignore[reportPrivateUsage]
    following.read(60)
    assert following.updates[-1].state.is_stale  # a screen begins anew
    delete_session(store, ids["a"])
    assert titles(reader) == ["b c"]
    assert not [row for row in store.read("SELECT tap, other FROM tap_links") if ids["a"] in row]
    reader.close()
    store.close()


def test_of_a_live_tap_the_capture_of_a_recorder_that_died_grows_no_more(tmp_path: Path) -> None:
    options = RecorderOptions(name="math", data_dir=str(tmp_path / "data"), began_ns=1, seed="a1")
    for earlier in range(2):
        tap = TapSession(options._replace(earlier=earlier), print)
        tap.look()
        tap.recorder.append(Record(wire="mcp", kind="frame", peer="math", data=b"{}", place=tap.place))
        tap.recorder.flush(5)
    with closing(Store.open(tmp_path / "data" / DATABASE)) as store:
        following = LiveStory(store, Stories(store).listed()[0].id)
        following.read(60)
        state = following.updates[-1].state
        assert (state.live, state.running) == (True, {store.sessions.captures(store.sessions.list()[0].id)[-1]})


def model(*hosts: str) -> str:
    """What a tap before a model states."""
    return json.dumps({"kind": "llm", "speakers": [{"host": host, "agent": host} for host in hosts]})


def server(*clients: str) -> str:
    return json.dumps({"kind": "stdio", "clients": clients})


SDK = "the OpenAI SDK for Python"
OF_TWO = {"a": model("Claude Code"), "b": model("Cline"), "a1": server("claude-code"), "b1": server("Cline")}
PAIRS = (("a", "b"), ("a1", "b"), ("a", "b1"), ("a1", "b1"))
ALIKE = {"a": model(SDK), "a1": server("mcp"), "b": model(SDK), "b1": server("mcp")}
APART = {"a": model("Claude Code"), "b": server("Cline"), "c": server("mcp")}
THREE = {"a": model(SDK), "b": server("mcp"), "c": server("mcp")}
LATER = {"a": (0, 10), "b": (40, 50), "c": (41, 50)}


@pytest.mark.parametrize(
    ("facts", "links", "times", "stories"),
    [
        # One time: one story, unless they name different hosts.
        ({"a": model(SDK), "b": server("mcp"), "c": "{}"}, {}, {}, ["a b c"]),
        (OF_TWO, {}, {}, ["a a1", "b b1"]),
        ({**OF_TWO, "x": model(SDK), "y": server("mcp")}, {}, {}, ["a a1", "b b1", "x y"]),
        ({"a": server("claude-code"), "b": server("Cline"), "c": model("Claude Code", "Cline")}, {}, {}, ["a b c"]),
        ({"by hand": server("mcp-inspector"), "b": model("Cline")}, {}, {}, ["by hand", "b"]),
        # Other times: two stories, unless another tap overlaps both.
        (THREE, {}, {"a": (0, 10), "b": (11, 20), "c": (40, 50)}, ["a b", "c"]),
        (THREE, {}, {"a": (0, 10), "b": (11, 20), "c": (21, 50)}, ["a b c"]),
        (THREE, {}, {"a": (0, 50), "b": (11, 20), "c": (40, 50)}, ["a b c"]),
        # A server that several hosts use joins them, one that tells no host is of none.
        ({**OF_TWO, "z": server("claude-code", "Cline")}, {}, {}, ["a b a1 b1 z"]),
        ({**OF_TWO, "z": server("mcp")}, {}, {}, ["a a1", "b b1", "z"]),
        # What a person parts and joins.
        (ALIKE, {("a", "b"): False, ("a1", "b"): False, ("b", "b1"): False}, {}, ["a a1 b1", "b"]),
        (ALIKE, dict.fromkeys(PAIRS, False), {}, ["a a1", "b b1"]),
        (APART, {}, LATER, ["a", "b c"]),
        (APART, {("a", "c"): True, ("a", "b"): True}, LATER, ["a b c"]),
        ({**APART, "d": server("claude-code")}, {("a", "c"): True, ("b", "c"): False}, {}, ["a c d", "b"]),
    ],
)
def test_taps_are_one_story_by_time_by_hosts_and_by_hand(
    facts: Mapping[str, str], links: Links, times: Mapping[str, tuple[int, int]], stories: list[str]
) -> None:
    taps: list[TapStory] = []
    for number, (name, stated) in enumerate(facts.items()):
        began, ended = (second * 1_000_000_000 for second in times.get(name, (number, 90)))
        info = SessionInfo(name, name, "tap", created_ns=began, updated_ns=ended, facts=stated)
        taps.append(story_of([info]))
    assert [" ".join(tap.id for tap in group.own) for group in grouped(taps, links)] == stories


SECRET = "wonderful-" * 4


def test_a_tap_writes_down_its_first_question_and_its_hosts_and_models_as_it_records() -> None:
    world, redactor = World(), Redactor([("KEY", SECRET)])
    tap, head = world.model(), Head(method="GET", url="https://api.example/v1/models")
    for number in range(40):
        asked = Record(wire="llm", kind="request", peer="example", exchange=f"g{number}", direction="out", head=head)
        tap.keep(asked)
    world.model().ask(FORMS["openai"], [User(f"what is {SECRET}?")], "Cline/3")
    facts, changes = TapFacts(), list[bool]()
    for _, record in world.records:
        facts = TapFacts(facts.text, redactor.text)  # a recorder that takes over
        changes.append(bool(facts.feed(record)))
    assert changes == [True, *[False] * 39, True]
    (speaker,) = facts.speakers
    assert (facts.kind, speaker.host, speaker.model) == ("llm", "Cline", "gpt-x")
    assert facts.question == "what is ⟨secret:KEY⟩?"
