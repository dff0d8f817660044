"""Apps for benches, as a script on a pseudo-terminal: `apps.py KIND …`.

- `ours|stock SOURCE RESULT`: a chat that takes in the Markdown of a file as fast as it comes, ours or Textual's `MarkdownStream`; what
  was seen goes into RESULT. The key `s` begins, `q` ends
- `busy TOKENS FRAMES FOLDER`: our whole screen at work behind a hundred messages, so many of each a second
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownStream
from typing_extensions import override

from tests.bench.kept import conversation_of
from tui_host.capture.record import Direction, Draft, Place
from tui_host.chat.conversation import AnswerItem, Conversation, UserItem
from tui_host.errors import JSON
from tui_host.host.host import Host
from tui_host.settings.load import Overrides, load
from tui_host.tui.app import TuiHost
from tui_host.tui.markdown.code_blocks import warm
from tui_host.tui.markdown.parser import load as load_markdown
from tui_host.tui.run_app import around, collecting
from tui_host.tui.widgets.transcript.transcript_view import Transcript

END = "\n\nTHE-END\n"
LIMIT_SECONDS = 40.0
"""After so long an answer is cut: `MarkdownStream` takes minutes, and more for each token the longer it is."""
SCREEN_RATE = 1 / 25
BEAT, TICK = 0.002, 0.01
HISTORY = 100
SECTION = """\
## Part {number}

Here is a paragraph of ordinary prose with *emphasis*, **strong words**, a [link](https://example.org/{number}) and `code` in it; it goes
on for some lines as answers do, and says what was found, why it matters, and what could be done about it next.

这一段是中文：工具返回了结果，主机把它告诉模型，然后模型继续回答第 {number} 个问题。

- a list with several entries
- of which the second one is somewhat longer than the first, so that it wraps
  - and one of them is nested
1. and numbers
2. as well

```python
def step_{number}(value: int) -> int:
    \"\"\"Return the next one.\"\"\"
    return value * {number} + 1  # nothing else
```

| city | temperature | note |
| --- | ---: | --- |
| Paris | {number} | cloudy |
| 东京 | 21 | clear |

> A quotation stands at the end of part {number}.

"""


def mixed(characters: int) -> str:
    """Prose, Chinese, lists, fences, tables: at least so many characters."""
    return "".join(SECTION.format(number=number) for number in range(1, characters // (len(SECTION) - 40) + 2))


def tokens_of(source: str) -> Sequence[str]:
    """Pieces as models give them: a word's part with the space before it."""
    return re.findall(r"\s*[^\s\u4e00-\u9fff]{1,5}|\s*[\u4e00-\u9fff]{1,2}|\s+", source)


@asynccontextmanager
async def stalls(clock: Callable[[], float] = time.perf_counter) -> AsyncGenerator[list[float]]:
    """Sleep for 2 ms again and again while the block runs; the seconds by which each sleep was too long.

    With the CPU time of the thread as the clock these are its own work alone, whatever else the machine does.
    """
    slept = BEAT if clock is time.perf_counter else 0.0
    late = [0.0]

    async def beat() -> None:
        while True:
            before = clock()
            await asyncio.sleep(BEAT)
            late.append(clock() - before - slept)

    async with asyncio.TaskGroup() as group:
        beating = group.create_task(beat())
        await asyncio.sleep(0.02)  # so that the first block is seen too
        yield late
        beating.cancel()


class Ours:
    """The app's transcript, looked at as the app looks at it."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self.widget = Transcript(self.conversation)
        self._parts: list[str] = []
        self._number = 0

    async def begin(self) -> None:
        self.widget.set_interval(SCREEN_RATE, self.widget.sync)
        self._number = self.conversation.add(AnswerItem(turn=1, step=1))

    async def take(self, token: str) -> None:
        self._parts.append(token)
        self.conversation.grow(self._number, self._present)
        await asyncio.sleep(0)

    async def end(self) -> None:
        self.conversation.put(self._number, AnswerItem(turn=1, step=1, text="".join(self._parts), state="done"))

    def _present(self) -> AnswerItem:
        self._parts = ["".join(self._parts)]
        return AnswerItem(turn=1, step=1, text=self._parts[0])


class Stock:
    """Textual's own."""

    def __init__(self) -> None:
        self._markdown = Markdown()
        self._room = VerticalScroll(self._markdown)
        self.widget: Widget = self._room
        self._stream: MarkdownStream | None = None

    async def begin(self) -> None:
        self._room.anchor()
        self._stream = Markdown.get_stream(self._markdown)

    async def take(self, token: str) -> None:
        assert self._stream is not None
        await self._stream.write(token)

    async def end(self) -> None:
        assert self._stream is not None
        await self._stream.stop()


@dataclass(eq=False)
class Streaming(App[None]):
    """An answer alone on a screen."""

    answer: Ours | Stock
    tokens: Sequence[str]
    seen: dict[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        super().__init__()
        self._is_seen = asyncio.Event()

    @override
    def compose(self) -> ComposeResult:
        yield self.answer.widget

    def on_mount(self) -> None:
        load_markdown()
        warm()  # as the app does once somebody has pressed a key

    def key_s(self) -> None:
        self.run_worker(self.whole())

    def key_q(self) -> None:
        self._is_seen.set()

    async def whole(self) -> None:
        """All of it as fast as it goes, or what there is time for."""
        async with stalls() as late:
            await self.answer.begin()
            end, taken = time.perf_counter() + LIMIT_SECONDS, 0
            for token in self.tokens:
                await self.answer.take(token)
                taken += 1
                if time.perf_counter() > end:
                    break
            await self.answer.take(END)
            await self.answer.end()
            await self._is_seen.wait()
        self.seen = {"taken": taken, "stall": max(late)}
        self.exit()


async def due(rate: int) -> AsyncGenerator[range]:
    """The numbers of what should have come by now and has not, again and again."""
    given, started = 0, time.perf_counter()
    while True:
        wanted = int(rate * (time.perf_counter() - started))
        yield range(given, wanted)
        given = wanted
        await asyncio.sleep(TICK)


def frame(number: int) -> tuple[Direction, dict[str, JSON]]:
    """A call of a tool, or its result."""
    call: dict[str, JSON] = {"jsonrpc": "2.0", "id": number // 2 + 10}
    if number % 2 == 0:
        arguments: JSON = {"city": "Paris", "number": number, "note": "some words " * 6}
        return "out", {**call, "method": "tools/call", "params": {"name": "get_weather", "arguments": arguments}}
    rows: JSON = [{"name": f"row {row}", "value": row * number, "is_new": row % 2 == 0} for row in range(12)]
    return "in", {**call, "result": {"content": [{"type": "text", "text": json.dumps({"rows": rows})}]}}


async def feed(app: TuiHost, rates: tuple[int, int]) -> None:
    """Feed the session and the recorder of our app as turns and taps do, until it is cancelled."""
    tokens = tokens_of(mixed(20_000))
    session = app.session
    for item in conversation_of(HISTORY):
        session.conversation.add(item)
    await app.first_frame.wait()
    await app.host.ready()
    recorder = app.host.recorder
    assert recorder is not None
    session.conversation.add(UserItem(turn=1, text="Tell me all of it."))
    answer = session.conversation.add(AnswerItem(turn=1, step=1))

    async def say() -> None:
        text = ""
        async for numbers in due(rates[0]):
            for number in numbers:
                text += tokens[number % len(tokens)]
                session.conversation.grow(answer, lambda text=text: AnswerItem(turn=1, step=1, text=text))

    async def record() -> None:
        place = Place(session=session.id, turn=1, step=1)
        async for numbers in due(rates[1]):
            for direction, value in map(frame, numbers):
                data = json.dumps(value).encode() + b"\n"
                recorder.append(
                    Draft(
                        wire="mcp",
                        kind="frame",
                        peer="weather",
                        direction=direction,
                        place=place,
                        connection="weather#1",
                        data=data,
                    )
                )

    async with asyncio.TaskGroup() as group:
        group.create_task(say())
        group.create_task(record())


async def busy(rates: tuple[int, int], folder: Path) -> None:
    """Our app as `run` puts it together."""
    settings = load(Overrides(config=folder / "config.toml", data_dir=folder / "data"), os.environ)
    app = TuiHost(Host(settings))
    async with around(app), collecting(app), asyncio.TaskGroup() as group:
        feeding = group.create_task(feed(app, rates))
        await app.run_async()
        feeding.cancel()


def main() -> None:
    kind, *words = sys.argv[1:]
    match kind:
        case "busy":
            asyncio.run(busy((int(words[0]), int(words[1])), Path(words[2])))
        case _:
            source, result = words
            app = Streaming(Ours() if kind == "ours" else Stock(), tokens_of(Path(source).read_text()))
            app.run()
            Path(result).write_text(json.dumps(app.seen))


if __name__ == "__main__":
    main()
