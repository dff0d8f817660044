"""Messages come back from the store as they went in."""

from __future__ import annotations

import pytest

from tui_host.chat.conversation import title_of
from tui_host.chat.stored_messages import Messages, message_from_text, message_to_text
from tui_host.llm.messages import Echo, Image, Message, Text, Thinking, ToolCall, ToolResult

CALL = ToolCall(id="1.1.1", wire_id="call_1", name="math__add", arguments='{"a":1}')
MESSAGES = (
    Message(role="user", parts=(Text(text="问题 \u2028"),), turn=1),
    Message(role="assistant", parts=(Thinking(text="hm", provider="p", model="m", echo={"s": 1}), CALL), stop="tools"),
    Message(
        role="tool",
        parts=(ToolResult(call=CALL, content=(Text(text="3"), Image(media_type="image/png", data="AA=="))),),
    ),
    Message(role="user", parts=(Text(text="[cut]"),), source="host"),
    Message(
        role="assistant",
        parts=(
            Text(text="", echo=Echo(provider="p", model="m", value={"sig": "AA=="})),
            ToolCall(
                id="1.1.1", wire_id="", name="t", arguments="{}", echo=Echo(provider="p", model="m", value=[1, None])
            ),
        ),
    ),
)


@pytest.mark.parametrize("message", MESSAGES)
def test_every_message_survives_the_store(message: Message) -> None:
    assert message_from_text(message_to_text(message)) == message


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"role":"queen","parts":[]}', '{"role":"user"}'])
def test_what_is_no_message_is_passed_over(text: str) -> None:
    assert message_from_text(text) is None


def test_a_title_is_the_first_line_cut_short() -> None:
    assert title_of("\n\n  hello\nworld") == "hello"
    assert len(title_of("x" * 200)) == 60
    assert title_of("  ") == "untitled"


def test_messages_of_earlier_are_read_when_somebody_looks_and_not_when_one_is_added() -> None:
    read: list[str] = []

    def stored() -> list[str]:
        read.append("read")
        return [message_to_text(MESSAGES[0]), '{"role":"queen","parts":[]}', message_to_text(MESSAGES[1])]

    messages = Messages(stored=3, read=stored)
    assert messages
    assert messages.append(MESSAGES[3]) == 3  # what could not be read keeps its number
    assert messages[-1] == MESSAGES[3]
    assert not read
    assert messages == [MESSAGES[0], MESSAGES[1], MESSAGES[3]]
    assert len(messages) == 3
    assert messages[1:] == [MESSAGES[1], MESSAGES[3]]
    assert read == ["read"]
    assert messages.append(MESSAGES[2]) == 4
