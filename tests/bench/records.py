"""Many records: joined to stories, found, listed, and their pages made."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from textual.app import App, ComposeResult
from typing_extensions import override

from tests.bench.conversations import SESSION, Traffic
from tests.bench.kept import recorder_on
from tests.bench.measure import Table, at_most
from tests.infer.forms import FORMS, Answer, Call, Entry, Results, User
from tests.infer.kept import KeptModelTap, KeptServerTap
from tui_host.answers.pages import ROW_PAGES, SECTION_PAGES
from tui_host.answers.recorded_tools import RecordedTools
from tui_host.answers.section import Section
from tui_host.answers.sheet import Sheet
from tui_host.answers.steps import Steps, made
from tui_host.capture.exports import EXPORTS
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import Direction, Draft, Kind, Place, Record
from tui_host.capture.store.store import Store
from tui_host.host.host import Host
from tui_host.infer.live_story import LiveStory
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.whole_story import WholeStory
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.table import dialect_at
from tui_host.llm.tool_names import OPENAI_NAMES
from tui_host.settings.load import Overrides, load
from tui_host.settings.paths import DATABASE
from tui_host.settings.schema import Price
from tui_host.tui.sources.live import PER_PIECE, SessionSource
from tui_host.tui.widgets.ladder.ladder_filter import BUDGET, Filtering
from tui_host.tui.widgets.ladder.ladder_view import LadderView
from tui_host.tui.widgets.ladder.row_texts import LadderTexts

# Stories.

STEPS = 50
"""Exchanges of one conversation, as a coding agent has them: each but the last asks for a call."""
WORDS = 460
"""Words of a tool's result, so that the average request has 100 kB."""


def record_story(folder: Path, conversations: int) -> int:
    """Record a story of two taps, one before a model and one before a server; the bytes of all requests."""
    form, size = FORMS["openai"], 0
    chance = random.Random(0)  # noqa: S311 - the same words each time
    model, math = KeptModelTap(folder, "example"), KeptServerTap(folder, "math")
    math.start(["add"], client="Cline")
    for number in range(conversations):
        entries: list[Entry] = [User(f"question {number}: what is it?")]
        for step in range(STEPS):
            call = Call(f"call_{number}_{step}", "math__add", {"a": step, "b": number})
            answer = Answer("", [call]) if step < STEPS - 1 else Answer("It is this.")
            size += len(form.request(entries))
            list(model.answer(form, model.ask(form, entries, "Cline/3.20"), answer))
            text = " ".join(f"{chance.getrandbits(28):07x}" for _ in range(WORDS))
            math.result(math.call("add", call.arguments)[0], text)
            entries += [answer, Results([(call, text)])]
        while not model.kept.recording.recorder.flush(60):  # the tap's thread may not have opened its database yet
            time.sleep(0.01)
    assert model.kept.recording.close()
    assert math.kept.recording.close()
    return size


def processor_seconds(work: Callable[[], object]) -> float:
    """Seconds of the processor that this takes: what else runs on the machine does not count."""
    before = time.process_time()
    work()
    return time.process_time() - before


def followed(store: Store, story: TapStory) -> None:
    """Read a story to its end, as a screen that shows it does."""
    following = LiveStory(store, story.id)
    while not (following.updates and following.updates[-1].state.is_whole):
        following.updates.clear()
        following.read(0.25)
        time.sleep(0.01)


def exported(store: Store, story: TapStory, form: str) -> None:
    whole = WholeStory(store, story)
    with Path(os.devnull).open("wb") as file:
        file.writelines(EXPORTS[form](whole, whole.info))


def stories(table: Table) -> None:
    conversations = 2 if table.is_quick else 20
    with TemporaryDirectory() as name:
        size = record_story(Path(name), conversations)
        store = Store.open_to_read(Path(name, "data", DATABASE))
        (story,) = Stories(store).listed()[0]
        assert isinstance(story, TapStory)
        count = conversations * STEPS
        table.heading("stories", f"{count:,} exchanges, {size / 1e6:.0f} MB of requests, in processor seconds")
        scale = conversations / 20
        for what, work in (
            ("followed until all is joined", lambda: followed(store, story)),
            ("shown", lambda: WholeStory(store, story).session_items("")),
            ("exported as jsonl", lambda: exported(store, story, "jsonl")),
            ("exported as markdown", lambda: exported(store, story, "markdown")),
        ):
            table.figure(what, processor_seconds(work), "s", at_most(2 * scale))
        store.close()


# Finding.

RECORDS = 100_000
RARE = 1000
"""One record in so many has the words that are looked for."""
FIRST_SECONDS = 0.05
_WORDS = "the gazetteer of 2019 has no entry for this place, " * 18
"""Some 900 bytes, so that a record has 1 KB."""


class Kept(SessionSource):
    """The records of one capture on the disk."""

    def __init__(self, store: Store, capture: str) -> None:
        self.ladder = Ladder()
        self._store = store
        self._capture = capture
        for record in store.records(capture=capture):
            self.ladder.feed([record])

    @override
    def record(self, key: tuple[str, int]) -> Record | None:
        return self._store.record(*key)

    @override
    def _read(self, capture: str, after: int, last: int) -> Sequence[Record]:
        return list(self._store.records(capture=capture, after=after, until_seq=last, limit=250))

    @override
    def plain_data(self, capture: str, seqs: Sequence[int]) -> Mapping[int, bytes]:
        return self._store.plain_data(capture, seqs)


def _draft(number: int) -> Draft:
    words = f"{_WORDS}{'工具 Needle' if number % RARE == RARE // 2 else number}"
    data = f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[{{"type":"text","text":"{words}"}}]}}}}\n'
    place = Place(session="s", turn=number // 100 + 1, step=1)
    return Draft(
        wire="mcp", kind="frame", peer="docs", connection="docs#1", direction="in", place=place, data=data.encode()
    )


def _shown(row: Row) -> str:
    return row.words


def _filtered(source: Kept, text: str) -> tuple[float, float, float, int]:
    """Seconds to the first match, to the end, of the longest slice in CPU time; and the matches."""
    filtering = Filtering(LadderTexts(source, _shown))
    count = len(source.ladder.rows)
    began = time.perf_counter()
    matches, first, longest = 0, 0.0, 0.0
    gained = filtering.begin(source.ladder, text, count, range(count - 40, count))
    while True:
        ended = time.perf_counter()
        matches += len(gained)
        first = first or (ended - began) * bool(gained)
        if not filtering.is_looking:
            return first, ended - began, longest, matches
        busy = time.thread_time()
        gained = filtering.look(source.ladder).gained
        longest = max(longest, time.thread_time() - busy)


def finding(table: Table) -> None:
    count = RECORDS // 10 if table.is_quick else RECORDS
    table.heading("finding", f"{count:,} records of 1 KB on the disk; one in {RARE:,} has the words")
    with TemporaryDirectory() as name:
        folder = Path(name)
        with recorder_on(folder) as recorder:
            for number in range(count):
                recorder.append(_draft(number))
                if number % 5000 == 0:
                    assert recorder.flush(60)
            capture = recorder.capture
        store = Store.open_to_read(folder / "tui-host.db")
        source = Kept(store, capture)
        for text in ('"needle"', '"工具"', 'docs "needle"', "server:docs size>1k", 'size<100 or "工具"'):
            first, whole, longest, matches = _filtered(source, text)
            assert matches, text
            table.figure(f"{text}: the first match", first, "s", at_most(FIRST_SECONDS))
            table.figure(f"{text}: all {matches:,}", whole, "s")
            table.figure(f"{text}: the longest slice", longest, "s", at_most(2 * BUDGET))
        store.close()


# Listing.

LISTED, FEW, PAGES_SCROLLED = 1_000_000, 1000, 40
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


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


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
            view.move_cursor(view.line_count() // 2 + PAGES_SCROLLED * view.size.height // 2)
            for _ in range(min(PAGES_SCROLLED, view.line_count() // view.size.height)):
                pages[place].append(painted(view, lambda: view.action_page(-1)))
    return first, pages


def listing(table: Table) -> None:
    count = LISTED // 10 if table.is_quick else LISTED
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
        host, before = Host(load(Overrides(data_dir=Path(folder)), {})), resident()
        sources = Held(host, count), Held(host, FEW)
        table.figure("a record that is a row of its own", (resident() - before) / count, "B")
        first, pages = asyncio.run(shown(sources, 5))
    table.ratio("the first paint", first[0], first[1], at_most(MOST_TIMES))
    table.ratio("a page of scrolling", pages[0], pages[1], at_most(MOST_TIMES))


# Pages.

TURNS = 200
SECONDS = 0.1
_USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":9000,"completion_tokens":60}}\n\n'


class KeptPages(Kept):
    """The records of one capture on the disk, with what pages ask about."""

    def __init__(self, store: Store, capture: str) -> None:
        super().__init__(store, capture)
        self.recorded = RecordedTools()
        for record in store.records(capture=capture):
            self.recorded.feed(record)

    @override
    def dialect(self, row: Row) -> Dialect | None:
        return dialect_at(row.url)

    @override
    def price(self, row: Row, model: str) -> Price | None:
        return None

    @override
    def compared(self, row: Row) -> Row | None:
        return self.before(row)

    @override
    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        return self.recorded.names(row.capture, OPENAI_NAMES)

    @override
    def hide(self, text: str) -> str:
        return text


def drafts_of(turns: int) -> Iterator[Draft]:
    """A conversation whose every turn calls a tool of a server that listed its tools."""
    tools = [{"name": f"tool_{number}", "inputSchema": {"type": "object"}} for number in range(12)]
    yield frame_of({"id": 0, "method": "tools/list"}, "out", 0)
    yield frame_of({"id": 0, "result": {"tools": tools}}, "in", 0)
    for draft in Traffic("tools before the messages", turns, words=60).drafts():
        turn = draft.place.turn or 0
        if draft.kind == "end":
            yield replace(draft, kind="chunk", data=_USAGE)
        yield draft
        if draft.kind == "end":
            call = {"name": f"tool_{turn % 12}", "arguments": {"number": turn}}
            yield frame_of({"id": turn, "method": "tools/call", "params": call}, "out", turn)
            text = f"the result of call {turn}, " * 10
            yield frame_of({"id": turn, "result": {"content": [{"type": "text", "text": text}]}}, "in", turn)


def frame_of(message: Mapping[str, object], direction: Direction, turn: int) -> Draft:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
    place = Place(session=SESSION, turn=turn, step=1, call=f"{turn}.1.1") if turn else Place()
    return Draft(
        wire="mcp", kind="frame", peer="docs", connection="docs#1", direction=direction, place=place, data=data
    )


def _seconds(steps: Steps[Sheet]) -> float:
    began = time.thread_time()
    sheet = made(steps)
    ended = time.thread_time()
    assert sheet.lines, sheet.empty
    return ended - began


def pages(table: Table) -> None:
    turns = TURNS // 10 if table.is_quick else TURNS
    table.heading("pages", f"a session of {turns} turns on the disk")
    with TemporaryDirectory() as name:
        folder = Path(name)
        with recorder_on(folder) as recorder:
            for draft in drafts_of(turns):
                recorder.append(draft)
            capture = recorder.capture
        store = Store.open_to_read(folder / "tui-host.db")
        rows = KeptPages(store, capture).ladder
        subjects = {"Chain": next(row for row in rows.rows if row.method == "tools/call")}
        subjects["Changes"] = rows.rows[rows.numbers.requests[-1]]
        session = Section(is_session=True)
        for title in (*SECTION_PAGES, *ROW_PAGES):
            source = KeptPages(store, capture)
            for when in ("the first time", "again"):
                row = subjects.get(title)
                steps = SECTION_PAGES[title](source, session) if row is None else ROW_PAGES[title](source, row)
                table.figure(f"{title}, {when}", _seconds(steps), "s", at_most(SECONDS))
        store.close()
