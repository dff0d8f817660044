from __future__ import annotations

import pytest

from tests.llm.recorded.asks import ADD, MULTIPLY, TOOLS, assistant, result, user
from tui_host.errors import SettingsError
from tui_host.llm.events import TextDelta
from tui_host.llm.messages import Message, Text, Thinking, ToolResult
from tui_host.llm.protocols.table import protocol
from tui_host.llm.protocols.tool_protocol import NO_RESULT

NONE = ToolResult(call=ADD, content=(Text(text=NO_RESULT),), is_error=True)


def test_every_call_has_one_result_directly_after_it_in_the_order_of_the_calls() -> None:
    late = Message(role="tool", parts=(result(MULTIPLY, Text(text="30")),), turn=1)
    prepared = protocol("native").prepare((user("x"), assistant(MULTIPLY, ADD), user("y"), late), ())

    assert [message.role for message in prepared.messages] == ["user", "assistant", "tool", "user"]
    assert prepared.messages[2].parts == (result(MULTIPLY, Text(text="30")), NONE)


def test_events_pass_and_the_answer_is_the_text() -> None:
    reader = protocol("native").reader(TOOLS)
    event = TextDelta(text="<tool_use>", start=0, end=1)

    assert (reader.feed(event), reader.finish()) == ([event], [])
    assert protocol("native").answer(assistant(Thinking(text="hm"), Text(text=" 37 "))) == " 37 "
    assert protocol("native").answer(assistant(Thinking(text="hm"))) is None


def test_an_unknown_protocol_is_told() -> None:
    with pytest.raises(SettingsError, match="one of: native"):
        protocol("telepathy")
