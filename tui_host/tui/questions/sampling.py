"""The panel for sampling: the request before it goes to the model, and the answer before it goes to the server, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.widget import Widget
from typing_extensions import override

from tui_host.chat.call_arguments import pretty, read_arguments
from tui_host.errors import TuiHostError
from tui_host.servers.server_questions import SamplingAnswer, SamplingRequest
from tui_host.tui.questions.elicitation import AskPanel
from tui_host.tui.questions.form import TextField
from tui_host.tui.questions.panel import AskButton

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.tui.questions.asks import Asks, OpenAsk, Review

READ_LINES = 1_000
"""Lines of JSON that scroll with the question: what is sent must be read, not looked for in a field of ten lines."""


class SamplingPanel(AskPanel):
    """Shows what a server asks the person's model, or the model's answer, to be edited and sent, or kept back."""

    KEYS = "tab to Send, enter sends   ctrl+d, escape refuse"

    def __init__(self, ask: OpenAsk, asked: SamplingRequest | Review, asks: Asks, host: Host) -> None:
        super().__init__(ask, asks, host)
        self._asked = asked
        self._text = TextField(pretty(asked.params if isinstance(asked, SamplingRequest) else asked.answer.result))
        self._text.move_cursor((0, 0))
        self._text.styles.max_height = READ_LINES

    @override
    def body(self) -> Sequence[Widget]:
        return [self._text]

    @override
    def buttons(self) -> Sequence[AskButton]:
        receiver = (self._asked.model or "the model") if isinstance(self._asked, SamplingRequest) else self.ask.server
        return [AskButton(f"Send to {receiver}", self._send)]

    def _send(self) -> None:
        try:
            value = read_arguments(self._text.value)
        except TuiHostError as error:
            self.say(str(error))
            self._text.focus()
            return
        if isinstance(self._asked, SamplingRequest):
            self.ask.give(replace(self._asked, params=value))
        else:
            self.ask.give(SamplingAnswer(result=value))
