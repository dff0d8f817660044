"""What a host asks of itself beside what a person did stands in that turn, where that is sure, and is not told as said by the person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.infer.forms import FORMS
from tests.infer.world import MS, World
from tests.kit.bodies import Answer, dumped
from tui_host.capture.record import Draft, Head
from tui_host.chat.conversation import Conversation, NoteItem, UserItem
from tui_host.errors import JSON
from tui_host.infer.story import Story
from tui_host.infer.story_chat import StoryChat

OPENAI = FORMS["openai"]
TOOL: JSON = {"type": "function", "function": {"name": "math__add", "parameters": {"type": "object"}}}
TITLE = "<session>\n{}\n</session>\nWrite a title."


class Host:
    """One that offers tools with what a person asks, and none with what it asks itself."""

    def __init__(self) -> None:
        self.world = World()
        self.chat = Conversation()
        self._model = self.world.model()
        self._story = Story()
        self._telling = StoryChat(self._story, self.chat)

    def ask(self, *said: str, tools: bool = True, agent: str = "", later: int = 100) -> str:
        """A request: what was said in turns by the person and the model."""
        self.world.now += later * MS
        messages: list[JSON] = [
            {"role": "assistant" if number % 2 else "user", "content": text} for number, text in enumerate(said)
        ]
        offered: dict[str, JSON] = {"tools": [TOOL]} if tools else {}
        exchange = self._model.exchange()
        headers = (("content-type", "application/json"), ("user-agent", agent))
        head = Head(method="POST", url=OPENAI.url, headers=headers)
        draft = Draft(wire="llm", kind="request", peer="example", direction="out", exchange=exchange, head=head)
        self._model.keep(replace(draft, data=dumped({"messages": messages, **offered})))
        return exchange

    def title(self, text: str, *, later: int = 1) -> str:
        """It asks for one."""
        return self.ask(TITLE.format(text), tools=False, later=later)

    def refuse(self, exchange: str) -> None:
        """No answer."""
        self._model.refuse(exchange)

    def answer(self, exchange: str, text: str) -> None:
        """An answer, whole."""
        self.world.run(self._model.answer(OPENAI, exchange, Answer(text)))

    def hear(self) -> Sequence[tuple[int, int]]:
        """Turn and step of each request by now; the chat is told."""
        for _, record in self.world.records:
            self._story.feed(record)
        self.world.records.clear()
        self._telling.tell()
        return [(said.turn, said.step) for said in self._story.exchanges]


@pytest.mark.parametrize("hears", [True, False])
def test_a_title_that_is_asked_for_before_or_behind_a_question_stands_in_its_turn(*, hears: bool) -> None:
    host = Host()
    for text in ("hello one", "hello two"):
        first = host.title(text) if text == "hello one" else ""
        if hears:
            host.hear()
        question = host.ask(text)
        title = first or host.title(text)
        host.refuse(title)
        host.answer(question, f"Yes: {text}.")
    assert host.hear() == [(1, 1), (1, 1), (2, 1), (2, 1)]
    assert [item.text for item in host.chat.items if isinstance(item, UserItem)] == ["hello one", "hello two"]
    notes = [item.what for item in host.chat.items if isinstance(item, NoteItem)]
    assert len([what for what in notes if what.startswith('the host asks beside it: "<session>')]) == 2
