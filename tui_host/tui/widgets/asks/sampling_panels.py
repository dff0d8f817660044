"""The panels for sampling: the request before it goes to the model, and the answer before it goes to the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping, short, text_or_empty
from tui_host.capture.visible import line, visible
from tui_host.chat.call_arguments import pretty, read_arguments
from tui_host.errors import JSON, TuiHostError
from tui_host.servers.server_questions import SamplingAnswer, SamplingRequest
from tui_host.tui.open_asks import Review
from tui_host.tui.widgets.asks.ask_panel import AskButton, AskPanel, fact
from tui_host.tui.widgets.forms.form_fields import TextField
from tui_host.tui.widgets.status_lines import DIM

READ_LINES = 1_000
"""Lines of a request that scroll with the question: what goes to the model must be read, not looked for in a field of ten lines."""


class SamplingPanel(AskPanel):
    """Shows what a server asks the person's model as JSON, to be edited and sent, or refused."""

    KEYS: ClassVar[str] = "tab to Send, enter sends   ctrl+d, escape refuse"

    @property
    def _request(self) -> SamplingRequest:
        assert isinstance(self.ask.asked, SamplingRequest)  # noqa: S101 - made for nothing else
        return self.ask.asked

    @override
    def body(self) -> Sequence[Widget]:
        params = self._request.params
        hints = items(mapping(params.get("modelPreferences")).get("hints"))
        facts = {
            "model": self._request.model or "the session's",
            "hints": ", ".join(text_or_empty(mapping(hint).get("name")) for hint in hints),
            "tools": ", ".join(text_or_empty(mapping(tool).get("name")) for tool in items(params.get("tools"))),
        }
        rows = [fact(name, line(self.mask(words), 300)) for name, words in facts.items() if words]
        self._params = TextField(pretty(params))
        self._params.move_cursor((0, 0))
        self._params.styles.max_height = READ_LINES
        return [Static(Content("\n").join(rows), markup=False), _label("request"), self._params]

    @override
    def buttons(self) -> Sequence[AskButton]:
        return [AskButton(f"Send to {self._request.model or 'the model'}", self._send)]

    @override
    def cancel(self) -> None:
        self.ask.give(None)

    def _send(self) -> None:
        try:
            self.ask.give(replace(self._request, params=read_arguments(self._params.value)))
        except TuiHostError as error:
            self.say(str(error))
            self._params.focus()


class ReviewPanel(AskPanel):
    """Shows the model's answer, to be edited and sent to the server, or kept back."""

    KEYS: ClassVar[str] = "tab to Send, enter sends   ctrl+d, escape keep it back"

    @property
    def _review(self) -> Review:
        assert isinstance(self.ask.asked, Review)  # noqa: S101 - made for nothing else
        return self.ask.asked

    @override
    def body(self) -> Sequence[Widget]:
        result = self._review.answer.result
        content = result.get("content")
        self._blocks = items(content) or [content]
        self._texts = {
            number: TextField(text_or_empty(mapping(block).get("text")))
            for number, block in enumerate(self._blocks)
            if mapping(block).get("type") == "text"
        }
        facts = [("model", text_or_empty(result.get("model"))), ("stopped", text_or_empty(result.get("stopReason")))]
        rows = [fact(name, line(self.mask(words), 200)) for name, words in facts if words]
        shown = [self._texts.get(number) or _named(block) for number, block in enumerate(self._blocks)]
        return [Static(Content("\n").join(rows), markup=False), _label("answer"), *shown]

    @override
    def buttons(self) -> Sequence[AskButton]:
        return [AskButton(f"Send to {self.ask.server}", self._send)]

    @override
    def cancel(self) -> None:
        self.ask.give(None)

    def _send(self) -> None:
        result = self._review.answer.result
        blocks: list[JSON] = list(self._blocks)
        for number, field in self._texts.items():
            blocks[number] = {**mapping(blocks[number]), "text": field.value}
        is_list = bool(items(result.get("content")))
        self.ask.give(SamplingAnswer(result={**result, "content": blocks if is_list else blocks[0]}))


def _named(block: JSON) -> Static:
    return Static(Content(line(short(block, 300), 400)), markup=False)


def _label(words: str) -> Static:
    label = Static(Content.styled(visible(words, newlines=False), DIM), markup=False)
    label.styles.margin = 0
    return label
