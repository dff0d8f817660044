"""What a model writes behind its calls stands behind them in the chat of its conversation."""

from __future__ import annotations

import pytest

from tests.infer.forms import FORMS
from tests.infer.world import World
from tests.kit.bodies import Answer, User
from tui_host.chat.conversation import AnswerItem, CallItem, Conversation, Item
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat

OPENAI = FORMS["openai"]
CHERRY = "Use tools:\n<tool_use>\n  <name>{tool_name}</name>\n  <arguments>{json_arguments}</arguments>\n</tool_use>"
CLINE = "Use tools:\n<use_mcp_tool>\n<server_name>box</server_name>"
ONE = '<tool_use>\n  <name>mcp__box__get</name>\n  <arguments>{"k": 1}</arguments>\n</tool_use>'
USE = (
    "<use_mcp_tool>\n<server_name>box</server_name>\n<tool_name>get</tool_name>\n"
    '<arguments>\n{"k": 1}\n</arguments>\n</use_mcp_tool>'
)


def chat_of(system: str, text: str, *, agent: str = "", is_live: bool) -> list[Item]:
    """The chat of an answer: told once, or again with each record."""
    world = World()
    model = world.model()
    list(model.answer(OPENAI, model.ask(OPENAI, [User("hello")], agent, system), Answer(text)))
    story, chat = Story(), Conversation()
    telling = StoryChat(story, chat)
    for _, record in world.records:
        story.feed(record)
        if is_live:
            telling.tell()
    telling.tell()
    return list(chat.items)


def said_in(items: list[Item]) -> list[str]:
    """What the model wrote, a call as its name."""
    found = [
        item.tool if isinstance(item, CallItem) else item.text
        for item in items
        if isinstance(item, CallItem | AnswerItem)
    ]
    return [text.strip() for text in found]


@pytest.mark.parametrize("is_live", [False, True])
@pytest.mark.parametrize(
    ("system", "text", "said"),
    [
        (CHERRY, f"一{ONE}二\n{ONE}三", ["一", "mcp__box__get", "二", "mcp__box__get", "三"]),
        (CHERRY, f"{ONE}\n{ONE}\n晴天。", ["mcp__box__get", "mcp__box__get", "晴天。"]),
        (CLINE, f"x {USE} und dann weiter.", ["x", "box__get", "und dann weiter."]),
        (CLINE, f"<thinking>hm</thinking>{USE}<thinking>so</thinking>", ["", "box__get", "<thinking>so</thinking>"]),
        (CLINE, f"<thinking>hm {USE} so</thinking>\nok", ["", "box__get", "ok"]),
        (CHERRY, f"<thinking>hm {ONE}{ONE}</thinking>ok", ["", "mcp__box__get", "mcp__box__get", "ok"]),
        (CHERRY, f"<think>hm {ONE}</think>ok", ["ok"]),
    ],
)
def test_words_behind_a_call_are_told_in_their_place(system: str, text: str, said: list[str], *, is_live: bool) -> None:
    items = chat_of(system, text, is_live=is_live)
    assert said_in(items) == said
    assert {item.state for item in items if isinstance(item, AnswerItem)} <= {"done"}
