"""The list of a long session beside a short one's: its first paint, a page of scrolling, and the memory of a record that is not shown."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.app import App, ComposeResult
from typing_extensions import override

from tests.bench.measure import Table, at_most
from tests.bench.turns import resident
from tests.host.test_host import configured
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.record import Direction, Draft, Kind, Place, Record
from tui_host.host.host import Host
from tui_host.tui.sources.live import PER_PIECE, SessionSource
from tui_host.tui.widgets.ladder.ladder_view import LadderView

RECORDS, FEW, PAGES = 1_000_000, 1000, 40
MOST_BYTES, MOST_TIMES = 64, 1.5
EVENTS = 60


def frame(number: int) -> Draft:
    """A call of a tool, or its result; five calls a step, ten steps a turn."""
    call, turn, step = number // 2, number // 100 + 1, number % 100 // 10 + 1
    place = Place(session="s", turn=turn, step=step, call=f"{turn}.{step}.{number % 10 // 2 + 1}")
    asks = f'"method":"tools/call","params":{{"name":"lookup","arguments":{{"city":"Paris {number}"}}}}'
    says = f'"result":{{"content":[{{"type":"text","text":"Paris has {number} people"}}]}}'
    data = f'{{"jsonrpc":"2.0","id":{call},{says if number % 2 else asks}}}\n'.encode()
    direction: Direction = "in" if number % 2 else "out"
    return Draft(
        wire="mcp", kind="frame", peer="docs", connection="docs#1", direction=direction, place=place, data=data
    )


def mixed() -> Iterator[Draft]:
    """What a chat records: a request, its answer in sixty events, and a call."""
    number = 0
    while True:
        place, exchange = Place(session="s", turn=number // 10 + 1, step=number % 10 + 1), f"x{number}"
        chunks: Sequence[Kind] = ("chunk",) * EVENTS
        kinds: Sequence[Kind] = ("request", "response", *chunks, "end")
        for kind in kinds:
            direction: Direction = "out" if kind == "request" else "in"
            data = b'{"reason":"complete"}' if kind == "end" else b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
            yield Draft(
                wire="llm", kind=kind, peer="demo", direction=direction, place=place, exchange=exchange, data=data
            )
        yield from (frame(2 * number), frame(2 * number + 1))
        number += 1


def feed(ladder: Ladder, drafts: Iterator[Draft], count: int) -> None:
    for first in range(0, count, PER_PIECE):
        ladder.feed(
            Record(capture="c", seq=number, time_ns=number * 1000, mono_ns=number * 1000, draft=draft)
            for number, draft in enumerate(islice(drafts, min(PER_PIECE, count - first)), first + 1)
        )
        assert ladder.numbers.widest >= 0  # as the list asks after each


class Held(SessionSource):
    """A session with records that are made when they are asked for."""

    def __init__(self, host: Host, count: int) -> None:
        super().__init__(host, host.sessions.new())
        feed(self.ladder, map(frame, range(count)), count)

    @override
    def record(self, key: tuple[str, int]) -> Record | None:
        return Record(capture="c", seq=key[1], time_ns=0, mono_ns=0, draft=frame(key[1] - 1))

    @override
    def _read(self, capture: str, after: int, last: int) -> Sequence[Record]:
        return [record for seq in range(after + 1, last + 1) if (record := self.record((capture, seq))) is not None]


class Shown(App[None]):
    @override
    def compose(self) -> ComposeResult:
        yield LadderView()


def painted(view: LadderView, work: Callable[[], object]) -> float:
    """Seconds of this thread until the work is on the screen."""
    began = time.thread_time()
    work()
    view.sync()
    for line in range(view.size.height):
        view.render_line(line)
    return time.thread_time() - began


async def shown(sources: Sequence[Held], rounds: int) -> tuple[list[list[float]], list[list[float]]]:
    """Seconds of the first paint of each source, and of a page of scrolling."""
    first: list[list[float]] = [[] for _ in sources]
    pages: list[list[float]] = [[] for _ in sources]
    app = Shown()
    async with app.run_test(size=(100, 45)):
        view = app.query_one(LadderView)
        for each in range(rounds + 1):
            for place, source in enumerate(sources):
                seconds = painted(view, lambda source=source: view.show(source))
                if each:  # the first time things are imported
                    first[place].append(seconds)
        for place, source in enumerate(sources):
            view.show(source)
            while not view.is_settled:
                view.sync()
            view.move_cursor(view.line_count() // 2 + PAGES * view.size.height // 2)
            for _ in range(min(PAGES, view.line_count() // view.size.height)):
                pages[place].append(painted(view, lambda: view.action_page(-1)))
    return first, pages


def run(table: Table) -> None:
    count = RECORDS // 10 if table.is_quick else RECORDS
    table.heading("list", f"{count:,} records beside {FEW:,}, seconds of the processor")
    gc.collect()
    ladder, before = Ladder(), resident()
    feed(ladder, mixed(), count)
    table.figure(
        f"a record of a chat, {EVENTS} events an answer", (resident() - before) / count, "B", at_most(MOST_BYTES)
    )
    del ladder
    gc.collect()
    with TemporaryDirectory() as folder:
        host, before = Host(configured(Path(folder))), resident()
        sources = Held(host, count), Held(host, FEW)
        table.figure("a record that is a row of its own", (resident() - before) / count, "B")
        first, pages = asyncio.run(shown(sources, 5))
    table.ratio("the first paint", first[0], first[1], at_most(MOST_TIMES))
    table.ratio("a page of scrolling", pages[0], pages[1], at_most(MOST_TIMES))
