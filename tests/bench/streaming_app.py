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
from collections.abc import Callable, Sequence
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownStream
from typing_extensions import override

from tests.bench.heartbeat import Heartbeat
from tui_host.chat.conversation import AnswerItem, Conversation
from tui_host.tui.markdown.parser import load
from tui_host.tui.widgets.transcript.view import Transcript

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
    """What both have."""

    def __init__(self, tokens: Sequence[str], places: Sequence[int]) -> None:
        super().__init__()
        self.tokens = tokens
        self.places = places
        self.seen: dict[str, float] = {}
        self._is_seen = asyncio.Event()

    def on_mount(self) -> None:
        """Warm what a first use would load."""
        load()

    def key_s(self) -> None:
        """Begin."""
        self.run_worker(self.costs() if self.places else self.whole())

    def key_q(self) -> None:
        """The end was seen."""
        self._is_seen.set()

    async def whole(self) -> None:
        """All of it as fast as it goes, or what there is time for."""
        async with Heartbeat() as heart:
            await self.begin()
            end = time.perf_counter() + LIMIT_SECONDS
            taken = 0
            for token in self.tokens:
                await self.take(token)
                taken += 1
                if time.perf_counter() > end:
                    break
            await self.take(END)
            await self.end()
            await self._is_seen.wait()
        self.seen = {"taken": taken, "stall": heart.longest}
        self.exit()

    async def costs(self) -> None:
        """CPU for one more painted token at each place."""
        await self.begin()
        taken = 0
        for place in self.places:
            await self.take("".join(self.tokens[taken:place]))
            taken = place + PAINTED
            await asyncio.sleep(3.0)
            before = time.process_time()
            for token in self.tokens[place:taken]:
                await self.take(token)
                await asyncio.sleep(SCREEN_RATE)
            self.seen[f"cost at {place}"] = (time.process_time() - before) / PAINTED
        await self.take(END)
        await self.end()
        await self._is_seen.wait()
        self.exit()

    async def begin(self) -> None:
        """Get ready for the first token."""
        raise NotImplementedError

    async def take(self, token: str) -> None:
        """One more."""
        raise NotImplementedError

    async def end(self) -> None:
        """It was the last one."""
        raise NotImplementedError


class Ours(Streaming):
    """The app's transcript, looked at as the app looks at it."""

    def __init__(self, tokens: Sequence[str], places: Sequence[int]) -> None:
        super().__init__(tokens, places)
        self.conversation = Conversation()
        self._parts: list[str] = []
        self._number = 0

    @override
    def compose(self) -> ComposeResult:
        yield Transcript(self.conversation)

    @override
    async def begin(self) -> None:
        self.set_interval(SCREEN_RATE, self.query_one(Transcript).sync)
        self._number = self.conversation.add(AnswerItem(turn=1, step=1))

    @override
    async def take(self, token: str) -> None:
        self._parts.append(token)
        self.conversation.grow(self._number, self._present)
        await asyncio.sleep(0)

    @override
    async def end(self) -> None:
        self.conversation.put(self._number, AnswerItem(turn=1, step=1, text="".join(self._parts), state="done"))

    def _present(self) -> AnswerItem:
        self._parts = ["".join(self._parts)]
        return AnswerItem(turn=1, step=1, text=self._parts[0])


class Stock(Streaming):
    """Textual's own."""

    _stream: MarkdownStream | None = None

    @override
    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Markdown()

    @override
    async def begin(self) -> None:
        self.query_one(VerticalScroll).anchor()
        self._stream = Markdown.get_stream(self.query_one(Markdown))

    @override
    async def take(self, token: str) -> None:
        assert self._stream is not None
        await self._stream.write(token)

    @override
    async def end(self) -> None:
        assert self._stream is not None
        await self._stream.stop()


KINDS: dict[str, Callable[[Sequence[str], Sequence[int]], Streaming]] = {"ours": Ours, "stock": Stock}


def main() -> None:
    """Run the one that is asked for."""
    kind, source, result = sys.argv[1:4]
    app = KINDS[kind](tokens_of(Path(source).read_text()), [int(word) for word in sys.argv[4:]])
    app.run()
    Path(result).write_text(json.dumps(app.seen))


if __name__ == "__main__":
    main()
