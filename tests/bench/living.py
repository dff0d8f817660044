"""The app at rest, at work, with a long answer and with a long session: what it costs, and how long a person waits."""

import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownStream
from typing_extensions import override

from tests.bench.details import stalls
from tests.bench.measure import HERE, Table, at_least, at_most, percentile
from tests.bench.model_streams import server_of_streams
from tests.bench.screens import BARE, PLACEHOLDER, READY, sessions_in
from tests.bench.terminal import OnPty, app, running
from tui_host.chat.conversation import AnswerItem, Conversation
from tui_host.tui.widgets.transcript.transcript_view import Transcript

NO_SERVERS = "[servers]\n"


def idle(table: Table) -> None:
    seconds = 10.0 if table.is_quick else 40.0
    folder = tempfile.TemporaryDirectory()
    with folder as name, running(BARE, Path(name)) as bare, running(app(Path(name)), Path(name)) as program:
        program.painted_at(PLACEHOLDER, READY)
        program.watch(4.0)
        bare.painted_at(PLACEHOLDER)
        began, before = time.perf_counter(), (program.cpu_seconds(), bare.cpu_seconds())
        while time.perf_counter() - began < seconds:
            program.watch(0.02)
            bare.watch(0.02)
        spent = program.cpu_seconds() - before[0], bare.cpu_seconds() - before[1]
        passed = time.perf_counter() - began
    ours, theirs = (100 * each / passed for each in spent)
    table.heading("idle", "nobody does anything; inspector open, three servers connected")
    note = f"{ours:.2f} % and {theirs:.2f} % of a core"
    table.figure("CPU above a bare Textual app, in points", ours - theirs, "%", at_most(0.3), note=note)


LOADS = ((100, 20, 0.025), (300, 200, 0.040), (1000, 500, 0.075))
"""Tokens and frames a second, and how long 95 % of the keys may take."""
LETTERS = [chr(0x410 + number) for number in range(64)]  # Cyrillic ones: nothing else that is painted has them
WORKING = """\
model = "local/m"
[providers.local]
dialect = "openai"
api_key = "none"
base_url = "http://127.0.0.1:{port}/{count}@{tokens}/openai"
[servers.busy]
command = {python}
args = ["-I", "-S", {peer}, "mcp", "0", "{frames}"]
"""


def busy(table: Table) -> None:
    keys = 12 if table.is_quick else len(LETTERS)
    table.heading(
        "busy", "from a key to its letter: a model answers, a server writes, both recorded; list and details open"
    )
    for tokens, frames, most in LOADS:
        with tempfile.TemporaryDirectory() as name, server_of_streams() as port:
            config = WORKING.format(
                port=port,
                count=tokens * (keys + 20),
                tokens=tokens,
                frames=frames,
                python=json.dumps(sys.executable),
                peer=json.dumps(str(HERE / "peer.py")),
            )
            with running(app(Path(name), config), Path(name)) as program:
                program.painted_at(PLACEHOLDER, "busy")
                program.watch(2.0)  # the server writes on: nothing settles
                program.type("go\r")
                program.painted_at("xwords", seconds=20)
                program.watch(2.0)
                began, before = time.perf_counter(), program.cpu_seconds()
                times = list(_typed(program, LETTERS[:keys]))
                share = (program.cpu_seconds() - before) / (time.perf_counter() - began)
        note = f"median {percentile(times, 0.5) * 1e3:.0f} ms, worst {max(times) * 1e3:.0f}, CPU {share:.0%}"
        what = f"{tokens:,} tokens, {frames} frames a second: 95 % of keys"
        table.figure(what, percentile(times, 0.95), "s", at_most(most), note=note)


def _typed(program: OnPty, letters: Sequence[str]) -> Iterator[float]:
    for letter in letters:
        program.type(letter)
        yield program.painted_at(letter, seconds=30) - program.typed
        program.watch(random.uniform(0.05, 0.20))  # noqa: S311 - a pause


PART = """\
## Part {number}

Here is a paragraph of ordinary prose with *emphasis*, **strong words**, a [link](https://example.org/{number}) and `code` in it.

这一段是中文：工具返回了结果，主机把它告诉模型，然后模型继续回答第 {number} 个问题。

- a list with several entries, of which this one is somewhat longer than the next, so that it wraps
  - and one of them is nested

```python
def step_{number}(value: int) -> int:
    return value * {number} + 1  # nothing else
```

| city | temperature |
| --- | ---: |
| 东京 | {number} |

"""
END = "\n\nTHE-END\n"
LIMIT_SECONDS = 30.0
"""After so long an answer is cut: `MarkdownStream` takes minutes, and more for each token the longer it is."""


@dataclass(frozen=True, slots=True)
class Streamed:
    seconds: float
    taken: int
    stall: float


class Ours(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.conversation = Conversation()
        self.transcript = Transcript(self.conversation)
        self.parts: list[str] = []

    @override
    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_mount(self) -> None:
        self.set_interval(1 / 25, self.transcript.sync)
        self.number = self.conversation.add(AnswerItem(turn=1, step=1))

    async def take(self, token: str) -> None:
        self.parts.append(token)
        self.conversation.grow(self.number, self.answer)
        await asyncio.sleep(0)

    def answer(self) -> AnswerItem:
        self.parts = ["".join(self.parts)]
        return AnswerItem(turn=1, step=1, text=self.parts[0])


class Stock(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.markdown = Markdown()
        self.stream: MarkdownStream | None = None

    @override
    def compose(self) -> ComposeResult:
        with VerticalScroll() as scroll:
            yield self.markdown
        scroll.anchor()

    async def take(self, token: str) -> None:
        self.stream = self.stream or Markdown.get_stream(self.markdown)
        await self.stream.write(token)


async def streamed(subject: Ours | Stock, tokens: Sequence[str]) -> Streamed:
    """Give an app an answer as fast as it takes it, and wait for its end on the screen."""
    async with subject.run_test(size=(100, 45)):
        await subject.take("First words. ")
        await asyncio.sleep(0.3)  # what a first token loads
        taken, began = 0, time.perf_counter()
        async with stalls(time.perf_counter) as late:
            for token in tokens:
                await subject.take(token)
                taken += 1
                if time.perf_counter() - began > LIMIT_SECONDS:
                    break
            await subject.take(END)
            while not _shows(subject, "THE-END"):
                await asyncio.sleep(0.01)
        return Streamed(time.perf_counter() - began, taken, max(late))


def _shows(subject: App[None], words: str) -> bool:
    strips = subject.screen._compositor.render_strips(subject.size)  # pyright: ignore[reportPrivateUsage] - no public way
    return any(words in strip.text for strip in strips)


def streaming(table: Table) -> None:
    table.heading("streaming", "an answer as fast as it comes, against MarkdownStream: the time of one token")
    parts = 20 if table.is_quick else 160
    code = "".join(
        f"    total_{number} = add(total_{number - 1}, {number})  # line\n" for number in range(1, 2 * parts)
    )
    for what, source in (
        ("prose, lists, code, tables", "".join(PART.format(number=number) for number in range(parts))),
        ("one piece of code", f"```python\ndef sums() -> None:\n{code}```"),
    ):
        tokens = re.findall(r"\s*[^\s\u4e00-\u9fff]{1,5}|\s*[\u4e00-\u9fff]{1,2}|\s+", source)
        ours = [asyncio.run(streamed(Ours(), tokens)) for _ in range(2 if table.is_quick else 3)]
        stock = asyncio.run(streamed(Stock(), tokens))
        times = [each.seconds / each.taken for each in ours]
        goal = None if table.is_quick else at_least(120)
        table.ratio(f"{what}, {len(tokens):,} tokens", times, [stock.seconds / stock.taken], goal, swapped=True)
        note = f"MarkdownStream {stock.stall * 1e3:,.0f} ms, {stock.taken:,} tokens"
        table.figure(f"{what}: the longest stall", min(each.stall for each in ours), "s", at_most(0.05), note=note)


F5 = "\x1b[15~"


@contextmanager
def _kept(*sizes: int) -> Generator[Sequence[Path]]:
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name, str(size)) for size in sizes]
        for folder, size in zip(folders, sizes, strict=True):
            sessions_in(folder / "data", size)
        yield folders


def _reopened(folder: Path, last: str) -> float:
    with running(app(folder, NO_SERVERS), folder) as program:
        program.painted_at(PLACEHOLDER)
        program.settle(1.5)
        program.type(F5)
        program.painted_at("messages")
        program.settle(0.5)
        program.type("\r")
        return program.painted_at(last, PLACEHOLDER) - program.typed


def reopening(table: Table) -> None:
    rounds, long = (2, 200) if table.is_quick else (5, 2000)
    table.heading("reopening", "a session of earlier, from the key to its last words painted")
    sizes = (2, long, 10 * long)
    with _kept(*sizes) as folders:
        pairs = list(zip(sizes, folders, strict=True))
        rounds_taken = [[_reopened(folder, f"{size // 2}th") for size, folder in pairs] for _ in range(rounds)]
    two, some, many = zip(*rounds_taken, strict=True)
    table.ratio(f"{long:,} messages, against a session of two", some, two, at_most(2))
    table.ratio(f"{10 * long:,} messages, against {long:,}", many, some, at_most(2))
