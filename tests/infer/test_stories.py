"""Stories in a store: found by their ids, joined and parted by a person, and each with its own calls on a server that hosts share."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from tests.infer.forms import FORMS
from tests.infer.kept import KeptModelTap, KeptServerTap
from tests.kit.bodies import Answer, Call, Results, User
from tui_host.capture.record import Draft
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError
from tui_host.infer.live_story import LiveStory
from tui_host.infer.stories import Stories, TapStory, first_tap, story_id
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
    listed = [story for story in stories.listed()[0] if isinstance(story, TapStory)]
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
    (alone,) = stories.listed()[0]
    assert (alone.id, titles(stories)) == (story_id(a), ["a"])
    recorded(tmp_path, "b")
    (story,) = stories.listed()[0]
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
    store.sessions.delete(a)
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
    store.sessions.delete(ids["a"])
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
    def keep(self, draft: Draft) -> int:
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
    stories = [story for story in Stories(store).listed()[0] if isinstance(story, TapStory)]
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
        assert {record.draft.connection for record in records if record.draft.kind == "frame"} == {name}
        following = LiveStory(store, story.id)
        following.read(60)
        fed = {record.key for piece in following.updates for record in piece.records if record.draft.kind != "link"}
        assert fed == {record.key for record in records if record.draft.kind != "link"}
    half = Stories(store).find(by_title(store)["everything"])
    assert isinstance(half, TapStory)
    assert {record.draft.connection for record, _ in WholeStory(store, half).session_records("")} == {*HOSTS}
    store.close()
