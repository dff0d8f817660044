"""The turn loop: what is asked, decided, sent and told, and where a turn ends."""

from pathlib import Path
from threading import Event

import anyio
import pytest
from typing_extensions import override

from tests.chat.bench import SUM, Answers, Silent, adding, asks, refuses, says
from tests.chat.conftest import Make
from tests.kit.peer import PATIENCE, hangs, head, peer
from tui_host.capture.store.store import Store
from tui_host.chat import result_words as wording
from tui_host.chat.calls import MOST_ASKED
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem
from tui_host.chat.policy import Policy, Question, Refuse, StepLimit
from tui_host.chat.step import Retries
from tui_host.chat.turn import Turn
from tui_host.errors import ModelError, ServerError
from tui_host.settings.schema import Action, Rule

THIRD = (
    "math.add runs for the third time in this turn with the same arguments / "
    "without the flag that allows it, each call is asked about"
)


async def test_a_call_that_was_not_decided_is_never_sent(bench: Make) -> None:
    at = bench()
    result = await at.ask("what is 6 × 5?")
    assert (at.pool.sent, result.stop) == ([], "done")
    assert [(o.decision.verdict, o.decision.by) for o in result.outcomes if o.decision] == [("rejected", "default")]


async def test_what_is_sent_is_what_was_edited_and_approved(bench: Make) -> None:
    at = bench(approver=Answers(lambda question: question.approve(edited=b'{"a":6,"b":7}')))
    result = await at.ask("what is 6 × 5?")
    assert at.pool.sent == [("math.multiply", b'{"a":6,"b":7}')]
    assert (result.outcomes[0].to_json()["decision"], "42" in (result.answer or "")) == ("edited", True)


@pytest.mark.parametrize(
    ("actions", "sent", "verdict", "told"),
    [
        (("allow",), 1, ("approved", "rule"), "11"),
        (("ask", "allow"), 0, ("rejected", "default"), "Nobody was there to approve this call. It was not run."),
        (("allow", "deny"), 0, ("rejected", "rule"), "This call is denied by a rule of the user. It was not run."),
    ],
)
async def test_rules_decide_and_the_model_is_told(
    bench: Make, actions: tuple[Action, ...], sent: int, verdict: tuple[str, str], told: str
) -> None:
    rules = [Rule(server="math", tool="a*", action=action, where="config.toml") for action in actions]
    async with bench.hearing(asks(SUM), says("hi"), policy=Policy(rules)) as at:
        result = await at.ask("go")
    assert (len(at.pool.sent), at.told()) == (sent, [told])
    assert [(outcome.to_json()["decision"], outcome.to_json()["by"]) for outcome in result.outcomes] == [verdict]
    assert [(item.decision, item.by) for item in at.items(CallItem)] == [verdict]


async def test_a_number_that_changes_on_the_way_is_told_before_the_decision(bench: Make) -> None:
    user = Answers(Question.approve)
    number = "1.0000000000000000001"
    async with bench.hearing(asks(("math__add", f'{{"a":{number},"b":1e2}}')), says("2"), approver=user) as at:
        result = await at.ask("go")
    assert user.seen[0].request.changed_numbers == [(number, "1.0")]
    assert at.pool.sent == [("math.add", b'{"a":1.0,"b":100.0}')]
    assert result.outcomes[0].to_json()["changed_numbers"] == [{"written": number, "sent": "1.0"}]


# What servers do meanwhile.


@pytest.mark.parametrize("is_sent", [True, False])
async def test_a_call_that_fails_is_told_and_called_sent_where_it_may_have_been(bench: Make, *, is_sent: bool) -> None:
    async with bench.hearing(asks(SUM), says("hi"), yes=True) as at:
        at.pool.fault = ServerError("it is not connected: stopped", "math", "reconnect it", sent=is_sent)
        result = await at.ask("go")
    [outcome] = [outcome.to_json() for outcome in result.outcomes]
    sent = {"a": 6, "b": 5} if is_sent else None
    assert [outcome[key] for key in ("decision", "sent", "result", "is_error")] == ["approved", sent, None, True]
    [item] = at.items(CallItem)
    assert (result.stop, item.state, item.sent) == ("done", "failed", '{"a":6,"b":5}' if is_sent else "")
    assert at.told() == ["Error: math: it is not connected: stopped (reconnect it)"]


async def test_a_definition_that_changes_under_the_question_is_asked_about_again(bench: Make) -> None:
    def answer(question: Question) -> None:
        if question.request.tool.description == "add two numbers":
            at.pool.offered[0] = adding("add", "delete everything")
        question.approve()

    answers = Answers(answer)
    async with bench.hearing(asks(SUM, ("math__multiply", SUM[1])), says("hi"), approver=answers) as at:
        await at.ask("go")
    seen = [(question.request.tool.name, question.request.changed) for question in answers.seen]
    assert seen == [("add", ""), ("multiply", ""), ("add", "description")]
    assert sorted(at.told()) == ["11", "30"]
    definitions = {decision["tool"]: decision["definition"] for decision in at.decisions()}
    assert definitions == {"add": "add delete everything", "multiply": "multiply multiply two numbers"}
    assert at.session.policy.approved["math", "add"] == at.pool.tools()[0]
    # One that nobody approves then is never called.
    async with bench.hearing(asks(SUM), says("hi"), approver=Answers(answer, limit=1)) as at:
        await at.ask("go")
    assert (at.pool.sent, at.told()) == ([], ["Nobody was there to approve this call. It was not run."])


@pytest.mark.parametrize(
    ("description", "comes", "asked"),
    [("add two numbers", True, [""]), ("delete everything", True, ["", "description"]), ("", False, ["", ""])],
)
async def test_a_permission_for_the_session_waits_for_the_changed_tools(
    bench: Make, description: str, asked: list[str], *, comes: bool
) -> None:
    def lists() -> bool:
        assert len(at.pool.sent) == 1, "nothing is sent before the list"
        if comes and description != "add two numbers":
            at.pool.offered[0] = adding("add", description)
        return comes

    answers = Answers(lambda question: [at.session.grant(question)])
    async with bench.hearing(asks(SUM), says("hi"), asks(SUM), says("hi"), approver=answers) as at:
        await at.ask("go")
        assert [item.words for item in at.items(CallItem)] == ["session rule"]
        at.pool.lists = lists
        await at.ask("go")
    assert [question.request.changed for question in answers.seen] == asked
    assert at.told() == ["11"] * 2


# Many calls.


async def test_the_calls_of_a_flood_are_asked_sixteen_at_a_time_and_those_beyond_are_told_in_words(bench: Make) -> None:
    approver = Answers(Question.reject)
    async with bench.hearing(asks(*[SUM] * 500), says("well"), approver=approver) as at:
        result = await at.ask("go")
    assert (MOST_ASKED, approver.portions) == (16, [(16, later) for later in range(112, -1, -16)])
    assert (result.stop, [item.state for item in at.items(CallItem)]) == ("done", ["rejected"] * 128)
    left_out = "the model asked for more than 128 calls at once: the first 128 are used, the rest left out / "
    assert (at.notes(), len(result.outcomes)) == ([left_out], 128)


async def test_a_rule_for_the_session_answers_the_calls_of_later_portions_too(bench: Make) -> None:
    def allow(question: Question) -> None:
        if question.open:
            question.approve()
            at.session.grant(question)

    approver = Answers(allow)
    async with bench.hearing(asks(*[SUM] * 40), says("well"), approver=approver) as at:
        await at.ask("go")
    assert (len(at.pool.sent), len(approver.seen)) == (40, 16)
    assert [item.words.split(",")[0] for item in at.items(CallItem)] == ["approved once", *["session rule"] * 39]
    assert at.notes() == [], "each was decided by a person"


class GoesOn(Refuse):
    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    @override
    async def decide_limit(self, limit: StepLimit) -> None:
        self.asked.append((limit.steps, limit.more))
        limit.answer(goes_on=len(self.asked) == 1)


async def test_a_turn_at_its_limit_goes_on_where_the_user_wants_it_and_ends_in_words(bench: Make) -> None:
    user = GoesOn()
    async with bench.hearing(asks(SUM), yes=True, approver=user) as at:
        result = await at.ask("go")
        assert user.asked == [(6, 6), (12, 6)]
        assert (result.stop, result.steps, at.session.step_limit) == ("limit", 12, None)
        assert at.notes() == [
            THIRD,
            "continued after 6 steps, by you / ",
            "stopped after 12 steps / say «go on» to continue, or raise limits.steps in the configuration",
        ]
        await at.ask("go on")
    assert b"[The turn ended here: it had reached its limit of 12 steps.]" in at.requests()[12]


# A turn can be stopped at any moment: nothing undecided is sent, and the history stays one that every service takes.


async def test_a_server_that_is_not_ready_is_stopped_at_or_gone_on_without(bench: Make) -> None:
    at = bench()
    at.pool.connects = True
    async with at.asking("hello") as turn:
        await at.pool.began.wait()
        assert at.session.activity.waits == "servers"
        turn.stop()
    assert (turn.result.stop, turn.result.steps, at.requests()) == ("stopped", 0, [])
    assert at.said() == [("user", "hello"), ("assistant", wording.ANSWER_NOT_BEGUN)]
    at.speaking(connect_wait=0)
    assert (await at.ask("hello")).stop == "done"
    remedy = "once connected, press up and enter to ask again; limits.connect_wait sets the wait"
    assert at.notes()[-1] == f"continued without math: still connecting / {remedy}"


async def test_stopped_in_the_stream_what_came_stays_and_the_model_sees_that_it_was_cut(bench: Make) -> None:
    async with bench.hearing(hangs(*asks(("math__add", '{"a":'), text="I will")[:-2]), says("hi"), yes=True) as at:
        async with at.asking("go") as turn:
            await at.until(lambda: len(at.items(AnswerItem)) == 1)
            await at.until(lambda: any(b"math__add" in record.data for record in at.records))
            turn.stop()
        [item] = at.items(AnswerItem)
        assert (item.state, item.text) == ("stopped", "I will")
        assert (turn.result.stop, turn.result.answer, at.pool.sent) == ("stopped", "I will", [])
        assert at.said()[1:] == [("assistant", "I will"), ("user", wording.ANSWER_STOPPED)]
        assert at.notes() == ["stopped by you / "]
        assert (await at.ask("go on")).answer == "hi"
        assert b"[The user stopped the previous answer here.]\\n\\ngo on" in at.requests()[-1]


async def test_words_are_shown_once_they_are_on_the_disk(bench: Make, tmp_path: Path) -> None:
    store, stalls, goes_on = Store.open(tmp_path / "tui-host.db"), Event(), Event()

    def stall() -> None:
        store.run(lambda _: stalls.set() or goes_on.wait(PATIENCE))

    async with bench.hearing(hangs(*says("kept first")[:-1])) as at, anyio.create_task_group() as group:
        at.recorder.keep_in(store)
        group.start_soon(anyio.to_thread.run_sync, stall)
        await at.until(stalls.is_set)
        async with at.asking("go") as turn:
            await at.until(lambda: at.session.activity.waits == "answer")
            await anyio.sleep(0.1)  # nothing is to happen, so there is nothing to wait for
            assert at.items(AnswerItem) == []
            goes_on.set()
            await at.until(lambda: [item.text for item in at.items(AnswerItem)] == ["kept first"])
            turn.stop()
        assert at.recorder.flush()
    store.close()


TWO = 'call math.add {"a":1,"b":2}\ncall math.add {"a":3,"b":4}'


async def test_stopped_while_a_decision_waits_nothing_is_sent_and_no_later_answer_counts(bench: Make) -> None:
    silent = Silent()
    at = bench(approver=silent)
    async with at.asking(TWO) as turn:
        await silent.asked.wait()
        first, second = at.session.open_questions()
        assert at.session.activity.waits == "you"
        turn.stop()
        assert not first.approve()
    assert not second.approve()
    assert (turn.result.stop, at.pool.sent, at.session.questions) == ("stopped", [], [])
    assert at.told() == [wording.STOPPED] * 2
    one = turn.result.outcomes[0].to_json()
    assert [one[key] for key in ("decision", "by", "sent", "result")] == ["stopped", "default", None, None]
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
    assert at.said()[-1] == ("assistant", wording.TURN_STOPPED)
    assert (await at.ask("hello")).stop == "done"


async def test_approved_and_stopped_in_the_same_moment_nothing_is_sent(bench: Make) -> None:
    silent = Silent()
    at = bench(approver=silent)
    async with at.asking("what is 6 × 5?") as turn:
        await silent.asked.wait()
        [question] = at.session.open_questions()
        assert question.approve()
        turn.stop()
    assert (at.pool.sent, at.told()) == ([], [wording.STOPPED])
    outcome = turn.result.outcomes[0].to_json()
    assert [outcome[key] for key in ("decision", "by", "sent")] == ["approved", "person", None]
    [item] = at.items(CallItem)
    assert (item.state, item.sent, item.words.endswith("stopped before it was sent")) == ("stopped", "", True)


async def test_a_program_that_ends_leaves_a_history_that_can_be_gone_on_with(bench: Make) -> None:
    silent = Silent()
    at = bench(approver=silent)
    at.pool.hangs = True
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            at.session.begin_turn(TWO)
            group.start_soon(Turn(at.services, at.session).run)
            await silent.asked.wait()
            at.session.questions[0].approve()
            await at.pool.began.wait()
            group.cancel_scope.cancel()
    assert at.told() == [wording.ENDED, wording.ENDED_BEFORE]
    assert not at.session.busy
    at.services.approver = Answers(Question.approve)
    assert (await at.ask("hello")).stop == "done"


# What is refused for a while is asked for again.

BUSY = refuses("429 Slow", "slow down", "retry-after-ms: 1\r\n")


@pytest.mark.parametrize(
    ("answers", "retries", "stop", "kinds"),
    [
        ([BUSY, says("hi")], 3, "done", ["note"]),
        ([BUSY, BUSY, BUSY], 2, "error", ["note", "note", "error"]),
        ([refuses("401 No")], 3, "error", ["error"]),
        ([[head(), *says("half")[1:2]]], 3, "error", ["error"]),
    ],
)
async def test_a_request_is_sent_again_only_where_that_may_help(
    bench: Make, answers: list[list[bytes]], retries: int, stop: str, kinds: list[str]
) -> None:
    async with peer(*answers) as there:
        at = bench(url=there.url)
        at.speaking(retries=retries)
        result = await at.ask("hello")
    assert (result.stop, len(there.requests)) == (stop, len(answers))
    assert [note.kind for note in at.items(NoteItem)] == kinds
    assert there.bodies == there.bodies[:1] * len(answers)


async def test_the_wait_can_be_stopped(bench: Make) -> None:
    async with peer(refuses("429 Slow", "", "retry-after: 100\r\n")) as there:
        at = bench(url=there.url)
        at.speaking(retries=3)
        async with at.asking("hello") as turn:
            await at.until(lambda: at.session.activity.waits == "retry")
            turn.stop()
    assert (turn.result.stop, len(there.requests)) == ("stopped", 1)


async def test_a_provider_that_says_nothing_is_told_while_it_is_waited_for(bench: Make) -> None:
    async with peer(hangs(*says("half")[:2])) as there:
        at = bench(url=there.url)
        async with at.asking("hello") as turn:
            await at.until(lambda: at.session.activity.waits == "answer")
            activity = at.session.activity
            heard = activity.heard() if activity.heard is not None else 0.0
            turn.stop()
    assert activity.since - PATIENCE < heard <= activity.since
    assert [activity.silence(heard + seconds) for seconds in (9.0, 57.0)] == ["", "no byte for 57 s"]
    assert activity.limit == "providers.demo.timeout ends it at 600 s"


def test_without_a_word_of_the_provider_the_wait_doubles_and_has_an_end() -> None:
    retries = Retries(limit=10, jitter=lambda: 0.0)
    waits = [retries.next_wait(ModelError("busy", passes=True, retry_after=wait)) for wait in (None, 0.0, *[None] * 4)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert Retries().next_wait(ModelError("busy", passes=True, retry_after=500.0)) is None
