"""Results that stand in each other's places: their host tells them as they come, and the same calls are asked for twice."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.forms import Answer, Call, Results, User, form
from tests.infer.world import MS, Asked, Frame, World, found_in

TOOLS = ("jobs__start", "jobs__stop")
CAME = (("done", "pending"), ("pending", "done"))
"""What the two calls bring the first time, and the second."""
NAMES = ("older cherry", "cherry", "hermes", "ollama", "gemini")
"""Forms in which no ids tell whose a result is."""


class Host:
    """A host that asks one model for the same two calls twice, and tells what they bring the wrong way round."""

    def __init__(self, name: str, tools: Sequence[str]) -> None:
        self.world = World()
        self._form = form(name, TOOLS, "openai")
        self._model = self.world.model()
        self._tap = self.world.server("jobs")
        self._tap.start(["start", "stop"])
        self.calls = [Call("", tool, {"id": number}) for number, tool in enumerate(tools)]
        self.carried: dict[Asked, Frame] = {}

    def asks(self, *before: User | Answer | Results) -> str:
        """A request, and an answer with the calls; gives the exchange."""
        self.world.now += 100 * MS
        exchange = self._model.ask(self._form, before)
        self.world.run(self._model.answer(self._form, exchange, Answer("", self.calls)))
        return exchange

    def runs(self, exchange: str, texts: Sequence[str]) -> None:
        """The calls of an answer, one after the other."""
        for number, (call, text) in enumerate(zip(self.calls, texts, strict=True)):
            self.world.now += 500 * MS
            identity, seq = self._tap.call(call.name.removeprefix("jobs__"), call.arguments)
            self.world.now += 5 * MS
            self._tap.result(identity, text)
            self.carried[self._model.id, exchange, number] = self._tap.id, seq

    def told(self, texts: Sequence[str]) -> Sequence[Answer | Results]:
        """An answer with the calls, and what is told in their places."""
        return [Answer("", self.calls), Results(list(zip(self.calls, texts, strict=True)))]

    def sent(self) -> dict[Asked, object]:
        """Which frames were found to carry which call."""
        return {call: where for kind, call, where in found_in(self.world.story()) if kind == "sent"}


@pytest.mark.parametrize("name", NAMES)
def test_frames_of_the_same_calls_in_turn_are_known_by_their_times_wherever_their_results_are_told(name: str) -> None:
    host = Host(name, [TOOLS[0]] * 2)
    before: list[User | Answer | Results] = [User("start both")]
    for texts in CAME:
        host.runs(host.asks(*before), texts)
        before += host.told(texts[::-1])
    host.asks(*before)
    assert host.sent() == host.carried


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("told", [(0, 1), (0,), (1,)])
def test_nobody_knows_whose_frames_of_the_same_calls_at_once_are_that_may_be_told_in_each_others_places(
    name: str, told: Sequence[int]
) -> None:
    """Nor where one conversation does not go on."""
    host = Host(name, [TOOLS[0]] * 2)
    questions = [User("start both"), User("start both again")]
    for exchange, texts in zip([host.asks(each) for each in questions], CAME, strict=True):
        host.runs(exchange, texts)
    for each in told:
        host.asks(questions[each], *host.told(CAME[each][::-1]))
    assert host.sent() == {}


@pytest.mark.parametrize("name", ["ollama", "gemini"])
def test_what_names_its_tool_is_told_of_no_call_of_another(name: str) -> None:
    host = Host(name, TOOLS)
    questions = [User("start and stop"), User("start and stop again")]
    for exchange, texts in zip([host.asks(each) for each in questions], CAME, strict=True):
        host.runs(exchange, texts)
    for question, texts in zip(questions, CAME, strict=True):
        host.asks(question, *host.told(texts))
    assert host.sent() == host.carried
