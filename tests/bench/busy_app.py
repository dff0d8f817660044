"""The whole screen at work: an answer streams in, frames come, list and details are open. Run as a script on a pseudo-terminal.

`busy_app.py ours|stock TOKENS FRAMES FOLDER`: so many of each a second. Behind a hundred messages.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import DataTable, Markdown, TextArea, Tree
from textual.widgets.tree import TreeNode
from typing_extensions import override

from tests.bench import texts
from tests.bench.kept import conversation_of
from tests.bench.streaming_app import tokens_of
from tui_host.capture.record import Direction, Draft, Place
from tui_host.capture.recorder import Recorder
from tui_host.chat.conversation import AnswerItem, UserItem
from tui_host.errors import JSON
from tui_host.host.host import Host
from tui_host.settings.load import Overrides, load
from tui_host.tui.app import TuiHost
from tui_host.tui.run_app import around, collecting

HISTORY = 100
TICK = 0.01
TOKENS = tokens_of(texts.mixed(20_000))


async def due(rate: int) -> AsyncGenerator[range]:
    """The numbers of what should have come by now and has not, again and again."""
    given, started = 0, time.perf_counter()
    while True:
        wanted = int(rate * (time.perf_counter() - started))
        yield range(given, wanted)
        given = wanted
        await asyncio.sleep(TICK)


def add(node: TreeNode[None], value: JSON) -> None:
    """Put JSON into a tree."""
    members = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        if isinstance(member, dict | list):
            add(node.add(str(name)), member)
        else:
            node.add_leaf(f"{name}={member}")


def frame(number: int) -> tuple[Direction, dict[str, JSON]]:
    """A call of a tool, or its result."""
    call = number // 2 + 10
    if number % 2 == 0:
        arguments: JSON = {"city": "Paris", "number": number, "note": "some words " * 6}
        return "out", {
            "jsonrpc": "2.0",
            "id": call,
            "method": "tools/call",
            "params": {"name": "get_weather", "arguments": arguments},
        }
    text = json.dumps(
        {"rows": [{"name": f"row {row}", "value": row * number, "is_new": row % 2 == 0} for row in range(12)]}
    )
    return "in", {"jsonrpc": "2.0", "id": call, "result": {"content": [{"type": "text", "text": text}]}}


class Fed:
    """Feeds the session and the recorder of our app as turns and taps do."""

    def __init__(self, app: TuiHost) -> None:
        self._app = app
        self._text = ""
        for item in conversation_of(HISTORY):
            app.session.conversation.add(item)

    async def feed(self, rates: tuple[int, int]) -> None:
        """Until it is cancelled."""
        session = self._app.session
        await self._app.first_frame.wait()
        await self._app.host.ready()
        recorder, conversation = self._app.host.recorder, session.conversation
        assert recorder is not None
        conversation.add(UserItem(turn=1, text="Tell me all of it."))
        number = conversation.add(AnswerItem(turn=1, step=1))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._say(number, rates[0]))
            group.create_task(self._record(recorder, rates[1]))

    async def _say(self, number: int, rate: int) -> None:
        conversation = self._app.session.conversation
        async for numbers in due(rate):
            for each in numbers:
                self._text += TOKENS[each % len(TOKENS)]
                conversation.grow(number, self._answer)

    async def _record(self, recorder: Recorder, rate: int) -> None:
        place = Place(session=self._app.session.id, turn=1, step=1)
        async for numbers in due(rate):
            for each in numbers:
                direction, value = frame(each)
                data = json.dumps(value).encode() + b"\n"
                draft = Draft(
                    wire="mcp", kind="frame", peer="weather", direction=direction, place=place, connection="weather#1"
                )
                recorder.append(replace(draft, data=data))

    def _answer(self) -> AnswerItem:
        return AnswerItem(turn=1, step=1, text=self._text)


class BusyStock(App[None]):
    """The same screen of stock widgets, details brought up to date 20 times a second."""

    CSS = """
    #chat { width: 2fr; } #wires { width: 3fr; } #talk, DataTable, #details { height: 1fr; }
    #prompt { height: 3; } Tree, #raw { width: 1fr; }
    """

    def __init__(self, feed: tuple[int, int]) -> None:
        super().__init__()
        self._rates = feed
        self._last: tuple[Direction, dict[str, JSON]] | None = None

    @override
    def compose(self) -> ComposeResult:
        with Horizontal():
            with Vertical(id="chat"):
                with VerticalScroll(id="talk"):
                    for item in conversation_of(HISTORY):
                        yield Markdown(item.text if isinstance(item, UserItem | AnswerItem) else "")
                    yield Markdown(id="answer")
                yield TextArea(id="prompt", placeholder="Ask anything")
            with Vertical(id="wires"):
                yield DataTable[str](cursor_type="row")
                with Horizontal(id="details"):
                    yield Tree[None]("frame")
                    yield TextArea(id="raw", read_only=True)

    def on_mount(self) -> None:
        """Begin."""
        self.query_one(DataTable[str]).add_columns("time", "", "server", "method", "id", "size")
        self.query_one("#talk", VerticalScroll).anchor()
        self.query_one("#prompt", TextArea).focus()
        self.set_interval(1 / 20, self._look)
        self.run_worker(self._say())
        self.run_worker(self._record())

    async def _say(self) -> None:
        stream = Markdown.get_stream(self.query_one("#answer", Markdown))
        async for numbers in due(self._rates[0]):
            for each in numbers:
                await stream.write(TOKENS[each % len(TOKENS)])

    async def _record(self) -> None:
        table = self.query_one(DataTable[str])
        async for numbers in due(self._rates[1]):
            for each in numbers:
                self._last = direction, value = frame(each)
                size = str(len(json.dumps(value)))
                table.add_row(
                    f"{each / 100:.2f}",
                    direction,
                    "weather",
                    str(value.get("method", "result")),
                    str(value["id"]),
                    size,
                )
            table.move_cursor(row=table.row_count - 1)

    def _look(self) -> None:
        """The details of the last frame."""
        if self._last is None:
            return
        _, value = self._last
        self._last = None
        tree = self.query_one(Tree[None])
        tree.clear()
        add(tree.root, value)
        tree.root.expand_all()
        self.query_one("#raw", TextArea).text = json.dumps(value, indent=2)


async def run_ours(feed: tuple[int, int], folder: Path) -> None:
    """Our app as `run` puts it together."""
    settings = load(Overrides(config=folder / "config.toml", data_dir=folder / "data"), os.environ)
    app = TuiHost(Host(settings))
    async with around(app), collecting(app), asyncio.TaskGroup() as group:
        feeding = group.create_task(Fed(app).feed(feed))
        await app.run_async()
        feeding.cancel()


def main() -> None:
    """Run the one that is asked for."""
    feed = int(sys.argv[2]), int(sys.argv[3])
    if sys.argv[1] == "ours":
        asyncio.run(run_ours(feed, Path(sys.argv[4])))
    else:
        BusyStock(feed).run()


if __name__ == "__main__":
    main()
