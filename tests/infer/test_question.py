"""The question that a tapped story is called by: what a person asked first, and not what their host did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tests.infer.forms import FORMS
from tests.infer.world import ModelTap, World
from tests.kit.bodies import Answer, dumped
from tui_host.capture.record import Draft, Head
from tui_host.capture.redact.redaction import Redactor
from tui_host.errors import JSON
from tui_host.infer.conversations.model_exchange import exchange_of
from tui_host.infer.conversations.request_messages import RequestReader
from tui_host.infer.tap_facts import FirstQuestion

SECRET = "wonderful-" * 4
REMINDER = "<system-reminder>\nToday is Sunday.\n</system-reminder>"
URL = "https://api.example/v1/chat/completions"
TOOL: JSON = {"type": "function", "function": {"name": "math__add", "parameters": {}}}


@dataclass(frozen=True)
class Asked:
    """A request: what the person says, and the model in turn; with the vendor's tools, or without any."""

    said: Sequence[str]
    tools: bool = True
    result: str = ""

    @property
    def body(self) -> bytes:
        messages: list[JSON] = [
            {"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(self.said)
        ]
        messages += [{"role": "tool", "tool_call_id": "c", "content": self.result}] if self.result else []
        return dumped({"model": "x", "messages": messages, **({"tools": [TOOL]} if self.tools else {})})


def asking(*asked: Asked, chunks: int = 1) -> World:
    """A tap through which this is asked, each answered in so many pieces."""
    world = World()
    model = ModelTap(world, "tap")
    for each in asked:
        exchange, head = model.exchange(), Head(method="POST", url=URL)
        model.keep(Draft(wire="llm", kind="request", peer="x", exchange=exchange, head=head, data=each.body))
        list(model.answer(FORMS["openai"], exchange, Answer("word " * chunks)))
    return world


def question_in(world: World, redactor: Redactor) -> str:
    """The question that a world's requests are called by."""
    question, hearing = FirstQuestion(), RequestReader()
    for _, record in world.records:
        asking = exchange_of(record, record.time_ns, hearing) if record.draft.kind == "request" else None
        if asking is not None:
            question.hear(asking, redactor.text)
    return question.words


TITLE = Asked(["Name this conversation in a few words."], tools=False)


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        ([Asked(["What is 6 × 5?"])], "What is 6 × 5?"),
        ([Asked(["What is 6 × 5?"]), Asked(["And then?"])], "What is 6 × 5?"),
        ([Asked(["hello"], tools=False), TITLE], "hello"),
        ([Asked([f"{REMINDER}\nWhat is 6 × 5?"])], "What is 6 × 5?"),
        ([Asked(["What is 6 × 5?", "I ask."], result="30")], "What is 6 × 5?"),
        ([Asked([REMINDER]), Asked(["What is 6 × 5?"])], "What is 6 × 5?"),
        ([], ""),
        ([Asked(["x" * 200])], "x" * 59 + "…"),
        ([Asked([f"my key is {SECRET}, is it good?"])], "my key is ⟨secret:KEY⟩, is it good?"),
        ([Asked([f"{'x' * 40} {SECRET}"])], f"{'x' * 40} ⟨secret:KEY⟩"),
    ],
)
def test_a_story_is_called_by_what_a_person_asked_first_where_tools_were_told_of(
    asked: Sequence[Asked], question: str
) -> None:
    assert question_in(asking(*asked), Redactor([("KEY", SECRET)])) == question
