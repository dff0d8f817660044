"""A call that its host's user denied has no frame, in whatever place and words the host says so, though a person made the same by hand."""

from __future__ import annotations

import pytest

from tests.infer.forms import FORMS
from tests.infer.scene import chat_of
from tests.infer.world import MS, World, found_in
from tests.kit.bodies import Answer, User
from tui_host.chat.conversation import CallItem, UserItem

OPENAI = FORMS["openai"]
USE = (
    "<use_mcp_tool>\n<server_name>box</server_name>\n<tool_name>put</tool_name>\n"
    '<arguments>\n{"k": 6}\n</arguments>\n</use_mcp_tool>'
)
CLINE = ("Use tools:\n<use_mcp_tool>\n<server_name>box</server_name>", USE)
CHERRY = (
    "Use tools:\n<tool_use>\n<name>{tool_name}</name>",
    '<tool_use>\n  <name>box__put</name>\n  <arguments>{"k": 6}</arguments>\n</tool_use>',
)
DENIED = "The user denied this operation."
FEEDBACK = f"{DENIED[:-1]} and provided the following feedback:\n<feedback>\n{'no, it is done. ' * 80}\n</feedback>"
BEHIND = "\n\n<environment_details>\n# Time\nnow\n</environment_details>"


@pytest.mark.parametrize(
    ("speaks", "told", "result"),
    [
        (CLINE, f"[use_mcp_tool for 'box'] Result:\n{DENIED}", DENIED),
        (CLINE, f"[use_mcp_tool for 'box'] Result:\n{FEEDBACK}", FEEDBACK),
        (CLINE, f"[use_mcp_tool for 'box'] {DENIED}{BEHIND}", DENIED),
        (CLINE, "[use_mcp_tool for 'box'] 用户拒绝了此操作。", "用户拒绝了此操作。"),
        (CLINE, f"{FEEDBACK}{BEHIND}", FEEDBACK),
        (CHERRY, "Here is the result of mcp tool use `box__put`:\n\nUser declined the tool call", "User declined the tool call"),
        (CHERRY, "User did not allow tool call", "User did not allow tool call"),
    ],
)  # fmt: skip
def test_a_denial_told_in_words_is_the_place_of_its_call(speaks: tuple[str, str], told: str, result: str) -> None:
    system, text = speaks
    world, asked = World(), [User("put it")]
    model, box = world.model(), world.server("box")
    box.start(["put"], "Cline")
    list(model.answer(OPENAI, model.ask(OPENAI, asked, "Cline/3.40", system), Answer(text)))
    world.now += 50 * MS
    identity, _ = box.call("put", {"k": 6})
    box.result(identity, "done")
    world.now += 50 * MS
    model.ask(OPENAI, [*asked, Answer(text), User(told)], "Cline/3.40", system)
    assert [kind for kind, *_ in found_in(world.story())] == ["told"]
    chat = chat_of(world.story())
    assert [item.result for item in chat if isinstance(item, CallItem)] == [result]
    assert [item.text for item in chat if isinstance(item, UserItem)] == ["put it"]


@pytest.mark.parametrize(
    "words",
    [
        "[use_mcp_tool for 'box'] is what I'd like to see",
        "Why? The user denied this operation.",
        "[use_mcp_tool for 'box'] The user denied this operation. What does that mean, and who was it?",
        "[use_mcp_tool for 'box'] The user denied this operation.\nI read that in the log.",
        "The user denied this operation, says my app's log. Why?",
        "User rejected the tool in my test, fix it",
    ],
)
def test_what_a_person_says_is_no_denial(words: str) -> None:
    world, asked = World(), [User("put it")]
    model = world.model()
    list(model.answer(OPENAI, model.ask(OPENAI, asked, "Cline/3.40", CLINE[0]), Answer(CLINE[1])))
    model.ask(OPENAI, [*asked, Answer(CLINE[1]), User(words)], "Cline/3.40", CLINE[0])
    assert not found_in(world.story())
    chat = chat_of(world.story())
    assert [item.text for item in chat if isinstance(item, UserItem)] == ["put it", words]
