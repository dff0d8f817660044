"""What gateways and services do to answers: pieces of calls, repeats, restarts, members of their own, answers that stop."""

from __future__ import annotations

import json

import pytest

from tests.llm.recorded.anthropic import STOP, began, call, closed, finished, more, named, opened, thought, words
from tests.llm.recorded.asks import answered, user
from tests.llm.recorded.case import WEATHER
from tests.llm.recorded.reading import MODEL, PROVIDER, events_of, fold_of
from tests.llm.recorded.wire import event, text
from tests.llm.streams import DONE, calls, chunk, fragment
from tui_host.errors import JSON
from tui_host.llm.dialects.table import dialect
from tui_host.llm.events import Repeated
from tui_host.llm.messages import Ask, Message
from tui_host.llm.outgoing import Target
from tui_host.llm.provider_faults import wait_seconds

SUM = ("add", '{"a":1,"b":2}')
FIRST = fragment(index=0, wire_id="c1", name="add", arguments="")
ENDED = chunk(finish="tool_calls") + DONE


def asked(*chunks: bytes) -> list[tuple[str, str, str]]:
    fold = fold_of("openai", *chunks, ENDED)
    return [(found.call.wire_id, found.call.name, found.call.arguments) for found in fold.calls]


PIECES: dict[str, tuple[list[bytes], list[tuple[str, str, str]]]] = {
    "the index grows without id and name": (
        [calls(FIRST), calls(fragment(index=1, arguments='{"a":1,')), calls(fragment(index=2, arguments='"b":2}'))],
        [("c1", *SUM)],
    ),
    "the second entry has neither id nor name": (
        [calls(FIRST), calls({"index": 1, "id": None, "function": {"name": None, "arguments": '{"a":1{"a":1}'}})],
        [("c1", "add", '{"a":1{"a":1}')],
    ),
    "the id changes and the name is repeated": (
        [
            calls(FIRST),
            calls(fragment(index=0, wire_id="x", name="add", arguments='{"a":1,')),
            calls(fragment(index=0, wire_id="x", name="add", arguments='"b":2}')),
        ],
        [("c1", *SUM)],
    ),
    "two calls under one index": (
        [
            calls(fragment(index=0, wire_id="x", name="add", arguments=SUM[1])),
            calls(fragment(index=0, wire_id="y", name="add", arguments='{"a":3,')),
            calls(fragment(index=0, arguments='"b":4}')),
        ],
        [("x", *SUM), ("y", "add", '{"a":3,"b":4}')],
    ),
    "two calls of one id, in pieces": (
        [
            calls(fragment(index=0, wire_id="x", name="add", arguments="")),
            calls(fragment(index=0, arguments=SUM[1])),
            calls(fragment(index=1, wire_id="x", name="add", arguments="")),
            calls(fragment(index=1, arguments='{"a":3}')),
        ],
        [("x", *SUM), ("x", "add", '{"a":3}')],
    ),
    "two calls without arguments": (
        [calls(FIRST), calls(fragment(index=0, wire_id="c2", name="add", arguments=""))],
        [("c1", "add", ""), ("c2", "add", "")],
    ),
    "a call of an empty id and nothing else": ([calls({"index": 0, "id": "", "type": "function"})], []),
    "a call that comes whole again": (
        [calls(fragment(index=0, wire_id="c1", name="add", arguments=SUM[1]))] * 2,
        [("c1", *SUM)],
    ),
    "a choice with another index": (
        [
            chunk({"content": "Let me."}),
            event({"choices": [{"index": 1, "delta": {"tool_calls": [FIRST | {"function": dict(zip(("name", "arguments"), SUM, strict=True))}]}}]}),
        ],
        [("c1", *SUM)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PIECES)
def test_pieces_make_one_call_and_never_a_wrong_one(name: str) -> None:
    chunks, wanted = PIECES[name]

    assert asked(*chunks) == wanted


def request(name: str, answer: Message, target: Target | None = None) -> list[dict[str, JSON]]:
    ask = Ask(model=MODEL, messages=(user("x"), answer, answered(answer)))
    return json.loads(dialect(name).write(ask, target or Target(provider=PROVIDER)).body)["messages"]


EXTRA: JSON = {"google": {"thought_signature": "AY89a18="}}


@pytest.mark.parametrize(
    "body",
    [
        calls(fragment(index=0, wire_id="c1", name="add", arguments="{}") | {"extra_content": EXTRA}) + ENDED,
        calls(FIRST) + calls(fragment(index=0, arguments="{}") | {"extra_content": EXTRA}) + ENDED,
        text(
            {
                "choices": [
                    {"message": {"tool_calls": [fragment(wire_id="c1", name="add", arguments="{}") | {"extra_content": EXTRA}]}}
                ]
            }
        ),
    ],
    ids=["at once", "in a later piece", "not streamed"],
)  # fmt: skip
def test_members_of_a_call_that_only_its_provider_knows_go_back_to_it_alone(body: bytes) -> None:
    answer = fold_of("openai", body).message(turn=1)

    (back,) = request("openai", answer)[1]["tool_calls"]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    (elsewhere,) = request("openai", answer, Target(provider="other"))[1]["tool_calls"]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]

    assert back == {
        "id": "c1",
        "type": "function",
        "function": {"name": "add", "arguments": "{}"},
        "extra_content": EXTRA,
    }
    assert elsewhere == {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}


def test_the_caller_of_a_tool_goes_back_to_anthropic() -> None:
    caller: JSON = {"type": "code_execution_20260120", "tool_id": "srv_1"}
    block: JSON = {"type": "tool_use", "id": "t1", "name": "add", "input": {}, "caller": caller}
    answer = fold_of("anthropic", began() + opened(0, block) + closed(0) + finished("tool_use") + STOP).message(turn=1)

    assert request("anthropic", answer)[1]["content"] == [block]


RUN: JSON = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
SIGNED: JSON = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


@pytest.mark.parametrize(
    ("body", "content"),
    [
        (began() + words(0, "Let me search.") + opened(1, RUN) + closed(1), [{"type": "text", "text": "Let me search."}]),
        (began() + words(0, "Let me add.") + thought(1, "hm", "c2ln"), [{"type": "text", "text": "Let me add."}]),
        (began() + words(0, "Let me.") + opened(1, RUN) + closed(1) + finished("pause_turn") + STOP,
         [{"type": "text", "text": "Let me."}, RUN]),
        (began() + thought(0, "hm", "c2ln") + words(1, "So it is.") + finished("end_turn") + STOP,
         [SIGNED, {"type": "text", "text": "So it is."}]),
    ],
    ids=["cut in a run", "cut behind thinking", "paused in a run", "ended"],
)  # fmt: skip
def test_a_stopped_answer_of_messages_leaves_a_session_that_can_go_on(body: bytes, content: JSON) -> None:
    answer = fold_of("anthropic", body).message(turn=1)

    assert request("anthropic", answer)[1]["content"] == content


@pytest.mark.parametrize(
    ("blocks", "said", "repeats"),
    [
        (opened(0, {"type": "text", "text": "Hello"}) + more(0, "text_delta", "text", "Hello")
         + more(0, "text_delta", "text", " world"), "Hello world", [False]),
        (opened(0, {"type": "text", "text": "ha"}) + more(0, "text_delta", "text", "ha ha"), "haha ha", []),
        (words(0, "do") + began() + words(0, "done"), "done", [True]),
        (call(0, "a", WEATHER) + began() + words(0, "done"), "done", [True]),
        (opened(0, {"type": "text", "text": ""}) + more(0, "text_delta", "text", "do") + began()
         + more(0, "text_delta", "text", "ne"), "done", []),
    ],
    ids=["start and first piece", "an honest repeat", "a restart", "a restart behind a call", "message_start in between"],
)  # fmt: skip
def test_what_comes_twice_is_one_text_and_said(blocks: bytes, said: str, repeats: list[bool]) -> None:
    body = began() + blocks + finished("end_turn") + STOP
    fold = fold_of("anthropic", body)

    assert (fold.text, len(fold.calls), fold.stop) == (said, 0, "end")
    found = events_of("anthropic", [body])
    assert [one.restarts for one in found if isinstance(one, Repeated)] == repeats


@pytest.mark.parametrize(
    ("name", "body", "failure"),
    [
        ("ollama", b'{"message":{"content":"a"},"done":false}\n{"error parsing tool call":"invalid character"}\n',
         "error parsing tool call: invalid character"),
        ("ollama", b'{"message":{"content":"a"},"done":false}\nerror: llama runner is gone\n', "error: llama runner is gone"),
        ("openai-responses", chunk({"content": "hi"}) + DONE,
         'the answer has the form of another dialect: set dialect = "openai" for this provider'),
        ("openai", began() + words(), 'the answer has the form of another dialect: set dialect = "anthropic" for this provider'),
        ("gemini", named({"type": "response.created"}),
         'the answer has the form of another dialect: set dialect = "openai-responses" for this provider'),
    ],
)  # fmt: skip
def test_an_error_in_another_form_is_told_in_its_words(name: str, body: bytes, failure: str) -> None:
    fold = fold_of(name, body)

    assert (fold.failure, fold.stop) == (failure, "failed")


def test_no_wait_of_no_seconds_is_taken_from_a_header() -> None:
    assert [wait_seconds({name: "0"}) for name in ("retry-after", "retry-after-ms")] == [None, None]
