"""Large bodies in the details: until the first page is painted against that of a small body; and the longest stall."""

import asyncio
import base64
import gc
import random
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from textual.app import App, ComposeResult
from typing_extensions import override

from tests.bench.measure import Table, at_most
from tests.tui.inspector_wires import MESSAGES, Wires, events_of, request_body, to_json
from tui_host.capture.ladder.row import Row
from tui_host.errors import JSON
from tui_host.tui.run_app import SWITCH_SECONDS, THRESHOLDS
from tui_host.tui.widgets.details.detail_panel import Detail

SIZE = (140, 45)
KILO, MEGA = 1 << 10, 1 << 20
EVENTS, SCROLLED = 60_000, 40
_LINE = 'The gazetteer has "no entry" for this place; it is from 2019.\n'


def request_of(size: int) -> bytes:
    url = f"data:image/png;base64,{base64.b64encode(random.Random(size).randbytes(size * 3 // 8)).decode()}"  # noqa: S311
    messages: list[JSON] = [*MESSAGES, {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]
    piece = min(size // 2, 50 * KILO)
    for number in range(size // 2 // piece):
        words = _LINE * (piece // len(_LINE))
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": words})
    return request_body(messages)


def frame_of(size: int) -> bytes:
    places: list[JSON] = [{"id": number, "name": f"place {number}"} for number in range(size // 36)]
    return to_json({"jsonrpc": "2.0", "id": 4, "result": {"content": [], "structuredContent": {"places": places}}})


@asynccontextmanager
async def stalls(clock: Callable[[], float]) -> AsyncGenerator[list[float]]:
    """The seconds by which each sleep of 2 ms was too long while the block ran; by the thread's CPU time these are its own work alone."""
    slept = 0.002 if clock is time.perf_counter else 0.0
    late = [0.0]

    async def beat() -> None:
        while True:
            before = clock()
            await asyncio.sleep(0.002)
            late.append(clock() - before - slept)

    async with asyncio.TaskGroup() as group:
        beating = group.create_task(beat())
        await asyncio.sleep(0.02)  # so that the first block is seen too
        yield late
        beating.cancel()


@dataclass(frozen=True, slots=True)
class Opened:
    """Seconds until a page was painted, and the longest stall until all of it was made, by the clock and in CPU time."""

    first: float
    stall: float
    cpu: float


class Reading(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.detail = Detail()

    @override
    def compose(self) -> ComposeResult:
        yield self.detail

    def on_mount(self) -> None:
        self.set_interval(1 / 60, self.detail.sync)

    def shows(self, words: str) -> bool:
        strips = self.screen._compositor.render_strips(self.size)  # pyright: ignore[reportPrivateUsage] - no public way
        return any(words in "".join(segment.text for segment in strip) for strip in strips)


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.002)


async def opened(wires: Wires, row: Row, tab: str, words: str) -> Opened:
    """Open a row after another one, wait for the words of its first page, then scroll until all of it is made."""
    gc.collect()  # what the baseline has left
    gc.freeze()
    app = Reading()
    async with app.run_test(size=SIZE):
        detail = app.detail
        detail.show(wires, wires.ladder.rows[0])
        detail.view.focus()
        await until(lambda: detail.is_settled)
        detail.show(wires, row)
        async with stalls(time.perf_counter) as late, stalls(time.thread_time) as busy:
            began = time.perf_counter()
            detail.choose(tab)
            await until(lambda: app.shows(words))
            first = time.perf_counter() - began
            for _ in range(SCROLLED):  # while the rest is made
                detail.view.action_page(1)
                await asyncio.sleep(0.01)
            await until(lambda: detail.is_settled)
            detail.view.action_edge(is_last=True)
            await asyncio.sleep(0.05)
        return Opened(first, max(late), max(busy))


def bodies(table: Table) -> None:
    rounds = 1 if table.is_quick else 3
    wires = Wires()
    wires.request(request_body(MESSAGES), 1.0, exchange="first")
    frames = {size: wires.frame(frame_of(size), 2.0, direction="in") for size in (10 * KILO, 10 * MEGA)}
    requests = {
        size: wires.request(request_of(size), 3.0, exchange=f"{size}") for size in (10 * KILO, 7 * MEGA, 10 * MEGA)
    }
    answer = wires.response(requests[10 * KILO], 4.0, *events_of(*({"content": f"{n} "} for n in range(EVENTS))))
    answer = wires.end(answer, 5.0)

    gc.set_threshold(*THRESHOLDS)  # as in the app
    sys.setswitchinterval(SWITCH_SECONDS)
    for row, tab, words in (
        (frames[10 * KILO], "Frame", "for reading"),
        (requests[10 * KILO], "Parts", "bytes, about"),
    ):
        asyncio.run(opened(wires, row, tab, words))  # with the first page come modules

    table.heading("bodies", "until the first page of a body is painted, in a terminal of 140 x 45")
    for what, rows, size, tab, words, goal in (
        ("a frame of 10 MB", frames, 10, "Frame", "for reading", at_most(3)),
        ("a request of 10 MB, Raw", requests, 10, "Raw", "bytes · UTF-8", at_most(3)),
        # A larger one is not taken apart; until it is, the page says how far it is.
        ("a request of 7 MB, Parts", requests, 7, "Parts", "bytes, about", None),
    ):
        large: list[Opened] = []
        small: list[Opened] = []
        for _ in range(rounds):
            large.append(asyncio.run(opened(wires, rows[size * MEGA], tab, words)))
            small.append(asyncio.run(opened(wires, rows[10 * KILO], tab, words)))
        table.ratio(f"{what}, against 10 KB", [each.first for each in large], [each.first for each in small], goal)
        told_stalls(table, what, large)
    told_stalls(table, f"{EVENTS:,} events", [asyncio.run(opened(wires, answer, "Events", "POST "))])


def told_stalls(table: Table, what: str, opened_bodies: Sequence[Opened]) -> None:
    note = f"by the clock {max(each.stall for each in opened_bodies) * 1e3:.0f} ms"
    cpu = max(each.cpu for each in opened_bodies)
    table.figure(f"{what}: the longest stall, in CPU time", cpu, "s", at_most(0.050), note=note)
