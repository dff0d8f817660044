"""Whose a story is, and each of its turns: where nothing shows whose they are, no host has another one's name, answers or calls."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.infer.forms import offering
from tests.infer.kept import KeptModelTap, KeptServerTap
from tests.kit.bodies import Answer, Call, Results, User
from tui_host.capture.store.store import Store
from tui_host.cli.recorded import listing
from tui_host.infer.live_story import LiveStory
from tui_host.infer.stories import Stories
from tui_host.infer.whole_story import WholeStory


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
    assert (listed.story.hosts, told.hosts, Stories(opened).get(listed.info.id)) == (hosts, hosts, listed.story)
    assert listed.info.title == whole.info.title == told.title
    opened.close()


CODING, SDK, OWN = "opencode/1.18", "OpenAI/Python 2", "my-agent/1"
NAMES = {CODING: "opencode", SDK: "the OpenAI SDK for Python", OWN: "my-agent"}
