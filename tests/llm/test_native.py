from __future__ import annotations

import pytest

from tests.llm.recorded.asks import ADD, MULTIPLY, TOOLS, assistant, result, user
from tui_host.errors import SettingsError
from tui_host.llm.events import TextDelta
from tui_host.llm.messages import Message, Text, Thinking, ToolResult
from tui_host.llm.protocols.table import PROTOCOLS, protocol
from tui_host.llm.protocols.tool_protocol import NO_RESULT


def test_every_call_has_one_result_directly_after_it_in_the_order_of_the_calls() -> None:
    late = Message(role="tool", parts=(result(ADD, Text(text="11")), result(MULTIPLY, Text(text="30"))), turn=1)

    prepared = protocol("native").prepare((user("x"), assistant(MULTIPLY, ADD), user("y"), late), ())

    assert [message.role for message in prepared.messages] == ["user", "assistant", "tool", "user"]
    assert prepared.messages[2].parts == (result(MULTIPLY, Text(text="30")), result(ADD, Text(text="11")))


def test_a_call_that_was_never_answered_is_answered_for_the_vendor() -> None:
    prepared = protocol("native").prepare((user("x"), assistant(MULTIPLY), user("y")), ())

    assert prepared.messages[2].parts == (ToolResult(call=MULTIPLY, content=(Text(text=NO_RESULT),), is_error=True),)
    assert [message.role for message in prepared.messages] == ["user", "assistant", "tool", "user"]


def test_events_pass_and_the_answer_is_the_text() -> None:
    reader = protocol("native").reader(TOOLS)
    event = TextDelta(text="<tool_use>", start=0, end=1)

    assert (reader.feed(event), reader.finish()) == ([event], [])
    assert protocol("native").answer(assistant(Thinking(text="hm"), Text(text=" 37 "))) == " 37 "
    assert protocol("native").answer(assistant(Thinking(text="hm"))) is None


def test_protocols_are_found_by_name_and_the_rest_is_told() -> None:
    assert next(iter(PROTOCOLS)) == "native"
    with pytest.raises(SettingsError, match="one of: native"):
        protocol("telepathy")
