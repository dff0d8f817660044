"""Agents that are made with different things and use servers of the same name: told apart, but where something tells that they are one."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from tests.infer.forms import FORMS, Answer, Call, Entry, Results, User
from tests.infer.kept import KeptModelTap, KeptServerTap
from tests.steps import steps
from tui_host.capture.record import Draft, Head
from tui_host.capture.session_summary import foreign_session
from tui_host.capture.store.store import Store
from tui_host.infer.asking.speakers import Speaking
from tui_host.infer.clock_offsets import SURE_NS
from tui_host.infer.taps.about import About
from tui_host.infer.taps.agents import voices_of
from tui_host.infer.taps.owners import Owners
from tui_host.infer.taps.stories import Known, look_at, stories_of, story_with
from tui_host.infer.taps.together import together
from tui_host.infer.taps.touching import Stretch

AGENTS = {"openai": "OpenAI/Python 3.54.0", "anthropic": "Anthropic/Python 2.12.0"}
AT_LENGTH = "This is said at such length that no two models say it by chance, blanks or not."


class Agents:
    """Taps of agents, each of its own form, while they run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.models = {form: KeptModelTap(folder, form) for form in AGENTS}
        self.servers: dict[str, KeptServerTap] = {}
        self.quiet: list[KeptModelTap] = []
        self._ahead_ns = 0

    def later(self, nanoseconds: int) -> None:
        """What follows is so much later than it is."""
        self._ahead_ns += nanoseconds
        for tap in (*self.models.values(), *self.servers.values(), *self.quiet):
            tap.kept.ahead_ns = self._ahead_ns

    def serve(self, title: str, *, over_http: bool = False, session: str = "") -> KeptServerTap:
        """A server called math, before which a tap of a title stands; over HTTP it may name a session."""
        tap = self.servers[title] = KeptServerTap(self._folder, title)
        tap.kept.ahead_ns = self._ahead_ns
        tap.name, tap.has_no_sessions = "math", over_http
        if session:
            head = Head(status=200, headers=(("Mcp-Session-Id", session),))
            tap.keep(Draft(wire="mcp", kind="response", peer="math", connection="c", exchange="c1 i", head=head))
        tap.start(["add"], client="mcp")
        return tap

    def ask(self, form: str, entries: list[Entry], answer: Answer) -> None:
        """A request of an agent, and its answer."""
        model = self.models[form]
        list(model.answer(FORMS[form], model.ask(FORMS[form], entries, AGENTS[form]), answer))
        entries += [answer]

    def turn(self, form: str, server: KeptServerTap, number: int = 5) -> None:
        """A turn with one call."""
        self.turns([form], server, number)

    def turns(self, forms: Collection[str], server: KeptServerTap, number: int = 5) -> None:
        """A turn of each with one call, all at the same time."""
        told = f"{number + 7}"
        going: list[tuple[str, Call, list[Entry]]] = []
        for form in forms:
            call = Call(uuid.uuid4().hex, "math__add", {"a": number, "b": 7})
            going.append((form, call, [User("What is that and 7?")]))
            self.ask(form, going[-1][2], Answer("", [call]))
        for _, call, _ in going:
            server.result(server.call("add", call.arguments)[0], told)
        for form, call, entries in going:
            entries += [Results([(call, told)])]
            self.ask(form, entries, Answer(told))

    def stories(self) -> Collection[tuple[str, ...]]:
        """The titles of the taps of each story, as the list and a look at each one have them."""
        assert all(tap.kept.recording.close() for tap in (*self.models.values(), *self.servers.values(), *self.quiet))
        store = Store.open(self._folder / "data" / "tui-host.db")
        known: Known = {}
        taps = store.sessions.list()
        for tap in taps:
            look_at(store, tap, known)
        listed = {tuple(sorted(tap.title for tap in each.taps)) for each in stories_of(store, taps, known)}
        opened = {tuple(sorted(each.title for each in story_with(store, tap.id, {}).taps)) for tap in taps}
        store.close()
        assert listed == opened
        return listed


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    return Agents(tmp_path)


def test_agents_of_different_kinds_are_two_stories_each_with_the_server_that_carried_its_calls(agents: Agents) -> None:
    for form in AGENTS:
        agents.turn(form, agents.serve(f"{form} math"))
        agents.later(2 * SURE_NS)  # it is over by the clocks of all processes
    assert agents.stories() == {("openai", "openai math"), ("anthropic", "anthropic math")}


def test_four_times_as_many_calls_that_are_all_the_same_take_hardly_more_than_four_times_as_many_steps(
    tmp_path: Path,
) -> None:
    def taken(turns: int) -> int:
        agents = Agents(tmp_path / f"{turns}")
        server = agents.serve("math")
        for _ in range(turns):
            agents.turns(AGENTS, server)
        assert len(agents.stories()) == 3  # nothing tells which of them asked
        store = Store.open(tmp_path / f"{turns}" / "data" / "tui-host.db")
        known: Known = {}
        taps = {tap.title: tap for tap in store.sessions.list()}
        for tap in taps.values():
            look_at(store, tap, known)
        voices = {taps[form].id: form for form in AGENTS}

        def told() -> list[Collection[str]]:
            return list(Owners(store, known).one_host(voices, [taps["math"].id]))

        assert told() == []  # all is read by then
        found = steps(told)
        store.close()
        return found

    assert taken(40) < 6 * taken(10)


def test_agents_that_ask_for_the_same_at_the_same_time_have_no_server_of_which_nothing_tells_whose_it_is(
    agents: Agents,
) -> None:
    call = Call(uuid.uuid4().hex, "math__add", {"a": 5, "b": 7})
    for form in AGENTS:
        agents.ask(form, [User("What is that and 7?")], Answer("", [call]))
    for title in ("one math", "other math"):
        server = agents.serve(title)
        server.result(server.call("add", call.arguments)[0], "12")
    assert agents.stories() == {("openai",), ("anthropic",), ("one math",), ("other math",)}


def test_a_host_that_is_made_with_two_kinds_is_one_story_where_one_server_carried_the_calls_of_both(
    agents: Agents,
) -> None:
    server = agents.serve("math")
    for number, form in enumerate(AGENTS):
        agents.turn(form, server, number)
    assert agents.stories() == {("anthropic", "math", "openai")}


@pytest.mark.parametrize(
    ("session", "stories"),
    [("s1", {("anthropic", "math", "openai")}), ("", {("anthropic",), ("math",), ("openai",)})],
    ids=["one client", "perhaps several"],
)
def test_a_server_over_http_that_carried_the_calls_of_two_kinds_joins_them_where_one_client_sent_them(
    agents: Agents, session: str, stories: Collection[tuple[str, ...]]
) -> None:
    server = agents.serve("math", over_http=True, session=session)
    for number, form in enumerate(AGENTS):
        agents.turn(form, server, number)
    assert agents.stories() == stories


@pytest.mark.parametrize(("said", "are_one"), [(AT_LENGTH, True), ("Yes.", False)], ids=["at length", "in a word"])
def test_a_conversation_that_goes_on_in_another_way_is_of_one_host(agents: Agents, said: str, are_one: bool) -> None:  # noqa: FBT001
    entries: list[Entry] = [User("Tell me.")]
    agents.ask("openai", entries, Answer(said))
    entries += [User("And now?")]
    agents.ask("anthropic", entries, Answer("That is all."))
    assert agents.stories() == ({("anthropic", "openai")} if are_one else {("anthropic",), ("openai",)})


def test_a_tap_that_saw_nothing_is_in_no_story_but_by_itself(agents: Agents, tmp_path: Path) -> None:
    agents.quiet += [KeptModelTap(tmp_path, title) for title in ("quiet", "quiet too")]
    agents.turn("openai", agents.serve("math"))
    assert agents.stories() == {("math", "openai"), ("anthropic",), ("quiet",), ("quiet too",)}


@pytest.mark.parametrize(
    ("live", "stories"),
    [
        ({"a", "q1", "q2"}, {("a", "q1", "q2"), ("b",)}),
        ({"a", "b", "q1", "q2"}, {("a",), ("b",), ("q1",), ("q2",)}),
        ({"q1", "q2"}, {("a",), ("b",), ("q1", "q2")}),
        ({"a", "q1"}, {("a", "q1"), ("b",), ("q2",)}),
        (set[str](), {("a",), ("b",), ("q1",), ("q2",)}),
    ],
    ids=["one story goes on", "two do", "none does", "one has ended", "all have"],
)
def test_a_tap_that_saw_nothing_yet_is_of_the_only_story_that_goes_on(
    live: Collection[str], stories: Collection[tuple[str, ...]]
) -> None:
    abouts = {"a": voice(("a", "a/1")), "b": voice(("b", "b/1")), "q1": About(), "q2": About()}
    taps = [replace(foreign_session(name, ""), source="tap", live=name in live) for name in abouts]
    told = together(taps, 10**9, lambda tap: abouts[tap.id])
    assert {tuple(tap.id for tap in story) for story in told} == stories


def voice(*agents: tuple[str, str]) -> About:
    """What is known where these hosts and user agents were heard."""
    return About(kind="llm", spoken=[Speaking(host=host, agent=(agent, "")) for host, agent in agents])


@pytest.mark.parametrize(
    ("abouts", "count"),
    [
        ([voice(("the OpenAI SDK for Python", "OpenAI/Python 3")), voice(("my-agent", "my-agent/2"))], 2),
        ([voice(("the OpenAI SDK for Python", "OpenAI/Python 3")), voice(("", ""))], 0),
        ([voice(("Claude Code", "claude-cli/2"), ("axios", "axios/1")), voice(("my-agent", "my-agent/2"))], 0),
        (
            [
                voice(("the OpenAI SDK for JavaScript", "ai-sdk/openai/3.0 ai-sdk/provider-utils/4")),
                voice(("the AI SDK", "ai-sdk/anthropic/3.0 ai-sdk/provider-utils/4")),
            ],
            0,
        ),
        ([voice(("a", "a/1")), voice(("b", "b/1")), voice(("a", "a/1"), ("b", "b/1"))], 0),
    ],
    ids=["two", "one that says nothing", "a known host", "one kind before two vendors", "two that share a tap"],
)
def test_those_who_ask_models_are_told_apart_by_what_they_call_themselves(abouts: list[About], count: int) -> None:
    known = {str(number): about for number, about in enumerate(abouts)}
    assert len({*voices_of(dict.fromkeys(known, Stretch(0, 1)), known).values()}) == count
