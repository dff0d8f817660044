"""A turn that follows a profile: what the model is told, offered and asked for, and where each part of it comes from."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from tests.chat.bench import Bench, says
from tests.chat.conftest import Make
from tests.llm.protocols.answers import PLAIN
from tui_host.chat.active_profile import offers
from tui_host.errors import JSON
from tui_host.settings.model_options import Options
from tui_host.settings.schema import Profile, Provider, Template

NOW = datetime(2026, 11, 22, 9, 20, 5, tzinfo=UTC)
SYSTEM = "Be «brief». It is {time}; {servers}; {tools} {instructions} ${WHO:-nobody}"
FILLED = "Be «brief». It is Sunday 2026-11-22 09:20:05+00:00; math; {tools} {instructions} nobody"
KIND = ("math", "Be kind. ${WHO:-nobody} {time}")
TOLD = "Instructions of the server math:\nBe kind. ${WHO:-nobody} {time}"


def following(at: Bench, profile: Profile | None) -> Bench:
    if profile is not None:
        at.services.settings = replace(at.services.settings, profiles={profile.name: profile})
        at.session.profile = profile.name
    at.services.now = lambda: NOW
    return at


def system_of(at: Bench) -> str:
    first = json.loads(at.requests()[0])["messages"][0]
    return str(first["content"]) if first["role"] == "system" else ""


def origins(at: Bench) -> list[tuple[str, str, str]]:
    """Relation, origin and text of each linked part of the first request."""
    body = at.requests()[0]
    return [
        (link.relation, link.words, json.loads(b'"%s"' % body[link.span.start : link.span.end]))
        for link in at.links()
        if link.span.exchange == "x1" and link.relation in {"profile", "injected"}
    ]


async def test_the_request_begins_with_the_system_prompt_and_offers_what_the_profile_chooses(bench: Make) -> None:
    at = following(bench(yes=True), Profile(name="p", system=Template(text=SYSTEM), tools=("math.add", "m*.mult*")))
    result = await at.ask('call math.add {"a":1,"b":2}')
    assert len(result.outcomes) == 1
    for body in map(json.loads, at.requests()):
        assert body["messages"][0] == {"role": "system", "content": FILLED}
        assert [tool["function"]["name"] for tool in body["tools"]] == ["math__add", "math__multiply"]
    assert all(message.role != "system" for message in at.session.messages), "it is the profile's, not the session's"
    assert origins(at)[0] == ("profile", "profile p", FILLED)


@pytest.mark.parametrize("name", PLAIN)
async def test_with_a_tool_protocol_of_plain_text_both_are_told_apart_by_their_bytes(bench: Make, name: str) -> None:
    async with bench.hearing(says("hello"), protocol=name) as at:
        await following(at, Profile(name="p", system=Template(text=SYSTEM))).ask("hello")
    marked = [link for link in at.links() if link.relation in {"profile", "injected"}]
    assert [origin for origin in origins(at) if origin[0] == "profile"] == [("profile", "profile p", FILLED)]
    ends = sorted((link.span.start, link.span.end or 0) for link in marked)
    assert all(before[1] <= after[0] for before, after in pairwise(ends))


async def test_options_of_the_session_are_over_the_profiles_and_those_over_the_providers(bench: Make) -> None:
    below = Options(temperature=0.1, top_p=0.1, seed=1, extra_body={"a": 1, "b": 1, "c": 1})
    middle = Options(temperature=0.2, top_p=0.2, extra_body={"a": 2, "b": "${V:-two}"})
    async with bench.hearing(says("hello")) as at:
        following(at, Profile(name="p", options=middle))
        find = at.services.provider

        async def configured(_: object) -> Provider:
            return replace(await find(at.session.model), options=below)

        at.services.provider = configured
        at.session.options = Options(temperature=0.3, extra_body={"a": "${V}"})
        await at.ask("hello")
    body: dict[str, JSON] = json.loads(at.requests()[0])
    assert [body[name] for name in ("temperature", "top_p", "seed", "a", "b", "c")] == [0.3, 0.2, 1, "${V}", "two", 1]


async def test_a_profile_that_is_gone_is_told_once_and_one_with_an_unset_variable_sends_nothing(bench: Make) -> None:
    async with bench.hearing(says("hello")) as at:
        at.session.profile = "gone"
        for _ in range(2):
            assert (await at.ask("hello")).stop == "done"
        assert at.notes() == ["the profile gone is no longer configured: continued without it / /model chooses another"]
        assert at.session.profile == ""
        error = (await following(at, Profile(name="p", system=Template(text="${NOBODY}"))).ask("hello")).error
    assert error is not None
    assert (error.what, error.where, len(at.requests())) == ("NOBODY is not set", "profiles.p.system", 2)


def test_servers_and_tools_together_choose_what_is_offered() -> None:
    names = ["math", "math.add", "time", "time.now"]
    for servers, tools, offered in (
        (None, None, names),
        ((), None, []),
        (("math",), None, ["math", "math.add"]),
        (None, ("*.add",), ["math", "math.add", "time"]),
        (None, (), []),
    ):
        profile = Profile(name="p", servers=servers, tools=tools)
        assert [name for name in names if offers(profile, name.partition(".")[0], name.partition(".")[2])] == offered


def of(system: str, *servers: str) -> Profile:
    return Profile(name="p", system=Template(text=system), servers=servers or None)


@pytest.mark.parametrize(
    ("protocol", "profile", "expected"),
    [
        ("native", None, TOLD),
        ("native", of("Be brief."), f"Be brief.\n\n{TOLD}"),
        ("native", of("A\n{server_instructions}\nB"), f"A\n{TOLD}\nB"),
        ("native", of("A", "other"), "A"),
        ("cline", of("A {server_instructions}"), f"A {TOLD}"),
        ("cline", of("A"), "A"),
    ],
)
async def test_instructions_that_were_switched_on_are_told_as_they_are_and_marked_by_their_server(
    bench: Make, protocol: str, profile: Profile | None, expected: str
) -> None:
    async with bench.hearing(says("hello"), protocol=protocol) as at:
        at.pool.instructing = (KIND,)
        await following(at, profile).ask("hello")
    told = [origin[2] for origin in origins(at) if origin[:2] == ("profile", "the server math")]
    assert told == ([TOLD] if TOLD in expected else [])
    assert system_of(at) == expected if protocol == "native" else expected in system_of(at)
