"""What providers, models and servers do wrong is told, to the person and to the model, and the conversation goes on."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from typing_extensions import override

from tests.chat.bench import Answers, Bench, asks, in_turn, says, session_of, text_output
from tests.chat.conftest import Make
from tests.llm.peer import head, peer
from tests.llm.streams import DONE, calls, chunk, event, fragment
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, NoteItem, SummaryItem
from tui_host.chat.policy import Policy, Question, Refuse, StepLimit
from tui_host.chat.result_words import output_text, result_of, shortened
from tui_host.chat.step_calls import text_of
from tui_host.errors import ServerError
from tui_host.llm.messages import Image, ToolCall
from tui_host.servers.catalog import Content, ToolOutput
from tui_host.settings.schema import Action, Rule

SUM = '{"a":6,"b":5}'
JSON_HEAD = {"kind": "application/json"}


def notes(at: Bench) -> list[str]:
    return [f"{note.what} / {note.remedy}" for note in at.items(NoteItem)]


async def test_a_turn_that_reaches_its_limit_says_so_to_both(bench: Make) -> None:
    async with bench.hearing(asks(("math__add", SUM)), yes=True) as at:
        result = await at.ask("go")
        assert (result.stop, result.steps, len(at.pool.sent)) == ("limit", 6, 6)
        assert notes(at) == [
            "stopped after 6 steps / say «go on» to continue, or raise limits.steps in the configuration"
        ]
        await at.ask("go on")
    assert b"[The turn ended here: it had reached its limit of 6 steps.]" in at.requests()[6]


async def test_a_number_that_changes_on_the_way_is_told_before_the_decision(bench: Make) -> None:
    user = Answers(lambda question: question.approve())
    async with bench.hearing(
        asks(("math__add", '{"a":1.0000000000000000001,"b":1e2}')), says("2"), approver=user
    ) as at:
        result = await at.ask("go")
    assert user.seen[0].request.changed_numbers == [("1.0000000000000000001", "1.0")]
    assert at.pool.sent == [("math.add", b'{"a":1.0,"b":100.0}')]
    assert result.outcomes[0].to_json()["changed_numbers"] == [{"written": "1.0000000000000000001", "sent": "1.0"}]


class GoesOn(Refuse):
    """Lets a turn go on beyond its limit, once."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    @override
    async def decide_limit(self, limit: StepLimit) -> None:
        self.asked.append((limit.steps, limit.more))
        limit.answer(goes_on=len(self.asked) == 1)


async def test_a_turn_at_its_limit_goes_on_where_the_user_wants_it(bench: Make) -> None:
    user = GoesOn()
    async with bench.hearing(asks(("math__add", SUM)), yes=True, approver=user) as at:
        result = await at.ask("go")
    assert user.asked == [(6, 6), (12, 6)]
    assert (result.stop, result.steps, at.session.step_limit) == ("limit", 12, None)
    assert [note.split(" / ")[0] for note in notes(at)] == ["continued after 6 steps, by you", "stopped after 12 steps"]
    notices = [item.notice for item in at.items(CallItem)]
    assert notices[:4] == [
        "",
        "",
        *(f"{count} equal calls in this turn, each with this same answer" for count in (3, 4)),
    ]
    assert b"equal calls" not in at.requests()[-1]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            [head("429 Too Many Requests", more="retry-after: 7\r\n", **JSON_HEAD), b'{"error":{"message":"slow"}}'],
            "429: slow / try again in 7 s",
        ),
        (
            [head("401 Unauthorized", **JSON_HEAD), b'{"error":{"message":"no such key"}}'],
            "401: no such key / check the credential: providers.demo.api_key, which is not set",
        ),
        ([head("500 Oh", **JSON_HEAD)], "500, without a word / try again in a while"),
        ([head(kind="text/html"), b"<html>hello</html>"], "a page of HTML came instead of an answer"),
        ([head(), event({"error": {"message": "out of cards"}})], "out of cards / try again"),
        ([head(), b"data: {}\n\n"], "the answer broke off after"),
        (
            [head(), b'data: {"error":' + b"[" * 700 + b"]" * 700 + b"}\n\n", DONE],
            "the response holds no readable answer",
        ),
    ],
    ids=["429", "401", "500", "html", "error", "no end", "unreadable"],
)
async def test_a_provider_that_fails_is_a_card_and_the_same_question_can_be_asked_again(
    bench: Make, answer: Sequence[bytes], words: str
) -> None:
    async with peer(in_turn(answer, says("hi"))) as there:
        at = bench(url=there.url)
        result = await at.ask("hello")
        assert (result.stop, result.answer) == ("error", None)
        [card] = [note for note in at.items(NoteItem) if note.kind == "error"]
        assert f"{card.what} / {card.remedy}".startswith(words)
        assert card.again
        assert result.error is not None
        again = await at.again()
    assert (again.stop, again.answer) == ("done", "hi")
    assert there.bodies[0] == there.bodies[1]


async def test_a_provider_that_is_not_there_is_a_card(bench: Make) -> None:
    at = bench(url="http://127.0.0.1:9/v1")
    assert (await at.ask("hello")).stop == "error"
    assert notes(at)[0].endswith("is it running? check base_url")
    assert (await at.ask("and now?")).stop == "error"
    assert [message["role"] for message in json.loads(at.requests()[1])["messages"]] == ["user", "assistant", "user"]


async def test_an_answer_that_breaks_off_after_words_can_be_gone_on_with(bench: Make) -> None:
    half = calls(fragment(index=0, wire_id="x", name="math__add", arguments='{"a":6,"b":5}'))
    async with peer(in_turn([head(), chunk({"content": "I say"}), half], says("hi"))) as there:
        at = bench(url=there.url, yes=True)
        assert (await at.ask("hello")).stop == "error"
        assert at.pool.sent == []
        assert at.items(AnswerItem)[0].state == "cut"
        assert (await at.again()).answer == "hi"
    assert b"[The connection broke off here; the previous answer is not complete.]" in there.bodies[1]


@pytest.mark.parametrize(
    ("answer", "stop", "words"),
    [
        (says("so far", "length"), "length", "the answer reached the token limit / "),
        (says("no", "content_filter"), "refused", "the provider refused to answer (content_filter) / "),
        (says(""), "done", "the answer is empty / "),
        ([head(), chunk({"reasoning_content": "hm"}), *says("")[1:]], "done", "the answer is empty / "),
        (
            [head(), b"data: {nonsense\n\n", *says("hi")[1:]],
            "done",
            "1 part of the answer could not be read; the inspector shows it / ",
        ),
    ],
    ids=["length", "refused", "empty", "only thinking", "unreadable"],
)
async def test_how_an_answer_ended_is_said_in_words(
    bench: Make, answer: Sequence[bytes], stop: str, words: str
) -> None:
    async with bench.hearing(answer, says("hi")) as at:
        assert (await at.ask("hello")).stop == stop
        assert notes(at) == [words]
        assert (await at.ask("go on")).answer == "hi"


BAD: list[tuple[list[bytes], str]] = [
    (asks(("math__add", '{"a":1,}')), "the arguments are not JSON"),
    (asks(("math__add", '{"a":1,"a":2}')), 'the key "a" stands twice'),
    (asks(("math__add", '"a"')), "the arguments are not a JSON object"),
    (asks(("math__ad", SUM)), "there is no tool math__ad (there is math__add"),
    (asks(("math__add", SUM), finish="content_filter"), "the arguments were cut before their end"),
    (asks(("math__add", SUM), finish="length"), "the arguments were cut at the token limit"),
]


@pytest.mark.parametrize(("answer", "words"), BAD, ids=[words[:30] for _, words in BAD])
async def test_a_call_that_cannot_be_made_is_told_to_the_model_and_never_sent(
    bench: Make, answer: list[bytes], words: str
) -> None:
    async with bench.hearing(answer, says("hi"), yes=True) as at:
        result = await at.ask("go")
    assert (result.stop, result.answer, at.pool.sent) == ("done", "hi", [])
    [told] = at.told()
    assert told.startswith(f"Error: {words}")
    assert told.endswith(". Nothing was run.")
    [outcome] = [outcome.to_json() for outcome in result.outcomes]
    assert (outcome["decision"], outcome["by"], outcome["sent"]) == ("invalid", "default", None)
    assert [item.state for item in at.items(CallItem)] == ["invalid"]
    assert [decision["decision"] for decision in at.decisions()] == ["invalid"]


DEEP = b"[" * 700 + b"]" * 700


@pytest.mark.parametrize(
    "event",
    [
        b'{"choices":[{"delta":{"content":' + DEEP + b"}}]}",
        b'{"error":' + DEEP + b"}",
    ],
    ids=["content", "error"],
)
async def test_json_that_nests_too_deeply_is_a_part_that_cannot_be_read(bench: Make, event: bytes) -> None:
    refusal = [head("500 Oops", kind="application/json"), event]
    async with bench.hearing([head(), b"data: " + event + b"\n\n", *says("so")[1:]], refusal, says("hi")) as at:
        first = await at.ask("hello")
        assert (first.stop, first.answer) == ("done", "so")
        assert notes(at)[0].startswith("1 part of the answer could not be read")
        assert (await at.ask("and?")).stop == "error"
        assert notes(at)[-1].startswith("500: ")
        assert (await at.again()).answer == "hi"


@pytest.mark.parametrize(
    ("actions", "sent", "verdict", "told"),
    [
        (("allow",), 1, ("approved", "rule"), "11"),
        (("ask", "allow"), 0, ("rejected", "default"), "Nobody was there to approve this call. It was not run."),
        (
            ("allow", "ask", "deny"),
            0,
            ("rejected", "rule"),
            "This call is denied by a rule of the user. It was not run.",
        ),
    ],
)
async def test_rules_decide_and_the_model_is_told(
    bench: Make, actions: tuple[Action, ...], sent: int, verdict: tuple[str, str], told: str
) -> None:
    rules = [Rule(server="math", tool="a*", action=action, where="config.toml") for action in actions]
    async with bench.hearing(asks(("math__add", SUM)), says("hi"), policy=Policy(rules)) as at:
        result = await at.ask("go")
    assert (len(at.pool.sent), at.told()) == (sent, [told])
    assert [(outcome.to_json()["decision"], outcome.to_json()["by"]) for outcome in result.outcomes] == [verdict]
    assert [(item.decision, item.by) for item in at.items(CallItem)] == [verdict]


async def test_a_definition_that_changes_under_the_question_is_asked_about_again(bench: Make) -> None:
    def answer(question: Question) -> None:
        if question.request.tool.description == "add two numbers":
            at.pool.redefine("add", "delete everything")
        question.approve()

    answers = Answers(answer)
    async with bench.hearing(asks(("math__add", SUM), ("math__multiply", SUM)), says("hi"), approver=answers) as at:
        await at.ask("go")
    assert [(question.request.tool.name, question.request.changed) for question in answers.seen] == [
        ("add", ""),
        ("multiply", ""),
        ("add", "description"),
    ]
    assert sorted(at.told()) == ["11", "30"]
    definitions = {str(decision["tool"]): decision["definition"] for decision in at.decisions()}
    assert definitions == {"add": "add delete everything", "multiply": "multiply"}
    assert len(at.decisions()) == 2
    assert at.session.policy.approved(at.pool.tools()[0]) == at.pool.tools()[0]


async def test_a_changed_definition_that_nobody_approves_is_never_called(bench: Make) -> None:
    def answer(question: Question) -> None:
        at.pool.redefine("add", "delete everything")
        question.approve()

    async with bench.hearing(asks(("math__add", SUM)), says("hi"), approver=Answers(answer, limit=1)) as at:
        await at.ask("go")
    assert at.pool.sent == []
    assert at.told() == ["Nobody was there to approve this call. It was not run."]


async def test_a_question_says_what_changed_since_the_tool_was_last_approved(bench: Make) -> None:
    def answer(question: Question) -> None:
        at.session.grant(question)

    answers = Answers(answer)
    async with peer(
        in_turn(asks(("math__add", SUM), ("math__add", SUM)), says("hi"), asks(("math__add", SUM)), says("hi"))
    ) as there:
        at = bench(url=there.url, approver=answers)
        await at.ask("go")
        assert [item.words for item in at.items(CallItem)] == ["session rule", "session rule"]
        at.pool.redefine("add", "delete everything")
        await at.ask("go")
    assert [question.request.changed for question in answers.seen] == ["", "", "description"]
    assert at.told() == ["11"] * 3


@pytest.mark.parametrize(
    ("description", "comes", "asked"),
    [("add two numbers", True, [""]), ("delete everything", True, ["", "description"]), ("", False, ["", ""])],
    ids=["unchanged", "changed", "not listed"],
)
async def test_a_permission_for_the_session_waits_for_the_changed_tools(
    bench: Make, description: str, asked: list[str], *, comes: bool
) -> None:
    def lists() -> bool:
        assert len(at.pool.sent) == 1, "nothing is sent before the list"
        if comes and description != "add two numbers":
            at.pool.redefine("add", description)
        return comes

    def answer(question: Question) -> None:
        at.session.grant(question)

    answers = Answers(answer)
    async with peer(in_turn(asks(("math__add", SUM)), says("hi"), asks(("math__add", SUM)), says("hi"))) as there:
        at = bench(url=there.url, approver=answers)
        await at.ask("go")
        at.pool.lists = lists
        await at.ask("go")
    assert [question.request.changed for question in answers.seen] == asked
    assert at.told() == ["11"] * 2


async def test_a_call_that_was_sent_again_says_so(bench: Make) -> None:
    async with peer(in_turn(asks(("math__add", SUM)), says("hi"))) as there:
        at = bench(url=there.url, yes=True)
        at.pool.gives = replace(text_output("11"), is_resent=True)
        await at.ask("go")
    (item,) = at.items(CallItem)
    assert item.words == "allowed by --yes; sent again over a new session: the server no longer knew the first"


async def test_what_was_approved_but_could_not_be_sent_is_not_called_sent(bench: Make) -> None:
    async with bench.hearing(asks(("math__add", SUM)), says("hi"), yes=True) as at:
        at.pool.fault = ServerError("it is not connected: stopped", "math", "reconnect it", sent=False)
        result = await at.ask("go")
    [outcome] = [outcome.to_json() for outcome in result.outcomes]
    assert (outcome["decision"], outcome["sent"], outcome["result"], outcome["is_error"]) == (
        "approved",
        None,
        None,
        True,
    )
    [item] = at.items(CallItem)
    assert (item.state, item.sent) == ("failed", "")
    assert at.told() == ["Error: math: it is not connected: stopped (reconnect it)"]


def test_a_session_goes_on_with_the_number_of_its_last_step() -> None:
    def summary(turn: int, steps: int) -> SummaryItem:
        return SummaryItem(turn=turn, steps=steps, calls=0, seconds=1.0)

    items = [AnswerItem(turn=1, step=9), summary(1, 9), AnswerItem(turn=2, step=1), summary(2, 2), summary(2, 1)]
    session = replace(session_of(Policy(())), turn=2, conversation=Conversation(items))
    assert session.step == 3
    session.begin_turn("more")
    assert session.step == 0


CALL = ToolCall(id="1.1.1", wire_id="", name="x", arguments="{}")


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (ToolOutput(content=()), "(no content)"),
        (
            ToolOutput(content=(Content(kind="text", text=" "),), structured={"a": math.nan}, has_structured=True),
            '{"a": NaN}',
        ),
        (
            ToolOutput(content=(Content(kind="audio", media_type="audio/wav", data="AAAA"),)),
            "[audio: audio/wav, 3 bytes]",
        ),
        (
            ToolOutput(content=(Content(kind="resource_link", text="a file", uri="file:///a"),)),
            "[link: a file (file:///a)]",
        ),
        (ToolOutput(content=(Content(kind="resource", text="words", uri="file:///a"),)), "words"),
        (
            ToolOutput(content=(Content(kind="resource", uri="file:///a", data="AAAA"),)),
            "[resource: unknown type, 3 bytes, file:///a]",
        ),
        (text_output("x" * 60_000), "x" * 25_000 + "\n[... 10,000 characters left out ...]\n" + "x" * 25_000),
    ],
    ids=["nothing", "structured", "audio", "link", "resource", "blob", "long"],
)
def test_a_result_is_told_as_text(output: ToolOutput, text: str) -> None:
    assert output_text(output) == text


def test_an_image_goes_along_and_an_error_is_called_one() -> None:
    image = Content(kind="image", media_type="image/png", data="AAAA", text="image")
    result = result_of(CALL, ToolOutput(content=(image, Content(kind="text", text="bad")), is_error=True))
    assert result.content[1] == Image(media_type="image/png", data="AAAA")
    assert text_of(result) == "Error: [image: image/png, 3 bytes]\n\nbad"
    assert result.is_error
    assert shortened("short") == "short"
    assert text_of(None) == ""


@pytest.mark.parametrize(
    ("protocol", "asked", "reason"),
    [
        ("native", ("math__add", '{"a": 6;}'), "column 8"),
        ("native", ("math__ad", "{}"), "there is no tool math__ad"),
        ("hub", ("invoke_tool", '{"name": "math__ad", "params": {}}'), "there is no tool"),
    ],
)
async def test_calls_that_cannot_be_run_end_the_turn_after_three_corrections(
    bench: Make, protocol: str, asked: tuple[str, str], reason: str
) -> None:
    async with bench.hearing(asks(asked), yes=True, protocol=protocol) as at:
        result = await at.ask("what is 6 + 5?")

    assert (result.stop, result.steps, at.pool.sent) == ("error", 4, [])
    assert [reason in item.words for item in at.items(CallItem)] == [True] * 4
    assert result.error is not None
    assert "4 times in a row" in result.error.what
    told = [message["content"] for message in json.loads(at.requests()[2])["messages"] if message["role"] == "tool"]
    assert [reason in each for each in told] == [True, True]
