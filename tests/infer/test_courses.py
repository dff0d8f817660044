"""Logs without times that begin and end at different calls: as many frames as calls are not yet these calls' frames."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tests.infer.forms import FORMS, Answer, Call, Entry, Results, User
from tests.infer.world import MS, Pair, World, found_in

RUNNING = ["running"] * 8
PAIRS = ["none", "none", "some", "some", "most", "most", "all", "all"]
TURNS = ["red", "green"] * 4


class Polling:
    """A host that asks for the same again and again, in one conversation or in one each time.

    Args:
        form: How it speaks with its model.
        texts: What its server answers.
        are_apart: Each is asked for in a conversation of its own.
        off: By how much the server's clock is wrong.
        chance: Decides how long things take.
    """

    def __init__(
        self,
        form: str,
        texts: Sequence[str],
        *,
        are_apart: bool = False,
        off: int = 0,
        chance: random.Random | None = None,
    ) -> None:
        self.world = World()
        self._chance = chance
        self._form = FORMS[form]
        self._model = self.world.model()
        self._jobs = self.world.server("jobs", off=off)
        self._times: list[int] = []
        self._jobs.start(["status"])
        entries: list[Entry] = [User("watch it")]
        for number, text in enumerate(texts):
            self._times.append(self.world.now)
            call = Call(f"c{number}" if form == "openai" else "", "jobs__status", {})
            answer = Answer("", [call])
            exchange = self._asks(entries, answer)
            identity, frame = self._jobs.call("status", {})
            self._goes_on(50, 200)
            self.world.carried((self._model.id, exchange, 0), (self._jobs.id, frame))
            self._jobs.result(identity, text)
            self._goes_on(10, 10)
            entries += [answer, Results([(call, text)])]
            if are_apart:
                self._asks(entries, Answer("So it is."))
                entries = [User("watch it")]
        self._times.append(self.world.now)
        if not are_apart:
            self._asks(entries, Answer("So it is."))

    def _goes_on(self, least: int, most: int) -> None:
        """Time passes, a millisecond where nothing decides how much."""
        self.world.now += MS if self._chance is None else self._chance.randint(least, most) * MS

    def _asks(self, entries: Sequence[Entry], answer: Answer) -> str:
        self._goes_on(1, 1)
        exchange = self._model.ask(self._form, entries)
        self._goes_on(800, 1500)
        list(self._model.answer(self._form, exchange, answer))
        self._goes_on(10, 10)
        return exchange

    def between(self, model: tuple[int, int], jobs: tuple[int, int]) -> tuple[set[Pair], set[Pair]]:
        """Which calls each of two logs has: from this one on, until before that one. The frames that are found, and those that there are."""
        for tap, (first, last) in zip((self._model, self._jobs), (model, jobs), strict=True):
            if first:
                self.world.start_later(tap, self._times[first])
            until = self._times[last] if last < len(self._times) - 1 else self.world.now
            self.world.records = [
                (at, each) for at, each in self.world.records if each.capture != tap.id or at <= until
            ]
        return self.found(is_timed=False)

    def forget_the_beginning(self) -> None:
        """What was said before the first call is not there."""
        self.world.start_later(self._jobs, self._times[0])

    def found(self, *, is_timed: bool) -> tuple[set[Pair], set[Pair]]:
        """The frames that are found, and those that there are."""
        sent = {pair for pair in found_in(self.world.story(is_timed=is_timed)) if pair[0] == "sent"}
        return sent, {pair for pair in self.world.truth if pair[0] == "sent"}


@pytest.mark.parametrize("form", ["openai", "ollama", "cline"])
@pytest.mark.parametrize(("model", "jobs"), [((1, 8), (0, 7)), ((0, 7), (1, 8)), ((2, 8), (0, 6)), ((0, 4), (4, 8))])
@pytest.mark.parametrize("texts", [RUNNING, TURNS])
def test_as_many_frames_as_calls_of_two_logs_that_have_others_are_not_theirs(
    form: str, model: tuple[int, int], jobs: tuple[int, int], texts: Sequence[str]
) -> None:
    sent, there = Polling(form, texts).between(model, jobs)
    assert sent <= there


@pytest.mark.parametrize(("model", "jobs"), [((1, 8), (0, 7)), ((0, 7), (1, 8))])
def test_nor_are_they_where_each_is_of_a_conversation_of_its_own(model: tuple[int, int], jobs: tuple[int, int]) -> None:
    sent, there = Polling("openai", RUNNING, are_apart=True).between(model, jobs)
    assert sent <= there


@pytest.mark.parametrize("form", ["openai", "ollama"])
@pytest.mark.parametrize("off", [-2500, -1500, 1500, 2500])
@pytest.mark.parametrize("texts", [RUNNING, TURNS, PAIRS])
def test_what_fits_by_chance_where_a_clock_is_off_is_not_joined(form: str, off: int, texts: Sequence[str]) -> None:
    for seed in range(3):
        world = Polling(form, texts, off=off * MS, chance=random.Random(seed))  # noqa: S311
        world.forget_the_beginning()
        sent, there = world.found(is_timed=True)
        assert sent <= there


@pytest.mark.parametrize("texts", [RUNNING, TURNS, PAIRS])
def test_where_it_is_not_all_are(texts: Sequence[str]) -> None:
    world = Polling("openai", texts, chance=random.Random(1))  # noqa: S311
    world.forget_the_beginning()
    sent, there = world.found(is_timed=True)
    assert sent == there
