"""A call is linked by exact bytes, from where it was asked to where its result is told; `bench` looks at every link after each test."""

import pytest

from tests.answers.chained import steps_of
from tests.chat.bench import SECRET, SUM, Answers, asks, chain, refuses, says, text_output
from tests.chat.conftest import Make
from tests.llm.protocols.answers import call
from tui_host.answers.chain_page import chain_page
from tui_host.answers.wires import RecordedWires
from tui_host.chat.policy import Question

TWO = 'call math.add {"a": 1, "b": 2}\ncall math.multiply {"a":3,"b":4}'


def decide(question: Question) -> None:
    if question.request.tool.name == "add":
        question.approve(edited=b'{"a":5,"b":5}')
    else:
        question.reject("too many")


async def test_what_was_edited_rejected_or_invalid_is_linked_as_the_model_asked_it(bench: Make) -> None:
    at = bench(approver=Answers(decide))
    await at.ask(TWO)
    await at.ask('raw call math.add {"a": 1,')
    await at.ask("hello")
    decisions = [(decision["tool"], decision["decision"]) for decision in at.decisions()]
    asked = [link.words for link in at.links() if link.relation == "asked"]
    told = [link.words for link in at.links() if link.relation == "told"]
    assert decisions == [("add", "edited"), ("multiply", "rejected"), ("add", "invalid")]
    assert asked == ['{"a": 1, "b": 2}', '{"a":3,"b":4}', '{"a": 1,']
    assert told[0] == 'edited by the user: ran with {"a":5,"b":5}␊10'
    assert [told[1].endswith("The user's reason: too many"), told[2].endswith("Nothing was run.")] == [True, True]
    edited, rejected = chain(at), chain(at, "1.1.2")
    assert (edited["decided"].row, edited["decided"].state) == ("you", "edited a 1 -> 5, b 2 -> 5")
    assert (rejected["sent"].row, rejected["sent"].value) == ("", "not sent: rejected")
    assert rejected["told"].state.startswith("told otherwise")
    wires = RecordedWires(at.records, {})
    sheet = chain_page(wires, next(row for row in wires.ladder.rows if row.kind == "response"))
    assert [(line.key, line.opened) for line in sheet.lines] == [("1.1.1", True), ("1.1.2", False)]


@pytest.mark.parametrize("protocol", ["cline", "json", "react"])
async def test_a_call_in_words_has_a_chain_too(bench: Make, protocol: str) -> None:
    async with bench.hearing(says(call(protocol)), says("It is 11."), yes=True, protocol=protocol) as at:
        await at.ask("what is 6 + 5?")
    steps = chain(at)
    assert (bool(steps["asked"].pieces), bool(steps["told"].pieces)) == (True, True)
    assert (steps["said"].value, steps["decided"].state) == ("It is 11.", "unchanged")


async def test_spans_count_in_what_is_kept_where_a_secret_was_taken_out(bench: Make) -> None:
    text = f'{{"a": 1, "b": 2, "password": "{SECRET}"}}'
    first = asks(("math__add", text), ("math__multiply", '{"a": 1, "b": 2}'), text=f"I use {SECRET} for it")
    async with bench.hearing(first, says("done"), yes=True) as at:
        at.pool.gives = text_output(f"the password is {SECRET}, of course")
        await at.ask("go")
    assert at.pool.sent[0][1] == text.replace(": ", ":").replace(", ", ",").encode()
    assert not any(SECRET.encode() in record.data for record in at.records)
    assert len(at.links()) == 4


async def test_a_result_is_told_until_an_answer_has_come(bench: Make) -> None:
    async with bench.hearing(asks(SUM), refuses("429 Slow", "slow down"), asks(SUM), says("11 and 11"), yes=True) as at:
        assert (await at.ask("go")).stop == "error"
        result = await at.again()
    assert (result.stop, result.answer) == ("done", "11 and 11")
    told = [(link.call, link.span.exchange) for link in at.links() if link.relation == "told"]
    assert told == [("1.1.1", "x2"), ("1.1.1", "x3"), ("1.3.1", "x4")]
    happened = [step.happened for step in steps_of("1.1.1", at.records)]
    assert happened == ["asked", "decided", "told", "said", "told", "said", "again"]
