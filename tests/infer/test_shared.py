"""Servers that several hosts use through one tap, where not every host's model has one; and calls that a person changed."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest

from tests.infer.forms import FORMS, Answer, Call, Results, User
from tests.infer.world import MS, Asked, ServerTap, World, found_in

OPENAI = FORMS["openai"]
SUM = {"a": 1, "b": 2}
LONG = "A page about things and more. " * 60
NO = "Der Nutzer will das nicht."
Frame = tuple[str, object]


class Shared:
    """A host whose model and server have taps, and another one that uses this server too."""

    def __init__(self, own: str = "host-a", other: str = "host-b", agent: str = "") -> None:
        self.world = World()
        self.model = self.world.model()
        self.math = self.world.server("math")
        self.agent = agent
        for connection, client in (("c1", own), ("c2", other)):
            self.math.start(["add"], client, connection)
        self.entries: list[User | Answer | Results] = [User("sum")]

    def asks(self, identity: str) -> Asked:
        """A request, and its answer, which asks for the sum."""
        self.world.now += 100 * MS
        asks = Answer("", [Call(identity, "math__add", SUM)])
        exchange = self.model.ask(OPENAI, self.entries, self.agent)

        def answered() -> Generator[int]:
            yield from self.model.answer(OPENAI, exchange, asks)

        self.world.run(answered())
        self.entries.append(asks)
        return self.model.id, exchange, 0

    def runs(self, connection: str, text: str, *, is_error: bool = False, tap: ServerTap | None = None) -> Frame:
        """A call's frame and its answer."""
        tap = tap or self.math
        self.world.now += 50 * MS
        identity, seq = tap.call("add", SUM, connection)
        self.world.now += 50 * MS
        tap.result(identity, text, connection=connection, is_error=is_error)
        return tap.id, seq

    def told(self, text: str) -> None:
        """What the host says of the last call, as far as nothing more is asked for."""
        last = self.entries[-1]
        assert isinstance(last, Answer)
        self.entries.append(Results([(last.calls[0], text)]))

    def sent(self) -> set[tuple[Asked, object]]:
        """Which frames were found to carry which call."""
        return {(call, where) for kind, call, where in found_in(self.world.story()) if kind == "sent"}


NAMED = [("host-a", "host-b", ""), ("Cline", "cursor-vscode", "Cline/3.20")]


@pytest.mark.parametrize(("own", "other", "agent"), NAMED)
@pytest.mark.parametrize(("brought", "is_error"), [("3", False), ("no such thing", True), (LONG, False)])
def test_a_call_that_is_rejected_in_whatever_words_gets_no_frame_of_another_host(
    own: str, other: str, agent: str, brought: str, *, is_error: bool
) -> None:
    scene = Shared(own, other, agent)
    first, frame = scene.asks("a1"), scene.runs("c1", "3")
    scene.told("3")
    scene.asks("a2")
    scene.runs("c2", brought, is_error=is_error)
    assert scene.sent() == {(first, frame)}
    scene.told(NO)
    scene.world.now += 100 * MS
    scene.model.ask(OPENAI, scene.entries, agent)
    assert scene.sent() == {(first, frame)}


@pytest.mark.parametrize(("own", "other", "agent"), NAMED)
def test_of_two_hosts_that_send_the_same_each_has_what_its_own_client_sent(own: str, other: str, agent: str) -> None:
    scene = Shared(own, other, agent)
    first, frame = scene.asks("a1"), scene.runs("c1", "4")
    scene.told("4")
    second = scene.asks("a2")
    scene.runs("c2", "3")
    later = scene.runs("c1", "3")
    scene.told("3")
    scene.asks("a3")
    assert scene.sent() == {(first, frame), (second, later)}


@pytest.mark.parametrize(("own", "agent"), [("mcp", ""), ("mcp", "python-httpx/0.27"), ("host1", "host1/1")])
def test_what_a_host_had_kept_of_a_call_is_no_frame_of_somebody_else_who_makes_it_meanwhile(
    own: str, agent: str
) -> None:
    scene = Shared(own, "tester", agent)
    first, frame = scene.asks("a1"), scene.runs("c1", "3")
    scene.told("3")
    for identity in ("a2", "a3"):
        scene.asks(identity)
        scene.runs("c2", "3")
        scene.told("3")
    scene.asks("a4")
    assert scene.sent() == {(first, frame)}


@pytest.mark.parametrize(("name", "agent"), [("mcp", ""), ("mcp", "python-httpx/0.27"), ("host1", "host1/1")])
def test_nor_is_it_of_somebody_whose_client_has_the_same_name(name: str, agent: str) -> None:
    scene = Shared(name, name, agent)
    links: set[tuple[Asked, Frame]] = set()
    for identity, is_kept in (("a1", False), ("a2", False), ("a3", True), ("a4", False), ("a5", True), ("a6", False)):
        call = scene.asks(identity)
        frame = scene.runs("c2" if is_kept else "c1", "3")
        scene.told("3")
        links |= set[tuple[Asked, Frame]]() if is_kept else {(call, frame)}
    scene.asks("a7")
    assert scene.sent() == links


def test_of_two_that_bring_the_same_the_one_on_the_hosts_own_connection_is_its() -> None:
    scene = Shared("mcp", "mcp")
    first, frame = scene.asks("a1"), scene.runs("c1", "3")
    scene.told("3")
    second = scene.asks("a2")
    scene.runs("c2", "3")
    later = scene.runs("c1", "3")
    scene.told("3")
    scene.asks("a3")
    assert scene.sent() == {(first, frame), (second, later)}


def test_what_nothing_else_brought_came_over_whatever_connection_it_was() -> None:
    scene = Shared("mcp", "mcp")
    links: set[tuple[Asked, Frame]] = set()
    for number, connection in enumerate(("c1", "c1", "c1", "c2", "c1")):
        links.add((scene.asks(f"a{number}"), scene.runs(connection, f"result {number}")))
        scene.told(f"result {number}")
    scene.asks("last")
    assert scene.sent() == links


def test_a_host_may_open_a_connection_for_each_call_or_go_over_to_a_new_one() -> None:
    scene = Shared("mcp", "mcp")
    links: set[tuple[Asked, Frame]] = set()

    def does(number: int, connection: str, *, opens: str = "") -> None:
        if opens == "before":
            scene.math.start(["add"], "mcp", connection)
            scene.world.now += 100 * MS
        call = scene.asks(f"a{number}")
        if opens == "for it":
            scene.math.start(["add"], "mcp", connection)
        links.add((call, scene.runs(connection, "3")))
        scene.told("3")

    for number in range(3):
        does(number, "c1")
    for number in (3, 4):
        does(number, f"c{number}", opens="for it")
    does(5, "c1")
    does(6, "c6", opens="before")
    does(7, "c6")
    scene.asks("last")
    assert scene.sent() == links


@pytest.mark.parametrize(("brought", "is_joined"), [(["4"], True), (["3"], False)])
@pytest.mark.parametrize("name", ["mcp", "another"])
def test_a_conversation_may_go_on_with_a_new_connection_which_something_new_shows(
    name: str, brought: Sequence[str], *, is_joined: bool
) -> None:
    scene = Shared("mcp", "tester")
    first, frame = scene.asks("a1"), scene.runs("c1", "3")
    scene.told("3")
    scene.world.now += 100 * MS
    scene.math.start(["add"], name, "c3")
    later: set[tuple[Asked, Frame]] = set()
    for number, text in enumerate(brought):
        later.add((scene.asks(f"b{number}"), scene.runs("c3", text)))
        scene.told(text)
    scene.asks("last")
    assert scene.sent() == {(first, frame), *(later if is_joined else ())}


def test_a_host_that_calls_itself_the_same_before_both_sends_nothing_as_another_client() -> None:
    scene = Shared("host1", "tester", "host1/1")
    scene.asks("a1")
    scene.runs("c2", "3")
    scene.told("3")
    scene.asks("a2")
    assert scene.sent() == set()


def test_before_anything_is_told_nobody_knows_whose_a_frame_is_where_clients_differ_and_none_is_known() -> None:
    scene = Shared()
    scene.asks("a1")
    scene.runs("c2", "3")
    assert scene.sent() == set()
    assert [len(joined.rivals) for joined in scene.world.story().joined()] == [1]


def test_two_taps_before_servers_of_one_name_are_as_one_that_is_shared() -> None:
    scene = Shared("host-a", "host-a")
    other = scene.world.server("math")
    other.start(["add"], "host-b")
    first, frame = scene.asks("a1"), scene.runs("c1", "3")
    scene.told("3")
    scene.asks("a2")
    scene.runs("c1", "3", tap=other)
    assert scene.sent() == {(first, frame)}


def test_a_person_who_tried_a_server_with_the_inspector_makes_nothing_doubtful() -> None:
    scene = Shared("mcp", "mcp-inspector")
    scene.runs("c2", "3")
    first = scene.asks("a1")
    scene.runs("c2", "3")
    assert scene.sent() == set()
    scene.world.now += 100 * MS
    frame = scene.runs("c1", "3")
    assert scene.sent() == {(first, frame)}


@pytest.mark.parametrize(
    "other",
    ["The user rejected this tool call.", "nein danke", "unchanged since the last call", "Tool execution timed out"],
)
@pytest.mark.parametrize(
    ("brought", "is_error", "told"), [("overflow", True, "Error: overflow"), (LONG, False, LONG), ("3", False, "3")]
)
def test_a_frame_that_is_told_of_another_call_of_its_answer_is_not_of_the_one_that_it_says(
    brought: str, told: str, other: str, *, is_error: bool
) -> None:
    """A person changed the arguments of a call, so that they equal another's."""
    scene = Shared("host-a", "host-a")
    calls: Sequence[Call] = [Call(f"c{b}", "math__add", {"a": 1, "b": b}) for b in (3, 2)]
    exchange = scene.model.ask(OPENAI, scene.entries)
    list(scene.model.answer(OPENAI, exchange, Answer("", calls)))
    scene.runs("c1", brought, is_error=is_error)
    scene.world.now += 100 * MS
    results = Results([(calls[0], told), (calls[1], other)])  # of the first its host may have known it before
    scene.model.ask(OPENAI, [*scene.entries, Answer("", calls), results])
    assert scene.sent() == set()


@pytest.mark.parametrize(
    ("is_shared", "is_repeated", "is_joined"), [(False, False, True), (True, False, False), (False, True, False)]
)
@pytest.mark.parametrize("words", ["OK", "add reported an error: invalid structuredContent"])
def test_a_call_that_is_told_otherwise_has_the_only_frame_unless_another_host_or_a_cache_may_explain_it(
    words: str, *, is_shared: bool, is_repeated: bool, is_joined: bool
) -> None:
    scene = Shared("host-a", "host-b")
    if not is_shared:
        scene.world.records = [each for each in scene.world.records if each[1].draft.connection != "c2"]
    if is_repeated:
        scene.asks("a1")
        scene.told("3")
    call, frame = scene.asks("a2"), scene.runs("c1", "30")
    scene.told(words)
    scene.asks("a3")
    assert ((call, frame) in scene.sent()) == is_joined
