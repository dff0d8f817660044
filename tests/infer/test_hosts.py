"""Whose a story is, and each of its turns: where nothing shows whose they are, no host has another one's name, answers or calls."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.infer.dialects import Offering
from tests.infer.forms import FORMS, Answer, Call, Entry, Results, User
from tests.infer.kept import KeptModelTap, KeptServerTap
from tests.infer.world import MS, World
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import CallItem, Conversation, NoteItem
from tui_host.cli.session_list import listing
from tui_host.infer.live_story import Following
from tui_host.infer.stories import Stories
from tui_host.infer.story import Story
from tui_host.infer.story_chat import Telling
from tui_host.infer.whole_story import Whole


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
    tmp_path: Path,
    client: str,
    offered: Sequence[str],
    calls: int,
    hosts: list[str],
) -> None:
    form, call = Offering(dict.fromkeys(offered, "")), Call(uuid.uuid4().hex, "math__add", {"a": 1, "b": 2})
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
    following = Following(opened, listed.info.id)
    following.read(60)
    told, whole = following.pieces[-1].state, Whole(opened, listed.story)
    assert (listed.story.hosts, told.hosts, Stories(opened).get(listed.info.id)) == (hosts, hosts, listed.story)
    assert listed.info.title == whole.info.title == told.title
    opened.close()


CODING, SDK, OWN = "opencode/1.18", "OpenAI/Python 2", "my-agent/1"
NAMES = {CODING: "opencode", SDK: "the OpenAI SDK for Python", OWN: "my-agent"}


def in_turns(form_name: str, agents: Sequence[str], *, first_fails: bool = False) -> Story:
    """Hosts that say and hear the same through one tap, each in its turn; but the result of its call is each one's own."""
    world, form, call = World(), FORMS[form_name], Call("", "math__add", {"a": 1, "b": 2})
    model, said = world.model(), {agent: list[Entry]() for agent in agents}
    for number, (text, answer) in enumerate(
        (("go", Answer("Hello.")), ("and?", Answer("", [call])), ("", Answer("Done.")))
    ):
        for agent, entries in said.items():
            entries.append(User(text) if text else Results([(call, f"told {agent}")]))
            exchange = model.ask(form, entries, agent)
            if first_fails and not number and agent == agents[0]:
                model.fail(exchange)
                entries.clear()
            else:
                list(model.answer(form, exchange, answer))
                entries.append(answer)
            world.now += 50 * MS
    return world.story()


@pytest.mark.parametrize("first_fails", [False, True])
@pytest.mark.parametrize("form", ["openai", "ollama", "cherry"])
@pytest.mark.parametrize("agents", [(CODING, SDK), (SDK, CODING), (SDK, OWN)])
def test_hosts_that_say_the_same_through_one_tap_have_turns_and_results_of_their_own(
    form: str,
    agents: Sequence[str],
    first_fails: bool,  # noqa: FBT001 - a row's
) -> None:
    story = in_turns(form, agents, first_fails=first_fails)
    turns: dict[int, set[str]] = {}
    for said in story.exchanges:
        turns.setdefault(said.turn, set()).add(said.asking.host)
    assert all(len(hosts) == 1 for hosts in turns.values())
    assert {turn: {host} for turn, host in story.whose.items()} == turns
    parents = [(story.talks.said[said.parent], said) for said in story.exchanges if said.parent is not None]
    assert len(parents) >= 3
    assert all(before.asking.host == said.asking.host for before, said in parents)
    chat = Conversation()
    Telling(story, chat).tell()
    told = [(story.whose[item.turn], item.result) for item in chat.items if isinstance(item, CallItem)]
    assert sorted(told) == sorted((NAMES[agent], f"told {agent}") for agent in agents)


def test_a_chat_of_several_hosts_says_whose_each_turn_is_where_that_changes() -> None:
    chat = Conversation()
    Telling(in_turns("openai", (CODING, SDK)), chat).tell()
    assert [item.what for item in chat.items if isinstance(item, NoteItem)] == [
        "opencode asks:",
        "the OpenAI SDK for Python asks:",
        'opencode, after "go":',
        'the OpenAI SDK for Python, after "go":',
        'opencode, to "and?":',
        'the OpenAI SDK for Python, to "and?":',
    ]
    chat = Conversation()
    Telling(in_turns("openai", (CODING,)), chat).tell()
    assert not [item for item in chat.items if isinstance(item, NoteItem)]
