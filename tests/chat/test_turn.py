"""The turn loop against the demo model over a real socket."""

from __future__ import annotations

from tests.chat.bench import Answers
from tests.chat.conftest import Make
from tui_host.chat.conversation import CallItem
from tui_host.errors import ServerError


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


async def test_a_server_that_dies_is_told_and_the_turn_goes_on(bench: Make) -> None:
    at = bench(yes=True)
    at.pool.fault = ServerError("server ended (exit 3)", where="math")
    result = await at.ask("what is 6 × 5?")
    assert result.stop == "done"
    calls = at.items(CallItem)
    assert calls[0].state == "failed"
    assert "exit 3" in calls[0].result
