"""Servers that several hosts use through one tap, where not every host's model has one; and calls that a person changed."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.infer.forms import FORMS
from tests.infer.scene import Scene, call
from tests.infer.world import MS, Asked, ServerTap, World, found_in
from tests.kit.bodies import Answer, Call, Results, User

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


def test_of_equal_calls_of_which_a_cache_may_have_answered_one_neither_has_the_frame() -> None:
    scene = Scene()
    math = scene.server("math", "add")
    first, second, third = (call("math__add", name) for name in ("c1", "c2", "c3"))
    entries: list[User | Answer | Results] = [User("watch it")]
    (asked,) = scene.again(entries, first)
    frame = scene.runs(math, "add", "pending")
    entries += [Answer("", [first]), Results([(first, "pending")])]
    scene.again(entries, second, third)
    scene.runs(math, "add", "pending")
    entries += [Answer("", [second, third]), Results([(second, "[nothing has changed]"), (third, "pending")])]
    scene.again(entries)
    assert scene.sent() == {asked: [frame]}
