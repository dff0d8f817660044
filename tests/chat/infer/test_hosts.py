"""Whose a story is: who asks a model is named after a host that its servers know only where something shows that it is that one."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.chat.infer.dialects import Offering
from tests.chat.infer.forms import Answer, Call, Results, User
from tests.chat.infer.kept import KeptModelTap, KeptServerTap
from tui_host.capture.store.store import Store
from tui_host.chat.infer.following import Following
from tui_host.chat.infer.taps.stories import story_with
from tui_host.chat.infer.whole import Whole
from tui_host.cli.listing import listing


@pytest.mark.parametrize(
    ("client", "offered", "calls", "hosts"),
    [
        ("claude-code", (), 0, ["the OpenAI SDK for Python", "Claude Code"]),
        ("claude-code", ("math__add",), 0, ["the OpenAI SDK for Python", "Claude Code"]),
        ("claude-code", (), 1, ["Claude Code"]),
        ("@librechat/api-client", (), 0, ["the OpenAI SDK for Python", "LibreChat"]),
        ("@librechat/api-client", ("math__add",), 0, ["LibreChat"]),
        ("@librechat/api-client", (), 1, ["LibreChat"]),
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
    list(model.answer(form, model.ask(form, asked, "OpenAI/Python 3.54.0"), Answer("", [call] * calls)))
    if calls:
        math.result(math.call("add", call.arguments)[0], "3")
        again = [*asked, Answer("", [call]), Results([(call, "3")])]
        list(model.answer(form, model.ask(form, again, "OpenAI/Python 3.54.0"), Answer("It is three.")))
    assert all(tap.kept.recording.close() for tap in (model, math))
    opened = Store.open(tmp_path / "data" / "tui-host.db")
    (listed,) = listing(opened)
    following = Following(opened, listed.info.id)
    following.read(60)
    told, whole = following.pieces[-1].told, Whole(opened, story_with(opened, listed.info.id, {}))
    assert (listed.hosts, told.hosts) == (hosts, hosts)
    assert listed.info.title == whole.info.title == told.title
    opened.close()
