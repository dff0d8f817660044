"""A turn can be stopped at any moment: nothing undecided is sent, and the history stays true and one that every service takes."""

from __future__ import annotations

from dataclasses import replace

import anyio
from anyio.abc import ByteStream

from tests.chat.bench import PATIENCE, Answers, Bench, Silent, in_turn, says
from tests.chat.conftest import Make
from tests.llm.peer import Script, head, peer
from tests.llm.streams import calls, chunk, fragment
from tui_host.chat import result_words as wording
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem
from tui_host.chat.turn import Turn
from tui_host.llm.messages import Text
from tui_host.settings.schema import Limits

SUM = '{"a":6,"b":5}'


def said(at: Bench) -> list[tuple[str, str]]:
    """The texts of the history: who, and what."""
    return [
        (message.role, part.text) for message in at.session.messages for part in message.parts if isinstance(part, Text)
    ]


def first_then(*pieces: bytes, then: list[bytes]) -> Script:
    """Sends some of a first answer and no more; answers all others."""
    answers = [list(pieces)]

    async def script(stream: ByteStream) -> None:
        if not answers:
            await in_turn(then)(stream)
            return
        for piece in answers.pop():
            await stream.send(piece)
        await anyio.sleep_forever()

    return script


async def test_stopped_before_a_server_was_ready(bench: Make) -> None:
    at = bench()
    at.pool.connects = True
    async with at.asking("hello") as turn:
        await at.pool.began.wait()
        assert at.session.activity.waits == "servers"
        turn.stop()
    assert (turn.result.stop, turn.result.steps, at.requests()) == ("stopped", 0, [])
    assert said(at) == [("user", "hello"), ("assistant", wording.ANSWER_NOT_BEGUN)]
    at.pool.connects = False
    assert (await at.ask("hello")).stop == "done"


async def test_a_server_that_is_not_ready_in_time_is_gone_on_without(bench: Make) -> None:
    at = bench()
    at.pool.connects = True
    at.services.settings = replace(at.services.settings, limits=Limits(connect_wait=0))
    assert (await at.ask("hello")).stop == "done"
    note = at.items(NoteItem)[0]
    assert note.what == "continued without math: still connecting"
    assert note.remedy.startswith("once it is ready, press up and enter to ask again")


async def test_stopped_in_the_stream_what_came_stays_and_the_model_sees_that_it_was_cut(bench: Make) -> None:
    asked = calls(fragment(index=0, wire_id="x", name="math__add", arguments='{"a":'))
    async with peer(first_then(head(), chunk({"content": "I will"}), asked, then=says("hi"))) as there:
        at = bench(url=there.url, yes=True)
        async with at.asking("go") as turn:
            await at.until(lambda: len(at.items(AnswerItem)) == 1)
            await at.until(lambda: any(b"math__add" in record.draft.data for record in at.records))
            turn.stop()
        [item] = at.items(AnswerItem)
        assert (item.state, item.text) == ("stopped", "I will")
        assert (turn.result.stop, turn.result.answer, at.pool.sent) == ("stopped", "I will", [])
        assert said(at)[1:] == [("assistant", "I will"), ("user", wording.ANSWER_STOPPED)]
        assert (await at.ask("go on")).answer == "hi"
        assert b"[The user stopped the previous answer here.]\\n\\ngo on" in at.requests()[-1]


async def test_stopped_while_a_decision_waits_nothing_is_sent_and_no_later_answer_counts(bench: Make) -> None:
    silent = Silent()
    at = bench(approver=silent)
    async with at.asking('call math.add {"a":1,"b":2}\ncall math.add {"a":3,"b":4}') as turn:
        await silent.asked.wait()
        first, second = at.session.open_questions()
        assert at.session.activity.waits == "you"
        turn.stop()
        assert not first.approve()
    assert not second.approve()
    assert (turn.result.stop, at.pool.sent, at.session.questions) == ("stopped", [], [])
    assert at.told() == [wording.STOPPED] * 2
    [one, _] = [outcome.to_json() for outcome in turn.result.outcomes]
    assert (one["decision"], one["by"], one["sent"], one["result"]) == ("stopped", "default", None, None)
    recorded = [(decision["decision"], decision["words"]) for decision in at.decisions()]
    assert recorded == [("stopped", wording.NOT_DECIDED)] * 2
    assert [(item.state, item.decision) for item in at.items(CallItem)] == [("stopped", "stopped")] * 2
    assert (await at.ask("hello")).stop == "done"


async def test_stopped_while_a_tool_runs_the_others_keep_their_results(bench: Make) -> None:
    at = bench(yes=True)
    async with at.asking('call math.add {"a":"hang","b":2}\ncall math.add {"a":3,"b":4}') as turn:
        await at.until(lambda: at.items(CallItem)[-1:] != [] and at.items(CallItem)[-1].state == "done")
        assert at.items(CallItem)[0].progress == "1/2 half of it"
        turn.stop()
    assert at.told() == [wording.STOPPED_RUNNING, "7"]
    assert [item.state for item in at.items(CallItem)] == ["stopped", "done"]
    hung, done = [outcome.to_json() for outcome in turn.result.outcomes]
    assert (hung["sent"], hung["result"], hung["is_error"]) == ({"a": "hang", "b": 2}, None, True)
    assert done["result"] == {"content": [{"type": "text", "text": "7"}]}
    assert said(at)[-1] == ("assistant", wording.TURN_STOPPED)
    assert (await at.ask("hello")).stop == "done"


async def test_approved_and_stopped_in_the_same_moment_nothing_is_sent(bench: Make) -> None:
    silent = Silent()
    at = bench(approver=silent)
    async with at.asking("what is 6 × 5?") as turn:
        await silent.asked.wait()
        [question] = at.session.open_questions()
        assert question.approve()
        turn.stop()
    assert at.pool.sent == []
    assert at.told() == [wording.STOPPED]
    [outcome] = [outcome.to_json() for outcome in turn.result.outcomes]
    assert (outcome["decision"], outcome["by"], outcome["sent"]) == ("approved", "person", None)
    [item] = at.items(CallItem)
    assert (item.state, item.sent) == ("stopped", "")
    assert item.words.endswith("stopped before it was sent")


async def test_a_program_that_ends_leaves_a_history_that_can_be_gone_on_with(bench: Make) -> None:
    silent = Silent()
    at = bench(approver=silent)

    at.pool.hangs = True
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            at.session.begin_turn('call math.add {"a":1,"b":2}\ncall math.add {"a":3,"b":4}')
            group.start_soon(Turn(at.services, at.session).run)
            await silent.asked.wait()
            at.session.questions[0].approve()
            await at.pool.began.wait()
            group.cancel_scope.cancel()
    assert at.told() == [wording.ENDED, wording.ENDED_BEFORE]
    assert not at.session.busy
    at.services.approver = Answers(lambda question: question.approve())
    assert (await at.ask("hello")).stop == "done"
