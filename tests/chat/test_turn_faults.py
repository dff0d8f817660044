"""What providers, models and servers do wrong is told, to the person and to the model, and the conversation goes on."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tests.chat.bench import SUM, asks, refuses, says
from tests.chat.conftest import Make
from tests.kit.bodies import DONE, chunk, event
from tests.kit.peer import head, peer
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem

DEEP = b"[" * 700 + b"]" * 700
HALF = asks(SUM, text="I say")[:-2]


@dataclass(frozen=True, slots=True)
class Case:
    """An answer, and how the turn then ends: its last note whole, those before it, and whether it may be tried again."""

    answer: Sequence[bytes]
    stop: str
    note: str
    text: str | None = None
    again: bool = False
    before: Sequence[str] = ()
    goes_on_with: str = ""  # what the next request says of the answer


NO_KEY = "401: no such key / check the credential: providers.demo.api_key, which is not set"
CUT = f"the answer broke off after {sum(map(len, HALF[1:])):,} bytes, without an end / try again"
UNREADABLE = [head(), b'data: {"error":' + DEEP + b"}\n\n", DONE]
PARTLY = [head(), b'data: {"choices":[{"delta":{"content":' + DEEP + b"}}]}\n\n", b"data: {no\n\n", *says("hi")[1:]]
NONE_READ = "the response holds no readable answer / look at the response in the inspector, and try again"
TOLD_OF_HALF = "[The connection broke off here; the previous answer is not complete.]"
HTML = "a page of HTML came instead of an answer: <html>hello</html> / try again"
REFUSED, THOUGHT = "the provider refused to answer (content_filter) / ", chunk({"reasoning_content": "hm"})
SLOW = refuses("429 Too Many Requests", "slow", "retry-after: 7\r\n")


def unread(count: int) -> str:
    return f"parts of the answer that could not be read: {count}; the inspector shows them / "


CASES = {
    "429": Case(SLOW, "error", "429: slow / try again in 7 s", again=True),
    "401": Case(refuses("401 Unauthorized", "no such key"), "error", NO_KEY, again=True),
    "500": Case(refuses("500 Oh"), "error", "500, without a word / try again in a while", again=True),
    "html": Case([head(kind="text/html"), b"<html>hello</html>"], "error", HTML, again=True),
    "error": Case([head(), event({"error": {"message": "no cards"}})], "error", "no cards / try again", again=True),
    "half": Case(HALF, "error", CUT, "I say", again=True, goes_on_with=TOLD_OF_HALF),
    "unreadable": Case(UNREADABLE, "error", NONE_READ, before=[unread(1)], again=True),
    "length": Case(says("so far", "length"), "length", "the answer reached the token limit / ", "so far"),
    "refused": Case(says("no", "content_filter"), "refused", REFUSED, "no"),
    "empty": Case(says(""), "done", "the answer is empty / ", again=True),
    "only thinking": Case([head(), THOUGHT, *says("")[1:]], "done", "the answer is empty / ", again=True),
    "a part": Case(PARTLY, "done", unread(2), "hi"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_how_an_answer_ended_is_said_and_the_conversation_goes_on(bench: Make, case: Case) -> None:
    async with peer(case.answer, says("hi"), says("hello")) as there:
        at = bench(url=there.url, yes=True)
        result = await at.ask("hello")
        assert (result.stop, result.answer, at.pool.sent) == (case.stop, case.text, [])
        assert at.notes() == [*case.before, case.note]
        at.session.note("the model is another one from here on")  # a change between turns leaves the retry
        note = at.session.end_note
        assert (note is not None and note.again, result.error is None) == (case.again, case.stop != "error")
        assert [item.state for item in at.items(AnswerItem)] in ([], ["cut"], ["done"])
        if case.again:
            assert (await at.again()).answer == "hi"
            if case.text is None:
                assert there.bodies[0] == there.bodies[1]
        assert (await at.ask("and now?")).stop == "done"
    assert case.goes_on_with.encode() in there.bodies[1]


OVERLOADED = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'


@pytest.mark.parametrize(
    ("dialect", "inside"),
    [
        ("anthropic", OVERLOADED),
        ("openai", b'data: {"error":{"message":"Overloaded","type":"server_error","code":null}}\n\n'),
        ("openai-responses", b'data: {"type":"error","code":"server_is_overloaded","message":"Overloaded"}\n\n'),
        ("gemini", b'data: {"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}\n\n'),
        ("ollama", b'{"error":"server busy, please try again"}\n'),
        ("gemini", b""),
        ("ollama", b""),
    ],
)
async def test_what_passes_and_is_told_inside_a_200_is_asked_again(bench: Make, dialect: str, inside: bytes) -> None:
    async with peer(always=[head(), inside]) as there:
        at = bench(url=there.url)
        at.speaking(dialect, retries=1)
        result = await at.ask("hello")
    assert (result.stop, len(there.requests)) == ("error", 2)
    assert [note.kind for note in at.items(NoteItem)] == ["note", "error"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (asks(("math__add", '{"a":1,}')), "the arguments are not JSON"),
        (asks(("math__ad", SUM[1])), "there is no tool math__ad (there is math__add"),
        (asks(SUM, finish="content_filter"), "the arguments were cut before their end"),
        (asks(SUM, finish="length"), "the arguments were cut at the token limit"),
    ],
    ids=["json", "name", "cut", "length"],
)
async def test_a_call_that_cannot_be_made_is_told_and_never_sent(bench: Make, answer: list[bytes], words: str) -> None:
    async with bench.hearing(answer, says("hi"), yes=True) as at:
        result = await at.ask("go")
    assert (result.stop, result.answer, at.pool.sent) == ("done", "hi", [])
    [told] = at.told()
    assert (told.startswith(f"Error: {words}"), told.endswith(". Nothing was run.")) == (True, True)
    outcome = result.outcomes[0].to_json()
    assert [outcome[key] for key in ("decision", "by", "sent")] == ["invalid", "default", None]
    assert [item.state for item in at.items(CallItem)] == ["invalid"]
    assert [decision["decision"] for decision in at.decisions()] == ["invalid"]


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
    assert [reason in text for text in told] == [True, True]
