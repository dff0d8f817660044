"""Hosts that write their history anew, or tell results in messages of the system's: a turn stays one, and its results are told."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from typing_extensions import override

from tests.infer.forms import Spoken
from tests.infer.world import MS, World, found_in
from tests.kit.bodies import Answer, Call, Entry, dumped
from tui_host.errors import JSON

SUM: dict[str, JSON] = {"a": 1, "b": 2}
CHATBOT = 'Choose a tool and answer {"tool": "name", "arguments": {}}.\nTool: math__add'
WRITTEN = '{"tool": "math__add", "arguments": {"a": 1, "b": 2}}'
RENDERED = "Calling tools:\n[{'id': 'call_1', 'type': 'function', 'function': {'name': 'math__add', 'arguments': {'a': 1, 'b': 2}}}]"


class Rewritten(Spoken):
    """A host whose requests are these messages."""

    def __init__(self, *messages: tuple[str, str]) -> None:
        super().__init__()
        self._messages = messages

    @override
    def request(self, entries: Sequence[Entry], system: str = "") -> bytes:
        del entries, system
        messages: list[JSON] = [{"role": role, "content": text} for role, text in self._messages]
        return dumped({"model": "gpt-x", "stream": True, "messages": messages})


@pytest.mark.parametrize(
    ("system", "answer", "repeated", "result"),
    [
        (CHATBOT, Answer(WRITTEN), WRITTEN, ("system", "Tool execution result: 3")),
        ("You call tools.", Answer("I add.", [Call("call_1", "math__add", SUM)]), f"I add.\n{RENDERED}", ("user", "Observation:\n3")),
    ],
    ids=["result of the system's", "history anew"],
)  # fmt: skip
def test_a_turn_stays_one_and_its_result_is_told(
    system: str, answer: Answer, repeated: str, result: tuple[str, str]
) -> None:
    world = World()
    model, math = world.model(), world.server("math")
    math.start(["add"])
    before = (("system", system), ("user", "a sum"))
    form = Rewritten(*before)
    exchange = model.ask(form, [])
    world.run(model.answer(form, exchange, answer))
    world.now += 10 * MS
    identity, seq = math.call("add", SUM)
    world.now += 10 * MS
    math.result(identity, "3")
    world.now += 10 * MS
    last = model.ask(Rewritten(*before, ("assistant", repeated), result), [])
    story, call = world.story(), (model.id, exchange, 0)
    assert {each.turn for each in story.exchanges} == {1}
    assert found_in(story) == {("sent", call, (math.id, seq)), ("told", call, (model.id, last))}
