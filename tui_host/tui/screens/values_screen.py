"""The values of an answer: the result that each number or name stands in, or that it stands nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from typing_extensions import override

from tui_host.answers.values import ValueOrigin, Values
from tui_host.tui.in_thread import in_thread
from tui_host.tui.screens.page_screen import Browse
from tui_host.tui.widgets.choices import Choice

if TYPE_CHECKING:
    from tui_host.answers.wires import Section
    from tui_host.capture.ladder.row import Row
    from tui_host.chat.conversation import AnswerItem
    from tui_host.tui.sources.live import SessionSource


class ValuesScreen(Browse):
    """The numbers and names of an answer, each with its origin. Values are compared as they are written."""

    HEADING = "Values"
    HAS_SHEET = False
    empty = "being compared with the results …"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "its result", tooltip="go to the result that the value stands in"),
    ]

    def __init__(self, source: SessionSource, item: AnswerItem, show: Callable[[Row | Section, str], None]) -> None:
        super().__init__(f"Values of the answer in turn {item.turn}, step {item.step}, compared as they are written")
        self._source, self._item, self._show_page = source, item, show
        self._origins: Sequence[ValueOrigin] = ()

    @override
    def on_mount(self) -> None:
        async def read() -> None:
            await self._source.caught_up()
            self._origins = await asyncio.wrap_future(in_thread(self.origins))
            self.empty = "No number, and no name that stands in a result."

        self.start(read)

    def origins(self) -> Sequence[ValueOrigin]:
        """Return the values of the last recorded answer of the step, those from nowhere first."""
        rows, answer = self._source.ladder.rows, None
        turn, step = self._item.turn, self._item.step
        for row in (rows[number] for number, own in enumerate(rows.columns["turn"]) if own == turn):
            if row.step == step and row.lane == "llm" and row.kind == "response":
                answer = row
            elif row.step == step and row.kind == "decision":
                break  # later answers are to what a server asked the model
        origins = [] if answer is None else Values(self._source).of_answer(answer)
        return sorted(origins, key=lambda origin: origin.row is not None)

    @override
    def items(self) -> Mapping[str, Choice]:
        hide = self._source.hide
        return {
            str(at): Choice(words=hide(own.value), note=own.words, style="" if own.row is not None else "nowhere")
            for at, own in enumerate(self._origins)
        }

    @override
    def opened(self, key: str) -> None:
        target = self._origins[int(key)].row
        number = None if target is None else self._source.ladder.row_of(target)
        if number is None:
            self.note("No result holds it, nor anything else that the model was told.")
        else:
            self.dismiss()
            self._show_page(self._source.ladder.rows[number], "")
