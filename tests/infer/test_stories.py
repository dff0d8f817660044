"""Which taps are one story, whose they are, and what they tell of themselves."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from tests.infer.forms import FORMS, offering
from tests.infer.kept import KeptModelTap, KeptServerTap
from tests.infer.world import World
from tests.kit.bodies import Answer, Call, Results, User
from tui_host.capture.record import Head, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.deletion import delete_session
from tui_host.capture.store.store import Store
from tui_host.cli.recorded import listing
from tui_host.errors import TuiHostError
from tui_host.infer.conversations.host_names import Speaker, models_of
from tui_host.infer.live_story import LiveStory
from tui_host.infer.stories import Stories, TapStory, first_tap, story_id
from tui_host.infer.tap_facts import TapFacts
from tui_host.infer.tap_groups import KnownTap, Links, grouped
from tui_host.infer.whole_story import WholeStory
from tui_host.settings.paths import DATABASE

HOSTS = {
    "anthropic": ("claude-cli/2.0.14", "claude-code"),
    "gemini": ("GeminiCLI/v0.9.0/gemini-x", "gemini-cli-mcp-client"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def recorded(tmp_path: Path, *titles: str, client: str = "mcp") -> None:
    """Taps of servers with these titles, in the order in which they began."""
    for title in titles:
        tap = KeptServerTap(tmp_path, title)
        tap.start(["add"], client=client)
        assert tap.kept.recording.close()


def titles(stories: Stories) -> list[str]:
    """The titles of the taps of each story, the first story first."""
    listed = [story for story in stories.listed() if isinstance(story, TapStory)]
    return sorted(" ".join(tap.title for tap in story.taps) for story in listed)


def by_title(store: Store) -> dict[str, str]:
    return {info.title: info.id for info in store.sessions.list()}


def test_a_storys_id_is_like_that_of_its_first_tap_and_sorts_by_time() -> None:
    assert story_id("20261124-153000-4f2k9") == "20261124-153000-s4f2k9"
    assert first_tap("20261124-153000-s4f2k9") == "20261124-153000-4f2k9"
    assert first_tap("20261124-153000-4f2k9") == ""


def test_a_story_keeps_its_id_when_taps_join_and_a_taps_id_gives_its_half(tmp_path: Path, folder: Path) -> None:
    recorded(tmp_path, "a")
    store = Store.open(folder / DATABASE)
    stories, a = Stories(store), by_title(store)["a"]
    (alone,) = stories.listed()
    assert (alone.id, titles(stories)) == (story_id(a), ["a"])
    recorded(tmp_path, "b")
    (story,) = stories.listed()
    assert (story.id, titles(stories)) == (alone.id, ["a b"])
    b = by_title(store)["b"]
    assert isinstance(story, TapStory)
    assert stories.find("last") == stories.find(story.id) == stories.find(story.id[:-1]) == story
    assert stories.find(story.id[:10]) == story  # the beginning of the taps' ids, too
    for tap in (a, b):
        half = stories.find(tap)
        assert isinstance(half, TapStory)
        assert (half.id, [info.id for info in half.taps]) == (tap, [tap])
        assert stories.find(tap[:-1]) == half
    with pytest.raises(TuiHostError, match="there is no such session"):
        stories.find(f"{a}x")
    delete_session(store, a)
    assert titles(Stories(store)) == ["b"]
    assert Stories(store).get(story.id) is None
    store.close()


def test_what_a_person_joins_and_parts_stays_so_for_every_process(tmp_path: Path, folder: Path) -> None:
    recorded(tmp_path, "a", "b", client="Cline")
    recorded(tmp_path, "c", client="zed")
    store = Store.open(folder / DATABASE)
    stories, ids = Stories(store), by_title(store)
    following = LiveStory(store, story_id(ids["a"]))
    following.read(60)
    assert titles(stories) == ["a b", "c"]

    joined = stories.join(story_id(ids["c"]), ids["b"])
    assert (joined.id, [tap.title for tap in joined.taps]) == (story_id(ids["a"]), ["a", "b", "c"])
    reader = Store.open_to_read(folder / DATABASE)
    assert titles(Stories(reader)) == ["a b c"]
    following._looked_for_taps = 0.0  # pyright: ignore[reportPrivateUsage] - a second later
    following.read(60)
    assert {record.capture for piece in following.updates for record in piece.records} == {*ids.values()}

    assert [tap.title for tap in stories.part(ids["a"]).taps] == ["a"]
    assert titles(Stories(reader)) == ["a", "b c"]
    following._looked_for_taps = 0.0  # pyright: ignore[reportPrivateUsage]
    following.read(60)
    assert following.updates[-1].state.is_stale  # a screen begins anew
    stories.join(ids["a"], ids["b"])
    assert titles(Stories(reader)) == ["a b c"]
    delete_session(store, ids["a"])
    assert titles(Stories(reader)) == ["b c"]
    assert not [row for row in store.read("SELECT tap, other FROM tap_links") if ids["a"] in row]
    reader.close()
    store.close()


def test_what_cannot_be_joined_or_parted_is_told(tmp_path: Path, folder: Path) -> None:
    recorded(tmp_path, "a", "b")
    store = Store.open(folder / DATABASE)
    stories, ids = Stories(store), by_title(store)
    story = story_id(ids["a"])
    with pytest.raises(TuiHostError, match=f"name the tap to part: {ids['a']}, {ids['b']}"):
        stories.part(story)
    stories.part(ids["b"])
    with pytest.raises(TuiHostError, match="by itself already"):
        stories.part(ids["b"])
    with pytest.raises(TuiHostError, match="the same tap"):
        stories.join(ids["a"], story)
    with pytest.raises(TuiHostError, match="there is no such session"):
        stories.join(ids["a"], "nothing")
    store.close()


class HttpTap(KeptServerTap):
    """A tap before a server over HTTP: each frame stands in an exchange."""

    @override
    def keep(self, draft: Record) -> int:
        return super().keep(replace(draft, exchange=self.exchange()))


def keep_shared(tmp_path: Path) -> None:
    """Two hosts with a tap each before their models, and one before the server that both use over HTTP."""
    everything = HttpTap(tmp_path, "everything")
    models: list[KeptModelTap] = []
    for name, (agent, client) in HOSTS.items():
        form, call, asked = FORMS[name], Call("", "everything__echo", {"a": 1}), [User(f"go, {name}")]
        everything.start(["echo"], client, name)
        models.append(KeptModelTap(tmp_path, name))
        list(models[-1].answer(form, models[-1].ask(form, asked, agent), Answer("", [call])))
        everything.result(everything.call("echo", call.arguments, name)[0], f"for {name}", connection=name)
        told = [*asked, Answer("", [call]), Results([(call, f"for {name}")])]
        list(models[-1].answer(form, models[-1].ask(form, told, agent), Answer("Done.")))
    assert all(tap.kept.recording.close() for tap in (everything, *models))


def test_a_server_that_two_hosts_share_is_in_both_stories_each_with_its_own_calls(tmp_path: Path, folder: Path) -> None:
    keep_shared(tmp_path)
    store = Store.open(folder / DATABASE)
    stories = [story for story in Stories(store).listed() if isinstance(story, TapStory)]
    assert {tuple(tap.title for tap in story.taps) for story in stories} == {
        ("everything", "anthropic"),
        ("everything", "gemini"),
    }
    assert len({story.id for story in stories}) == 2
    for story in stories:
        name = story.taps[1].title
        assert list(story.hosts) == [{"anthropic": "Claude Code", "gemini": "Gemini CLI"}[name]]
        whole = WholeStory(store, story)
        items = [json.loads(text) for text in whole.session_items("")]
        assert [item["result"] for item in items if item["item"] == "call"] == [f"for {name}"]
        records = [record for record, _ in whole.session_records("")]
        assert {record.connection for record in records if record.kind == "frame"} == {name}
        following = LiveStory(store, story.id)
        following.read(60)
        fed = {record.key for piece in following.updates for record in piece.records if record.kind != "link"}
        assert fed == {record.key for record in records if record.kind != "link"}
    half = Stories(store).find(by_title(store)["everything"])
    assert isinstance(half, TapStory)
    assert {record.connection for record, _ in WholeStory(store, half).session_records("")} == {*HOSTS}
    store.close()


# Groups of taps.


SECOND = 1_000_000_000


def model(*hosts: str) -> TapFacts:
    facts = TapFacts()
    facts.kind, facts.speakers = "llm", [Speaker(host=host, agent=host) for host in hosts]
    return facts


def server(*clients: str, kind: str = "stdio") -> TapFacts:
    facts = TapFacts()
    facts.kind, facts.clients = kind, [*clients]
    return facts


def known(name: str, began: int, ended: int, facts: TapFacts) -> KnownTap:
    info = SessionInfo(id=name, title=name, created_ns=began * SECOND, updated_ns=ended * SECOND, source="tap")
    return KnownTap(info=info, facts=facts, ended_ns=ended * SECOND)


def stories(facts: Mapping[str, TapFacts], links: Links | None = None, **times: tuple[int, int]) -> list[str]:
    """The names of the taps of each story; taps run from 0, 1, … to 90 where no other times are given."""
    taps = [known(name, *times.get(name, (number, 90)), facts[name]) for number, name in enumerate(facts)]
    decided = {(min(pair), max(pair)): joined for pair, joined in (links or {}).items()}
    groups = grouped(taps, decided)
    assert {each.id for group in groups for each in group.taps} == {*facts}
    return [" ".join(each.id for each in group.taps) for group in groups]


SDK = "the OpenAI SDK for Python"
OF_TWO = {"a": model("Claude Code"), "b": model("Cline"), "a1": server("claude-code"), "b1": server("Cline")}


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"a": model(SDK), "b": server("mcp"), "c": TapFacts()}, ["a b c"]),
        ({"a": model("Cline"), "b": server("mcp"), "c": server("cline")}, ["a b c"]),
        (OF_TWO, ["a a1", "b b1"]),
        ({**OF_TWO, "x": model(SDK), "y": server("mcp")}, ["a a1", "b b1", "x y"]),
        ({"a1": server("claude-code"), "b1": server("Cline"), "both": model("Claude Code", "Cline")}, ["a1 b1 both"]),
        ({"by hand": server("mcp-inspector"), "b": model("Cline")}, ["by hand", "b"]),
        ({"a": model("node"), "b": model("python-requests"), "c": server("alpha")}, ["a b c"]),
    ],
    ids=[
        "no name",
        "one name",
        "two names",
        "no name beside two",
        "turns at one model",
        "by hand",
        "names of libraries",
    ],
)
def test_taps_of_one_time_are_one_story_unless_they_name_different_hosts(
    facts: Mapping[str, TapFacts], found: list[str]
) -> None:
    assert stories(facts) == found


def test_taps_that_do_not_overlap_are_two_stories_unless_another_overlaps_both() -> None:
    facts = {"a": model(SDK), "b": server("mcp"), "c": server("mcp")}
    assert stories(facts, a=(0, 10), b=(11, 20), c=(40, 50)) == ["a b", "c"]
    assert stories(facts, a=(0, 10), b=(11, 20), c=(21, 50)) == ["a b c"]
    assert stories(facts, a=(0, 50), b=(11, 20), c=(40, 50)) == ["a b c"]


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({**OF_TWO, "z": server("claude-code", "Cline", kind="http")}, ["a a1 z", "b b1 z"]),
        ({**OF_TWO, "z": server("claude-code", kind="http")}, ["a a1 z", "b b1"]),
        ({**OF_TWO, "z": server("mcp", kind="http")}, ["a a1", "b b1", "z"]),
        ({"a": model("Claude Code"), "z": server("claude-code", "Cline", kind="http")}, ["a z"]),
    ],
    ids=["both", "of one", "of neither", "one tapped at its model"],
)
def test_a_server_over_http_is_in_the_story_of_each_host_that_uses_it(
    facts: Mapping[str, TapFacts], found: list[str]
) -> None:
    assert stories(facts) == found


ALIKE = {"a": model(SDK), "a1": server("mcp"), "b": model(SDK), "b1": server("mcp")}


@pytest.mark.parametrize(
    ("links", "found"),
    [
        ({("b", "a"): False, ("b", "a1"): False, ("b", "b1"): False}, ["a a1 b1", "b"]),
        ({("b", "a"): False, ("b", "a1"): False, ("b1", "a"): False, ("b1", "a1"): False}, ["a a1", "b b1"]),
        ({("a", "a1"): False, ("a", "b"): False, ("a", "b1"): False}, ["a", "a1 b b1"]),
    ],
    ids=["one tap", "two taps", "the first tap"],
)
def test_a_person_parts_taps_of_hosts_without_a_name(links: Links, found: list[str]) -> None:
    assert stories(ALIKE, links) == found


def test_a_person_joins_taps_of_different_times_and_names_for_good() -> None:
    facts = {"a": model("Claude Code"), "b": server("Cline"), "c": server("mcp")}
    assert stories(facts, a=(0, 10), b=(40, 50), c=(41, 50)) == ["a", "b c"]
    assert stories(facts, {("a", "c"): True, ("a", "b"): True}, a=(0, 10), b=(40, 50), c=(41, 50)) == ["a b c"]
    assert stories({**facts, "d": server("claude-code")}, {("a", "c"): True, ("b", "c"): False}) == ["a c d", "b"]


# What taps tell.


SECRET = "wonderful-" * 4


def test_a_tap_writes_down_its_first_question_and_its_hosts_and_models_as_it_records() -> None:
    world, redactor = World(), Redactor([("KEY", SECRET)])
    model = world.model()
    for number in range(40):
        head = Head(method="GET", url="https://api.example/v1/models")
        model.keep(
            Record(wire="llm", kind="request", peer="example", exchange=f"g{number}", direction="out", head=head)
        )
    world.model().ask(FORMS["openai"], [User(f"what is {SECRET}?")], "Cline/3")
    facts = TapFacts()
    assert (facts.text, facts.kind, facts.hosts) == ("{}", "", frozenset())
    changes: list[bool] = []
    for _, record in world.records:
        facts = TapFacts(facts.text, redactor.text)  # a recorder that takes over
        changes.append(facts.feed(record))
    assert changes == [True, *[False] * 39, True]
    assert (facts.kind, facts.peer, facts.hosts) == ("llm", "example", {"Cline"})
    assert (models_of(facts.speakers), facts.question) == ([("example", "gpt-x")], "what is ⟨secret:KEY⟩?")


@pytest.mark.parametrize(
    ("client", "offered", "calls", "hosts"),
    [
        ("claude-code", (), 0, ["the OpenAI SDK for Python", "Claude Code"]),
        ("claude-code", ("math__add",), 1, ["the OpenAI SDK for Python", "Claude Code"]),
        ("@librechat/api-client", (), 0, ["LibreChat"]),
        ("@librechat/api-client", ("math__add",), 1, ["LibreChat"]),
    ],
)
def test_a_model_is_not_said_to_be_asked_by_the_host_of_a_server_where_nothing_shows_that(
    tmp_path: Path, client: str, offered: Sequence[str], calls: int, hosts: list[str]
) -> None:
    form, call = offering(dict.fromkeys(offered, "")), Call(uuid.uuid4().hex, "math__add", {"a": 1, "b": 2})
    model, math = KeptModelTap(tmp_path, "example"), KeptServerTap(tmp_path, "math")
    math.start(["add"], client=client)
    asked = [User("what is it?")]
    if not calls:
        math.result(math.call("add", call.arguments)[0], "3")
    list(model.answer(form, model.ask(form, asked, "OpenAI/Python 3.54.0"), Answer("", [call] if calls else [])))
    for _ in range(calls):
        math.result(math.call("add", call.arguments)[0], "3")
    if calls:
        again = [*asked, Answer("", [call]), Results([(call, "3")])]
        list(model.answer(form, model.ask(form, again, "OpenAI/Python 3.54.0"), Answer("It is three.")))
    assert all(tap.kept.recording.close() for tap in (model, math))
    opened = Store.open(tmp_path / "data" / "tui-host.db")
    (listed,) = listing(opened)
    assert listed.story is not None
    following = LiveStory(opened, listed.info.id)
    following.read(60)
    told, whole = following.updates[-1].state, WholeStory(opened, listed.story)
    assert (listed.story.hosts, told.hosts) == (hosts, hosts)
    assert listed.info.title == whole.info.title == told.title
    opened.close()
