"""Conversations that say the same, answers that are dropped, and calls that are left: what one has must not be given to the other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.forms import FORMS
from tests.infer.world import MS, ModelTap, ServerTap, World, found_in
from tests.kit.bodies import Answer, Call, Entry, Results, User
from tui_host.errors import JSON

OLLAMA = FORMS["ollama"]
"""Here no ids tell what belongs to which."""
ADD = Call("", "math__add", {"a": 1, "b": 2})
ASKS = Answer("", [ADD])


class Scene:
    """One model, one server, and the time between them."""

    def __init__(self) -> None:
        self.world = World()
        self.model = self.world.model()
        self.math = self.world.server("math")
        self.math.start(["add"])

    def says(self, *entries: Entry, answer: Answer = ASKS, model: ModelTap | None = None) -> str:
        """A request and its answer; gives the exchange."""
        self.world.now += 50 * MS
        model = model or self.model
        exchange = model.ask(OLLAMA, entries)
        self.world.now += 50 * MS
        list(model.answer(OLLAMA, exchange, answer))
        return exchange

    def runs(self, text: str, tap: ServerTap | None = None) -> tuple[str, int]:
        """A call's frame and its answer; gives the frame."""
        self.world.now += 50 * MS
        tap = tap or self.math
        identity, seq = tap.call("add", ADD.arguments)
        self.world.now += 5 * MS
        tap.result(identity, text)
        return tap.id, seq

    def found(self) -> set[tuple[str, str, object]]:
        """What was joined: a frame, or where it is told, to an exchange's call."""
        return {
            (kind, call[1], where[1] if kind == "told" else where) for kind, call, where in found_in(self.world.story())
        }


def told(*texts: str) -> Sequence[Entry]:
    """A conversation of one question, in which an answer's results are told."""
    return [User("sum"), *(entry for text in texts for entry in (ASKS, Results([(ADD, text)])))]


def test_of_conversations_that_say_the_same_at_once_nobody_knows_which_goes_on() -> None:
    scene = Scene()
    for _ in range(2):
        scene.says(User("sum"))
    for text in ("3", "4"):
        scene.runs(text)
        scene.says(*told(text), answer=Answer("Done."))
    assert scene.found() == set()


def test_a_call_that_was_left_keeps_no_frame_from_another_that_is_told_what_it_brought() -> None:
    scene = Scene()
    scene.says(User("a sum, and then nobody says yes or no"))
    second, frame = scene.says(User("sum")), scene.runs("3")
    assert scene.found() == set()
    assert scene.found() | {("sent", second, frame), ("told", second, scene.says(*told("3")))} == scene.found()


@pytest.mark.parametrize(
    ("dialect", "agent", "peer", "goes_on"),
    [
        ("ollama", "", "example", True),
        ("gemini", "", "example", False),
        ("ollama", "GeminiCLI/0.61", "example", False),
        ("ollama", "", "another", False),
    ],
)
def test_a_request_goes_on_only_from_an_answer_in_its_own_dialect_to_its_own_host_and_of_who_is_asked(
    dialect: str, agent: str, peer: str, *, goes_on: bool
) -> None:
    world, question = World(), User("sum")
    model, later = world.model(), world.model()
    later.peer = peer
    first = model.ask(FORMS[dialect], [question], agent)
    list(model.answer(FORMS[dialect], first, ASKS))
    world.now += 50 * MS
    second = later.ask(OLLAMA, told("3"), "Cline/3" if agent else "")  # what it goes on from has no record
    told_to = {where for kind, _, where in found_in(world.story()) if kind == "told"}
    assert told_to == ({(later.id, second)} if goes_on else set())


def test_the_calls_of_a_batch_have_each_their_own_answer() -> None:
    scene = Scene()
    calls = [Call("", "math__add", {"a": 1, "b": number}) for number in (2, 3)]
    exchange = scene.says(User("sums"), answer=Answer("", calls))
    asked: list[JSON] = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "add", "arguments": {**call.arguments}},
        }
        for number, call in enumerate(calls, 1)
    ]
    frame = scene.math.line("out", asked)
    for number, text in ((2, "4"), (1, "3")):
        scene.math.result(number, text)
    story = scene.world.story()
    joined = [(each.call.number, [sent.seq for sent in each.sent], each.sent[0].answer) for each in story.joined()]
    assert exchange
    assert [(number, sent, answer and answer.texts[0]) for number, sent, answer in joined] == [
        (0, [frame], "3"),
        (1, [frame], "4"),
    ]
