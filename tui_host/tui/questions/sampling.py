"""The panels for sampling: the request before it goes to the model, and the answer before it goes to the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping, short, text_or_empty
from tui_host.capture.visible import line
from tui_host.chat.call_arguments import pretty, read_arguments
from tui_host.errors import JSON, TuiHostError
from tui_host.servers.server_questions import SamplingAnswer, SamplingRequest
from tui_host.tui.questions.elicitation import AskPanel
from tui_host.tui.questions.form import TextField
from tui_host.tui.questions.panel import AskButton

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.tui.questions.asks import Asks, OpenAsk, Review

READ_LINES = 1_000
"""Lines of a request that scroll with the question: what goes to the model must be read, not looked for in a field of ten lines."""


class SamplingPanel(AskPanel):
    """Shows what a server asks the person's model as JSON, to be edited and sent, or refused."""

    KEYS = "tab to Send, enter sends   ctrl+d, escape refuse"

    def __init__(self, ask: OpenAsk, asked: SamplingRequest, asks: Asks, host: Host) -> None:
        super().__init__(ask, asks, host)
        self._asked = asked
        self._params = TextField(pretty(asked.params))
        self._params.move_cursor((0, 0))
        self._params.styles.max_height = READ_LINES

    @override
    def body(self) -> Sequence[Widget]:
        params = self._asked.params
        hints = items(mapping(params.get("modelPreferences")).get("hints"))
        facts = {
            "model": self._asked.model or "the session's",
            "hints": ", ".join(text_or_empty(mapping(hint).get("name")) for hint in hints),
            "tools": ", ".join(text_or_empty(mapping(tool).get("name")) for tool in items(params.get("tools"))),
        }
        return [self.facts(facts), self._params]

    @override
    def buttons(self) -> Sequence[AskButton]:
        return [AskButton(f"Send to {self._asked.model or 'the model'}", self._send)]

    def _send(self) -> None:
        try:
            self.ask.give(replace(self._asked, params=read_arguments(self._params.value)))
        except TuiHostError as error:
            self.say(str(error))
            self._params.focus()


class ReviewPanel(AskPanel):
    """Shows the model's answer, to be edited and sent to the server, or kept back."""

    KEYS = "tab to Send, enter sends   ctrl+d, escape keep it back"

    def __init__(self, ask: OpenAsk, asked: Review, asks: Asks, host: Host) -> None:
        super().__init__(ask, asks, host)
        self._result = asked.answer.result
        content = self._result.get("content")
        self._blocks: Sequence[JSON] = items(content) or [content]
        self._texts = {
            number: TextField(text_or_empty(mapping(block).get("text")))
            for number, block in enumerate(self._blocks)
            if mapping(block).get("type") == "text"
        }

    @override
    def body(self) -> Sequence[Widget]:
        facts = {
            name: text_or_empty(self._result.get(key)) for name, key in (("model", "model"), ("stopped", "stopReason"))
        }
        shown = [
            self._texts.get(number) or Static(Content(line(short(block, 300), 400)), markup=False)
            for number, block in enumerate(self._blocks)
        ]
        return [self.facts(facts), *shown]

    @override
    def buttons(self) -> Sequence[AskButton]:
        return [AskButton(f"Send to {self.ask.server}", self._send)]

    def _send(self) -> None:
        blocks: list[JSON] = list(self._blocks)
        for number, field in self._texts.items():
            blocks[number] = {**mapping(blocks[number]), "text": field.value}
        is_list = bool(items(self._result.get("content")))
        self.ask.give(SamplingAnswer(result={**self._result, "content": blocks if is_list else blocks[0]}))
