"""Many records: their list, and the pages that are made of them."""

import asyncio
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.app import App, ComposeResult
from typing_extensions import override

from tests.bench.measure import Table, at_most
from tests.kit.bodies import DIALECTS, Answer, Call, Results, Tool, Usage, User
from tests.kit.mcp_server import text as text_result
from tests.kit.peer import rpc
from tests.tui.inspector_wires import Wires
from tui_host.answers.pages import PAGES, Subject, sheet_of
from tui_host.answers.wires import Section
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.link import Span
from tui_host.capture.record import Direction, Kind, Place, Record
from tui_host.errors import JSON
from tui_host.host.host import Host
from tui_host.settings.load import Overrides, load
from tui_host.tui.sources.live import PER_PIECE, SessionSource
from tui_host.tui.widgets.inspector.ladder import LadderView

LISTED, FEW, SCROLLED = 1_000_000, 1000, 40
EVENTS = 60


def frame(number: int) -> Record:
    turn, step = number // 100 + 1, number % 100 // 10 + 1
    place = Place(session="s", turn=turn, step=step, call=f"{turn}.{step}.{number % 10 // 2 + 1}")
    call: JSON = {"name": "lookup", "arguments": {"city": f"Paris {number}"}}
    data = rpc(id=number // 2, method="tools/call", params=call)
    direction: Direction = "out"
    if number % 2:
        data, direction = rpc(id=number // 2, result=text_result(f"Paris has {number} people")), "in"
    return Record(
        wire="mcp", kind="frame", peer="docs", connection="docs#1", direction=direction, place=place, data=data + b"\n"
    )


def chat() -> Iterator[Record]:
    number = 0
    while True:
        place, exchange = Place(session="s", turn=number // 10 + 1, step=number % 10 + 1), f"x{number}"
        chunks: Sequence[Kind] = ("chunk",) * EVENTS
        kinds: Sequence[Kind] = ("request", "response", *chunks, "end")
        for kind in kinds:
            direction: Direction = "out" if kind == "request" else "in"
            data = b'{"reason":"complete"}' if kind == "end" else b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
            yield Record(
                wire="llm", kind=kind, peer="demo", direction=direction, place=place, exchange=exchange, data=data
            )
        yield from (frame(2 * number), frame(2 * number + 1))
        number += 1


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def feed(ladder: Ladder, drafts: Iterator[Record], count: int) -> None:
    for first in range(0, count, PER_PIECE):
        ladder.feed(
            replace(draft, capture="c", seq=number, time_ns=number * 1000, mono_ns=number * 1000)
            for number, draft in enumerate(islice(drafts, min(PER_PIECE, count - first)), first + 1)
        )
        assert ladder.numbers.widest >= 0  # as the list asks after each


class Held(SessionSource):
    def __init__(self, host: Host, count: int) -> None:
        super().__init__(host, host.sessions.new())
        feed(self.ladder, map(frame, range(count)), count)

    @override
    def record(self, key: tuple[str, int]) -> Record | None:
        return replace(frame(key[1] - 1), capture="c", seq=key[1], mono_ns=0)

    @override
    def _read(self, capture: str, after: int, last: int) -> Sequence[Record]:
        return [record for seq in range(after + 1, last + 1) if (record := self.record((capture, seq))) is not None]


class Shown(App[None]):
    @override
    def compose(self) -> ComposeResult:
        yield LadderView()


def painted(view: LadderView, work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    view.sync()
    for line in range(view.size.height):
        view.render_line(line)
    return time.thread_time() - began


async def shown(sources: Sequence[Held], rounds: int) -> tuple[list[list[float]], list[list[float]]]:
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
            view.move_cursor(view.line_count() // 2 + SCROLLED * view.size.height // 2)
            for _ in range(min(SCROLLED, view.line_count() // view.size.height)):
                pages[place].append(painted(view, lambda: view.action_page(-1)))
    return first, pages


def listing(table: Table) -> None:
    count = LISTED // 10 if table.is_quick else LISTED
    table.heading("list", f"{count:,} records beside {FEW:,}, seconds of the processor")
    gc.collect()
    ladder, before = Ladder(), resident()
    feed(ladder, chat(), count)
    table.figure(f"a record of a chat, {EVENTS} events an answer", (resident() - before) / count, "B", at_most(64))
    del ladder
    gc.collect()
    with TemporaryDirectory() as folder:
        host = Host(load(Overrides(data_dir=Path(folder)), {}))
        first, pages = asyncio.run(shown((Held(host, count), Held(host, FEW)), 5))
    table.ratio("the first paint", first[0], first[1], at_most(1.5))
    table.ratio("a page of scrolling", pages[0], pages[1], at_most(1.5))


async def found(source: Held, text: str) -> tuple[float, float, float]:
    """Seconds from a filter to its first match, to all of them, and of the screen's longest stretch, in CPU time."""
    app, longest, first = Shown(), 0.0, 0.0
    async with app.run_test(size=(100, 45)):
        view = app.query_one(LadderView)
        view.show(source)
        while not view.is_settled:
            view.sync()
        began, busy = time.perf_counter(), time.thread_time()
        view.filter(text)
        while not first or not view.is_settled:
            longest = max(longest, time.thread_time() - busy)
            first = first or (time.perf_counter() - began) * bool(view.line_count() > 1)
            await asyncio.sleep(0.04)
            busy = time.thread_time()
            view.sync()
        return first, time.perf_counter() - began, longest


def finding(table: Table) -> None:
    count = LISTED // 100 if table.is_quick else LISTED // 10
    table.heading("finding", f"{count:,} frames, one in {count // 10:,} has the words, from a key to the list")
    with TemporaryDirectory() as folder:
        source = Held(Host(load(Overrides(data_dir=Path(folder)), {})), count)
        for text in (f'"Paris {count // 2}"', f"server:docs lookup {count // 2}"):
            first, whole, longest = asyncio.run(found(source, text))
            table.figure(f"{text}: the first match", first, "s", note=f"all in {whole:.2f} s")
            table.figure(f"{text}: the longest stretch of the screen, in CPU time", longest, "s", at_most(0.050))


def conversation(steps: int) -> Wires:
    wires, chat_form = Wires(), DIALECTS["openai"]
    tools = [Tool(f"tool_{number}", "Does the thing. " * 20) for number in range(12)]
    entries: list[User | Answer | Results] = [User("what is it?")]
    for step in range(1, steps + 1):
        call = Call(f"call_{step}", f"math__tool_{step % 12}", {"number": step})
        answer = Answer("some words of it " * 20, [call], usage=Usage(9000, 60))
        request = wires.request(chat_form.request(entries, tools=tools), step, exchange=f"x{step}", step=step)
        wires.end(wires.response(request, step + 0.1, *chat_form.events(answer, 6)), step + 0.5)
        wires.link(
            "asked", Span(exchange=f"x{step}", start=0, end=10), step + 0.5, call=call.id, tool=f"tool_{step % 12}"
        )
        asked: JSON = {"name": f"tool_{step % 12}", "arguments": {"number": step}}
        told = f"the result of call {step}, " * 10
        wires.frame(rpc(id=step, method="tools/call", params=asked), step + 0.6, direction="out", call=call.id)
        wires.frame(rpc(id=step, result=text_result(told)), step + 0.7, direction="in", call=call.id)
        entries += [answer, Results([(call, told)])]
    return wires


def seconds_of(title: str, wires: Wires, subject: Subject) -> float:
    began = time.thread_time()
    sheet = sheet_of(title, wires, subject)
    ended = time.thread_time()
    assert sheet.lines, sheet.empty
    return ended - began


def pages(table: Table) -> None:
    count = 20 if table.is_quick else 200
    table.heading("pages", f"a session of {count} steps")
    wires = conversation(count)
    rows = wires.ladder
    subjects = {"Chain": next(row for row in rows.rows if row.method == "tools/call")}
    subjects["Changes"] = rows.rows[rows.numbers.requests[-1]]
    session = Section(is_session=True)
    for title in (page.name for page in PAGES):
        for when in ("the first time", "again"):
            row = subjects.get(title)
            table.figure(f"{title}, {when}", seconds_of(title, wires, row or session), "s", at_most(0.1))
