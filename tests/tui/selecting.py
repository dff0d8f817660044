"""A chat to select in, the mouse that does it, and what came of it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from typing_extensions import override

from tests.tui.still import a_call
from tests.tui.waiting import at_work
from tui_host.chat.conversation import AnswerItem, Conversation, UserItem
from tui_host.tui.widgets.lines.line_view import LineView
from tui_host.tui.widgets.prompt.prompt_field import Prompt
from tui_host.tui.widgets.transcript.transcript_view import Transcript

ANSWER = """\
## The *sum* of it

Some **bold words** and a [link](https://e.example/) here.

- first item
- second `code` item

```python
def f(x):
    return x
```

| a | b |
|---|---|
| 1 | 中文 |

The end."""


class Chat(App[None]):
    def __init__(self, conversation: Conversation) -> None:
        super().__init__()
        self.view = Transcript(conversation)
        self.conversation = conversation
        self.picked: list[str] = []

    def on_prompt_quick_picked(self, message: Prompt.QuickPicked) -> None:
        self.picked.append(message.text)

    @override
    def compose(self) -> ComposeResult:
        yield self.view


def a_chat(text: str = ANSWER) -> Conversation:
    conversation = Conversation()
    conversation.add(UserItem(turn=1, text="what is it?"))
    conversation.add(a_call(state="done", result="30"))
    conversation.add(AnswerItem(turn=1, step=1, text=text, state="done"))
    return conversation


@asynccontextmanager
async def in_chat(of: Conversation, size: tuple[int, int] = (60, 40)) -> AsyncGenerator[tuple[Transcript, Pilot[None]]]:
    async with at_work(Chat(of), size) as (app, pilot):
        await settled(pilot, app.view)
        yield app.view, pilot


async def settled(pilot: Pilot[None], view: Transcript) -> None:
    view.sync()
    await pilot.pause()


def screen(view: LineView) -> list[str]:
    return [view.render_line(y).text.rstrip() for y in range(view.scrollable_size.height)]


def row_of(view: LineView, words: str) -> tuple[int, int]:
    return next((text.index(words), y) for y, text in enumerate(screen(view)) if words in text)


async def drag(pilot: Pilot[None], view: LineView, start: tuple[int, int], end: tuple[int, int]) -> None:
    await pilot.mouse_down(view, offset=start)
    await pilot.hover(view, offset=end)
    await pilot.mouse_up(view, offset=end)
    await pilot.pause()


def selected(view: LineView) -> str:
    return (view.selected_source() or ("", ""))[1]


def marked(view: LineView) -> str:
    """What is drawn as selected, lines joined by a bar."""
    colour = view.screen.get_component_rich_style("screen--selection").bgcolor
    rows = (
        "".join(text for text, style, _ in view.render_line(y) if style and style.bgcolor == colour)
        for y in range(view.scrollable_size.height)
    )
    return "|".join(row for row in rows if row)
