"""The values of an answer: the result that each number or name stands in, or that it stands nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from tui_host.answers.values import ValueOrigin, Values
from tui_host.tui.in_thread import in_thread
from tui_host.tui.screens.page_screen import PickScreen

if TYPE_CHECKING:
    from tui_host.chat.conversation import AnswerItem
    from tui_host.tui.screens.main_screen import MainScreen
    from tui_host.tui.sources.live import SessionSource


async def show_values(main: MainScreen, source: SessionSource, item: AnswerItem) -> None:
    """List the numbers and names of an answer, each with its origin, which `enter` shows; those from nowhere first."""

    def go(target: tuple[str, int] | None) -> None:
        number = None if target is None else source.ladder.row_of(target)
        if number is None:
            main.notify("No result holds it, nor anything else that the model was told.", markup=False)
        else:
            main.show_page(source.ladder.rows[number], "")

    focused = main.focused
    await source.caught_up()
    origins = await asyncio.wrap_future(in_thread(partial(_origins, source, item)))
    values = {f"{source.hide(own.value)}  {own.words}": partial(go, own.row) for own in origins}
    heading = f"Values of the answer in turn {item.turn}, step {item.step}, compared as they are written; single digits are left out"
    words = "Each stands in what the model was told."
    if lost := [own for own in origins if own.row is None]:
        words = f"{len(lost)} of {len(origins)} stand in nothing that the model was told."
    words = words if origins else "No number, and no name that stands in a result."
    if main.is_current and main.focused is focused:  # else the person has gone on meanwhile
        main.app.push_screen(PickScreen(heading, words, values))  # pyright: ignore[reportUnknownMemberType] - of any app


def _origins(source: SessionSource, item: AnswerItem) -> Sequence[ValueOrigin]:
    rows, answer = source.ladder.rows, None
    for row in (rows[number] for number, turn in enumerate(rows.columns["turn"]) if turn == item.turn):
        if row.step == item.step and row.lane == "llm" and row.kind == "response":
            answer = row
        elif row.step == item.step and row.kind == "decision":
            break  # later answers are to what a server asked the model
    origins = [] if answer is None else Values(source).of_answer(answer)
    return sorted(origins, key=lambda origin: origin.row is not None)
