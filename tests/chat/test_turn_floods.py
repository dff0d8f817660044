"""A model that asks for more calls than a person can look at: they are asked in portions, and what is left out is told."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from tests.chat.bench import Answers, asks, says
from tests.chat.conftest import Make
from tui_host.chat.conversation import CallItem, NoteItem
from tui_host.chat.policy import Question
from tui_host.chat.step_calls import MOST_ASKED

CALL = ("math__add", '{"a":1,"b":2}')


class Portions(Answers):
    """Keeps how many questions were put together, and how many were to come."""

    def __init__(self) -> None:
        super().__init__(lambda question: question.reject())
        self.portions: list[tuple[int, int]] = []

    @override
    async def decide(self, questions: Sequence[Question]) -> None:
        self.portions.append((len(questions), questions[0].later))
        await super().decide(questions)


async def test_the_calls_of_a_flood_are_asked_sixteen_at_a_time(bench: Make) -> None:
    approver = Portions()
    async with bench.hearing(asks(*[CALL] * 40), says("well"), approver=approver) as at:
        result = await at.ask("go")
    assert MOST_ASKED == 16
    assert approver.portions == [(16, 24), (16, 8), (8, 0)]
    assert result.stop == "done"
    assert [item.state for item in at.items(CallItem)] == ["rejected"] * 40


async def test_a_rule_for_the_session_answers_the_calls_of_later_portions_too(bench: Make) -> None:
    def allow(question: Question) -> None:
        if question.open:
            question.approve()
            at.session.grant(question)

    approver = Answers(allow)
    async with bench.hearing(asks(*[CALL] * 40), says("well"), approver=approver) as at:
        await at.ask("go")
    assert len(at.pool.sent) == 40
    words = [item.words.split(",")[0] for item in at.items(CallItem)]
    assert words == ["approved once", *["session rule"] * 39]
    assert len(approver.seen) == 16


async def test_calls_beyond_those_that_are_taken_in_are_told_in_words(bench: Make) -> None:
    async with bench.hearing(asks(*[CALL] * 500), says("well")) as at:
        result = await at.ask("go")
    notes = [item.what for item in at.items(NoteItem)]
    assert notes == ["the model asked for more than 128 calls at once: the first 128 are used, the rest left out"]
    assert len(result.outcomes) == 128
