"""The baseline of a long chat: a `Markdown` widget for each message. The key `s` opens it. Run as a script: `widgets_app.py MESSAGES LAST`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input, Markdown
from typing_extensions import override

from tests.bench.kept import conversation_of
from tui_host.chat.conversation import AnswerItem, Item, UserItem


class WidgetsApp(App[None]):
    """A chat of widgets."""

    def __init__(self, items: Sequence[Item]) -> None:
        super().__init__()
        self._items = items

    @override
    def compose(self) -> ComposeResult:
        yield VerticalScroll()
        yield Input(placeholder="Ask anything")

    def on_mount(self) -> None:
        """No key goes into the prompt."""
        self.query_one(VerticalScroll).focus()

    async def key_s(self) -> None:
        """Open it."""
        room = self.query_one(VerticalScroll)
        room.anchor()
        await room.mount(*(Markdown(item.text) for item in self._items if isinstance(item, UserItem | AnswerItem)))


if __name__ == "__main__":
    WidgetsApp(conversation_of(int(sys.argv[1]), last=sys.argv[2])).run()
