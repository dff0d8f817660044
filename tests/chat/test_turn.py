"""The turn loop against the demo model over a real socket."""

from __future__ import annotations

import anyio

from tests.chat.bench import Answers
from tests.chat.conftest import Make
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem
from tui_host.chat.turn import Turn
from tui_host.errors import ServerError
from tui_host.llm.messages import ToolResult


async def test_a_question_of_several_steps_is_answered_with_what_the_tools_gave(bench: Make) -> None:
    at = bench(yes=True)
    result = await at.ask("what is (6 × 5 + 7) / 2?")
    assert result.stop == "done"
    assert "18.5" in (result.answer or "")
    assert [name for name, _ in at.pool.sent] == ["math.multiply", "math.add", "math.divide"]
    assert [outcome.to_json()["by"] for outcome in result.outcomes] == ["flag"] * 3
    assert result.tokens("input_total")


async def test_a_call_that_was_not_decided_is_never_sent(bench: Make) -> None:
    at = bench()
    result = await at.ask("what is 6 × 5?")
    assert at.pool.sent == []
    assert result.stop == "done"
    assert [(o.decision.verdict, o.decision.by) for o in result.outcomes if o.decision] == [("rejected", "default")]


async def test_what_is_sent_is_what_was_edited_and_approved(bench: Make) -> None:
    at = bench(approver=Answers(lambda question: question.approve(edited=b'{"a":6,"b":7}')))
    result = await at.ask("what is 6 × 5?")
    assert at.pool.sent == [("math.multiply", b'{"a":6,"b":7}')]
    assert result.outcomes[0].to_json()["decision"] == "edited"
    assert "42" in (result.answer or "")


async def test_a_rejection_and_its_reason_are_told_to_the_model(bench: Make) -> None:
    at = bench(approver=Answers(lambda question: question.reject("not today")))
    await at.ask("what is 6 × 5?")
    told = [part for message in at.session.messages for part in message.parts if isinstance(part, ToolResult)]
    assert "not today" in str(told[0].content)
    assert at.pool.sent == []


async def test_a_rejection_that_stops_ends_the_turn_and_sends_nothing_more(bench: Make) -> None:
    at = bench(approver=Answers(lambda question: question.reject(stop=True)))
    result = await at.ask("what is 6 × 5?")
    assert (result.stop, result.steps, at.pool.sent) == ("stopped", 1, [])
    assert at.session.messages[-1].source == "host"


async def test_a_call_stopped_while_it_runs_gets_a_truthful_result_and_the_next_turn_works(bench: Make) -> None:
    at = bench(yes=True)
    at.pool.hangs = True
    at.session.begin_turn("what is 6 × 5?")
    turn = Turn(at.services, at.session)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(turn.run)
            await at.pool.began.wait()
            turn.stop()
    assert turn.result.stop == "stopped"
    told = [part for message in at.session.messages for part in message.parts if isinstance(part, ToolResult)]
    assert "may have had its effect" in str(told[0].content)
    at.pool.hangs = False
    assert (await at.ask("hello")).stop == "done"


async def test_a_server_that_dies_is_told_and_the_turn_goes_on(bench: Make) -> None:
    at = bench(yes=True)
    at.pool.fault = ServerError("server ended (exit 3)", where="math")
    result = await at.ask("what is 6 × 5?")
    assert result.stop == "done"
    calls = at.items(CallItem)
    assert calls[0].state == "failed"
    assert "exit 3" in calls[0].result


async def test_a_providers_error_is_a_card_with_its_own_words(bench: Make) -> None:
    at = bench()
    result = await at.ask("error 429")
    assert result.stop == "error"
    notes = at.items(NoteItem)
    assert notes[-1].kind == "error"
    assert notes[-1].again


async def test_an_answer_that_breaks_off_stays_and_the_model_will_know(bench: Make) -> None:
    at = bench()
    result = await at.ask("error cut")
    assert result.stop == "error"
    answers = at.items(AnswerItem)
    assert answers[-1].state == "cut"
    assert answers[-1].text
    assert at.session.messages[-1].source == "host"


async def test_arguments_that_are_no_json_are_never_run_and_the_model_is_told_why(bench: Make) -> None:
    at = bench(yes=True)
    result = await at.ask('raw call math.add {"a": 1,')
    assert at.pool.sent == []
    assert result.outcomes[0].to_json()["decision"] == "invalid"
