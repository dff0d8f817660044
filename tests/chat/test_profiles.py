"""A turn that follows a profile: what the model is told, offered and asked for, and what Parts shows of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from tests.chat.bench import Bench, in_turn, says
from tests.chat.conftest import Make
from tests.chat.test_parts_prompted import drawn, rows_of, wires_of
from tests.llm.peer import peer
from tests.llm.protocols.answers import PLAIN
from tui_host.chat.active_profile import offers
from tui_host.chat.conversation import NoteItem
from tui_host.errors import JSON
from tui_host.settings.model_options import Options
from tui_host.settings.schema import Profile, Provider, Template

NOW = datetime(2026, 11, 22, 9, 20, 5, tzinfo=UTC)
SYSTEM = "Be «brief». It is {time}; {servers}; {tools} {instructions} ${WHO:-nobody}"
FILLED = "Be «brief». It is Sunday 2026-11-22 09:20:05+00:00; math; {tools} {instructions} nobody"


def following(at: Bench, profile: Profile) -> Bench:
    at.services.settings = replace(at.services.settings, profiles={profile.name: profile})
    at.services.now = lambda: NOW
    at.session.profile = profile.name
    return at


def bodies(at: Bench) -> list[dict[str, JSON]]:
    return [json.loads(body) for body in at.requests()]


async def test_the_request_begins_with_the_system_prompt_and_offers_what_the_profile_chooses(bench: Make) -> None:
    at = following(bench(yes=True), Profile(name="p", system=Template(text=SYSTEM), tools=("math.add", "m*.mult*")))
    result = await at.ask('call math.add {"a":1,"b":2}')
    assert len(result.outcomes) == 1

    for body in bodies(at):
        messages, tools = body["messages"], body["tools"]
        assert isinstance(messages, list)
        assert messages[0] == {"role": "system", "content": FILLED}
        assert [name for name in ("add", "multiply", "divide") if f"math__{name}" in json.dumps(tools)] == [
            "add",
            "multiply",
        ]
    assert all(message.role != "system" for message in at.session.messages), "it is the profile's, not the session's"
    first = wires_of(at)
    shown = drawn(first, rows_of(first, "request")[1], "/messages/messages/0")
    assert f"added by profile p: {len(FILLED.encode()):,} bytes" in shown
    assert "from profile p" in shown
    assert "the system prompt of profile p" in shown


@pytest.mark.parametrize("name", PLAIN)
async def test_with_a_tool_protocol_of_plain_text_both_are_told_apart_by_their_bytes(bench: Make, name: str) -> None:
    async with peer(in_turn(says("hello"))) as there:
        at = following(bench(url=there.url), Profile(name="p", system=Template(text=SYSTEM)))
        at.session.protocol = name
        await at.ask("hello")
    (body,) = at.requests()
    marked = [link for link in at.links() if link.relation in {"profile", "injected"}]
    (own,) = [link for link in marked if link.relation == "profile"]
    assert json.loads(b'"%s"' % body[own.span.start : own.span.end]) == FILLED
    assert own.words == "profile p"
    ends = sorted((link.span.start, link.span.end or 0) for link in marked)
    assert all(before[1] <= after[0] for before, after in pairwise(ends))


async def test_options_of_the_session_are_over_the_profiles_and_those_over_the_providers(bench: Make) -> None:
    below = Options(temperature=0.1, top_p=0.1, seed=1, extra_body={"a": 1, "b": 1, "c": 1})
    middle = Options(temperature=0.2, top_p=0.2, extra_body={"a": 2, "b": "${V:-two}"})
    async with peer(in_turn(says("hello"))) as there:
        at = following(bench(url=there.url), Profile(name="p", options=middle))
        find = at.services.provider

        async def configured(_: object) -> Provider:
            return replace(await find(at.session.model), options=below)

        at.services.provider = configured
        at.session.options = Options(temperature=0.3, extra_body={"a": "${V}"})
        await at.ask("hello")
    (body,) = bodies(at)
    assert [body[name] for name in ("temperature", "top_p", "seed", "a", "b", "c")] == [0.3, 0.2, 1, "${V}", "two", 1]


async def test_a_profile_that_is_no_longer_there_is_told_once_and_gone_on_without(bench: Make) -> None:
    async with bench.hearing(says("hello")) as at:
        at.session.profile = "gone"
        for _ in range(2):
            assert (await at.ask("hello")).stop == "done"
    (note,) = at.items(NoteItem)
    assert "gone is no longer configured" in note.what
    assert at.session.profile == ""


async def test_a_variable_of_the_system_prompt_that_is_not_set_fails_the_turn_and_sends_nothing(bench: Make) -> None:
    at = following(bench(), Profile(name="p", system=Template(text="${NOBODY}")))
    result = await at.ask("hello")
    assert result.error is not None
    assert (result.error.what, result.error.where) == ("NOBODY is not set", "profiles.p.system")
    assert at.requests() == []


@pytest.mark.parametrize(
    ("servers", "tools", "offered"),
    [
        (None, None, ["math", "math.add", "time", "time.now"]),
        ((), None, []),
        (("math",), None, ["math", "math.add"]),
        (None, ("*.add",), ["math", "math.add", "time"]),
        (None, (), []),
    ],
)
def test_servers_and_tools_together_choose_what_is_offered(
    servers: tuple[str, ...] | None, tools: tuple[str, ...] | None, offered: list[str]
) -> None:
    profile = Profile(name="p", servers=servers, tools=tools)
    names = ["math", "math.add", "time", "time.now"]
    assert [name for name in names if offers(profile, name.partition(".")[0], name.partition(".")[2])] == offered


KIND = ("math", "Be kind. ${WHO:-nobody} {time}")
TOLD = "Instructions of the server math:\nBe kind. ${WHO:-nobody} {time}"


def told_first(at: Bench) -> str:
    messages = bodies(at)[0]["messages"]
    assert isinstance(messages, list)
    assert isinstance(messages[0], dict)
    assert messages[0]["role"] == "system"
    return str(messages[0]["content"])


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (None, TOLD),
        (Profile(name="p", system=Template(text="Be brief.")), f"Be brief.\n\n{TOLD}"),
        (Profile(name="p", system=Template(text="A\n{server_instructions}\nB")), f"A\n{TOLD}\nB"),
    ],
)
async def test_instructions_that_were_switched_on_are_told_as_they_are_and_marked_by_their_server(
    bench: Make, profile: Profile | None, expected: str
) -> None:
    async with peer(in_turn(says("hello"))) as there:
        at = bench(url=there.url) if profile is None else following(bench(url=there.url), profile)
        at.pool.instructing = (KIND,)
        await at.ask("hello")
    assert told_first(at) == expected
    (body,) = at.requests()
    spans = [(link.words, json.loads(b'"%s"' % body[link.span.start : link.span.end])) for link in at.links()]
    assert ("the server math", TOLD) in spans
    assert "added by the server math: " in drawn(wires_of(at), rows_of(wires_of(at), "request")[0], "/messages")


@pytest.mark.parametrize(("system", "is_told"), [("A {server_instructions}", True), ("A", False)])
async def test_a_protocol_of_plain_text_tells_instructions_only_where_the_system_prompt_has_a_place(
    bench: Make, system: str, *, is_told: bool
) -> None:
    async with peer(in_turn(says("hello"))) as there:
        at = following(bench(url=there.url), Profile(name="p", system=Template(text=system)))
        at.session.protocol = "cline"
        at.pool.instructing = (KIND,)
        await at.ask("hello")
    assert (TOLD in told_first(at)) == is_told


async def test_a_profile_without_a_server_is_not_told_its_instructions(bench: Make) -> None:
    async with peer(in_turn(says("hello"))) as there:
        at = following(bench(url=there.url), Profile(name="p", system=Template(text="A"), servers=("other",)))
        at.pool.instructing = (KIND,)
        await at.ask("hello")
    assert told_first(at) == "A"
