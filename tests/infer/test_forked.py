"""Windows of one history in which the same is asked: what one was told must not be given to the other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.forms import FORMS, Answer, Call, Entry, Results, User
from tests.infer.world import MS, Asked, Pair, World, found_in

ALIKE = [("ollama", ""), ("cherry", ""), ("openai", "call_0")]
"""Forms in which no ids tell calls apart, or in which a model gives each answer's the same."""


class Windows:
    """Several windows of one history, with one model and one server.

    Attributes:
        before: The links of the history that they share.
    """

    def __init__(self, form: str, identity: str) -> None:
        self.world = World()
        self.model = self.world.model()
        self.math = self.world.server("math")
        self.math.start(["add"])
        self.form = FORMS[form]
        self.call = Call(identity, "math__add", {"a": 1, "b": 2})
        self.history: list[Entry] = [User("sum")]
        first, frame = self.asks(), self.runs("3")
        self.history += self.told("3")
        second = self.asks(answer=Answer("It is 3."))
        self.before: set[Pair] = {("sent", first, frame), ("told", first, second[:2])}
        self.history += [Answer("It is 3."), User("again")]

    def asks(self, *more: Entry, answer: Answer | None = None) -> Asked:
        """A request and its answer; gives the first call of this."""
        self.world.now += 50 * MS
        exchange = self.model.ask(self.form, [*self.history, *more])
        self.world.now += 50 * MS
        self.world.run(self.model.answer(self.form, exchange, answer or Answer("", [self.call])))
        return self.model.id, exchange, 0

    def breaks_off(self) -> None:
        """The same, of which the answer's end does not come."""
        self.world.now += 50 * MS
        exchange = self.model.ask(self.form, self.history)
        self.world.run(self.model.answer(self.form, exchange, Answer("", [self.call]), cut=True))

    def runs(self, text: str) -> tuple[str, int]:
        """A call's frame and its answer; gives the frame."""
        self.world.now += 50 * MS
        identity, seq = self.math.call("add", self.call.arguments)
        self.world.now += 5 * MS
        self.math.result(identity, text)
        return self.math.id, seq

    def told(self, text: str) -> Sequence[Entry]:
        """An answer that asks for the sum, and what it is told."""
        return Answer("", [self.call]), Results([(self.call, text)])

    def goes_on(self, text: str) -> Asked:
        """What comes back in a window, and what it is answered with then."""
        return self.asks(*self.told(text), answer=Answer("Done."))

    def found(self) -> set[Pair]:
        """What was joined, but for what they share."""
        shared = {call for _, call, _ in self.before}
        found = found_in(self.world.story())
        assert self.before <= found
        return {pair for pair in found if pair[1] not in shared}


@pytest.mark.parametrize(("form", "identity"), ALIKE)
@pytest.mark.parametrize("texts", ["45", "54", "44", "456", "645"])
def test_of_windows_that_ask_the_same_after_a_turn_nobody_knows_which_goes_on(
    form: str, identity: str, texts: str
) -> None:
    windows = Windows(form, identity)
    for _ in texts:
        windows.asks()
    for text in sorted(texts):
        windows.runs(text)
    for text in texts:
        windows.goes_on(text)
    assert windows.found() == set()


@pytest.mark.parametrize(("form", "identity"), ALIKE)
def test_of_windows_that_ask_the_same_in_the_midst_of_a_turn_nobody_knows_which_goes_on(
    form: str, identity: str
) -> None:
    windows = Windows(form, identity)
    first, frame = windows.asks(), windows.runs("4")
    windows.history += windows.told("4")
    for _ in "56":
        windows.asks()
    for text in "56":
        windows.runs(text)
    for text in "56":
        windows.goes_on(text)
    assert {pair for pair in windows.found() if pair[1] != first} == set()
    assert ("sent", first, frame) in windows.found()


@pytest.mark.parametrize(("form", "identity"), ALIKE)
def test_what_follows_in_windows_that_asked_the_same_is_joined_once_each_was_told_something_else(
    form: str, identity: str
) -> None:
    windows = Windows(form, identity)
    for _ in "45":
        windows.asks()
    for text in "45":
        windows.runs(text)
    wanted: set[Pair] = set()
    for text in "45":
        call = windows.asks(*windows.told(text))
        frame = windows.runs(f"6{text}")
        last = windows.asks(*windows.told(text), *windows.told(f"6{text}"), answer=Answer("Done."))
        wanted |= {("sent", call, frame), ("told", call, last[:2])}
    assert windows.found() == wanted


def test_the_answer_after_one_that_broke_off_is_the_one_from_which_all_goes_on() -> None:
    windows = Windows("ollama", "")
    windows.breaks_off()
    call, frame = windows.asks(), windows.runs("4")
    last = windows.goes_on("4")
    again = windows.goes_on("4")
    assert windows.found() == {("sent", call, frame), ("told", call, last[:2]), ("told", call, again[:2])}
