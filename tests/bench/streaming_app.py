"""A chat that takes in an answer as fast as it comes: ours, or Textual's `MarkdownStream`. Run as a script on a pseudo-terminal.

`streaming_app.py ours|stock SOURCE RESULT [EARLY LATE]`: SOURCE is a file with the Markdown, RESULT the file for what was seen. The key `s`
begins, `q` ends. With EARLY and LATE it measures instead what one more painted token costs behind so many.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownStream
from typing_extensions import override

from tests.bench.heartbeat import stalls
from tui_host.chat.conversation import AnswerItem, Conversation
from tui_host.tui.markdown.code_blocks import warm
from tui_host.tui.markdown.parser import load
from tui_host.tui.widgets.transcript.transcript_view import Transcript

END = "\n\nTHE-END\n"
LIMIT_SECONDS = 40.0
"""After so long an answer is cut: `MarkdownStream` takes minutes, and more for each token the longer it is."""
PAINTED = 40
"""Tokens painted one by one for a cost."""
SCREEN_RATE = 1 / 25


def tokens_of(source: str) -> Sequence[str]:
    """Pieces as models give them: a word's part with the space before it."""
    return re.findall(r"\s*[^\s\u4e00-\u9fff]{1,5}|\s*[\u4e00-\u9fff]{1,2}|\s+", source)


class Streaming(App[None]):
    """An answer alone on a screen."""

    def __init__(self, answer: Ours | Stock, tokens: Sequence[str], places: Sequence[int]) -> None:
        super().__init__()
        self.answer = answer
        self.tokens = tokens
        self.places = places
        self.seen: dict[str, float] = {}
        self._is_seen = asyncio.Event()

    @override
    def compose(self) -> ComposeResult:
        yield self.answer.widget()

    def on_mount(self) -> None:
        """Warm what a first use would load."""
        load()
        warm()  # as the app does once somebody has pressed a key

    def key_s(self) -> None:
        """Begin."""
        self.run_worker(self.costs() if self.places else self.whole())

    def key_q(self) -> None:
        """The end was seen."""
        self._is_seen.set()

    async def whole(self) -> None:
        """All of it as fast as it goes, or what there is time for."""
        async with stalls() as late:
            await self.answer.begin()
            end = time.perf_counter() + LIMIT_SECONDS
            taken = 0
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

    async def costs(self) -> None:
        """CPU for one more painted token at each place."""
        await self.answer.begin()
        taken = 0
        for place in self.places:
            await self.answer.take("".join(self.tokens[taken:place]))
            taken = place + PAINTED
            await asyncio.sleep(3.0)
            before = time.process_time()
            for token in self.tokens[place:taken]:
                await self.answer.take(token)
                await asyncio.sleep(SCREEN_RATE)
            self.seen[f"cost at {place}"] = (time.process_time() - before) / PAINTED
        await self.answer.take(END)
        await self.answer.end()
        await self._is_seen.wait()
        self.exit()


class Ours:
    """The app's transcript, looked at as the app looks at it."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self.transcript = Transcript(self.conversation)
        self._parts: list[str] = []
        self._number = 0

    def widget(self) -> Widget:
        return self.transcript

    async def begin(self) -> None:
        self.transcript.set_interval(SCREEN_RATE, self.transcript.sync)
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
        self.markdown = Markdown()
        self.scroll = VerticalScroll(self.markdown)
        self._stream: MarkdownStream | None = None

    def widget(self) -> Widget:
        return self.scroll

    async def begin(self) -> None:
        self.scroll.anchor()
        self._stream = Markdown.get_stream(self.markdown)

    async def take(self, token: str) -> None:
        assert self._stream is not None
        await self._stream.write(token)

    async def end(self) -> None:
        assert self._stream is not None
        await self._stream.stop()


def main() -> None:
    """Run the one that is asked for."""
    kind, source, result = sys.argv[1:4]
    app = Streaming(
        Ours() if kind == "ours" else Stock(), tokens_of(Path(source).read_text()), [int(word) for word in sys.argv[4:]]
    )
    app.run()
    Path(result).write_text(json.dumps(app.seen))


if __name__ == "__main__":
    main()
