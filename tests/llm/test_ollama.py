"""What only Ollama's own API has: lines, arguments as objects, times, options of the model's runner, errors as texts."""

from __future__ import annotations

import json

import pytest

from tests.llm.recorded.asks import answered, user
from tests.llm.recorded.case import TIME, WEATHER
from tests.llm.recorded.ollama import RECORDED
from tests.llm.recorded.reading import MODEL, fold_of
from tui_host.errors import JSON
from tui_host.llm.dialects.ollama import OLLAMA
from tui_host.llm.messages import Ask, Message, Text, Thinking, ToolCall, ToolResult
from tui_host.llm.outgoing import Target
from tui_host.settings.model_options import Options

TARGET = Target(provider="p", service="ollama")


def written(*messages: Message, **more: object) -> dict[str, JSON]:
    ask = Ask(model=MODEL, messages=messages or (user("x"),), **more)  # pyright: ignore[reportArgumentType] - shorthand
    value: dict[str, JSON] = json.loads(OLLAMA.write(ask, TARGET).body)
    return value


def sent(*messages: Message) -> list[dict[str, JSON]]:
    found = written(*messages)["messages"]
    assert isinstance(found, list)
    return [message for message in found if isinstance(message, dict)]


def test_whether_to_stream_is_always_said_and_so_is_that_nothing_is_cut_unsaid() -> None:
    assert [written(stream=stream)["stream"] for stream in (True, False)] == [True, False]
    assert (written()["truncate"], written()["shift"]) == (False, False)
    assert written(options=Options(others={"truncate": True}))["truncate"] is True


@pytest.mark.parametrize(
    ("effort", "think"), [("none", False), ("off", False), ("on", True), ("true", True), ("high", "high")]
)
def test_an_effort_is_whether_or_how_much_it_thinks(effort: str, think: JSON) -> None:
    assert written(options=Options(reasoning_effort=effort))["think"] == think
    assert "think" not in written()


def test_options_stand_among_the_options_and_what_stands_beside_them_beside_them() -> None:
    options = Options(temperature=0.0, max_tokens=9, others={"num_ctx": 16384, "keep_alive": "5m", "format": "json"})

    body = written(options=options, stop_sequences=("</use>",))

    assert body["options"] == {"temperature": 0.0, "num_predict": 9, "stop": ["</use>"], "num_ctx": 16384}
    assert (body["keep_alive"], body["format"]) == ("5m", "json")
    assert "options" not in written()


def test_ids_go_back_where_they_came_and_are_not_made_up_where_none_came() -> None:
    with_ids = fold_of("ollama", RECORDED.parallel.body).message(turn=1)
    without = fold_of("ollama", RECORDED.odd["no ids"].body).message(turn=1)

    for answer, ids in ((with_ids, ["call_abc", "call_def"]), (without, [None, None])):
        _, asking, *told = sent(user("x"), answer, answered(answer))
        calls = asking["tool_calls"]
        assert isinstance(calls, list)
        assert [call.get("id") for call in calls if isinstance(call, dict)] == ids
        assert [message.get("tool_call_id") for message in told] == ids
        assert [message["tool_name"] for message in told] == [WEATHER[0], TIME[0]]


def test_thinking_goes_back_within_the_turn_that_it_belongs_to_and_no_further() -> None:
    hm = Thinking(text="hm", provider="p", model=MODEL)
    call = ToolCall(id="c", wire_id="", name="t", arguments="{}")
    told = Message(role="tool", parts=(ToolResult(call=call, content=(Text(text="1"),)),))
    step = Message(role="assistant", parts=(hm, call))
    note = Message(role="user", parts=(Text(text="[stopped]"),), source="host")

    running = sent(user("x"), step, told, step, told, note)
    after = sent(user("x"), step, told, Message(role="assistant", parts=(hm, Text(text="so"))), user("y"))

    assert [message.get("thinking") for message in running] == [None, "hm", None, "hm", None, None]
    assert [message.get("thinking") for message in after] == [None] * 5


def test_an_answer_that_is_written_for_eyes_is_read_as_the_same_in_one_line_wherever_it_is_cut() -> None:
    answer = json.loads(RECORDED.whole.body)
    names = [each.call.name for each in fold_of("ollama", RECORDED.whole.body).calls]
    assert names
    for indent in (2, "\t"):
        body = json.dumps(answer, indent=indent, ensure_ascii=False).encode()
        for at in range(0, len(body), 5):
            assert [each.call.name for each in fold_of("ollama", body[:at], body[at:]).calls] == names
