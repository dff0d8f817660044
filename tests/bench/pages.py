"""The pages of a session of 200 turns: seconds of work from opening a page until it is made, for the first time and again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from typing_extensions import override

from tests.bench.conversations import SESSION, Traffic
from tests.bench.finding import Kept
from tests.bench.kept import recorder_on
from tests.bench.measure import Table, at_most
from tui_host.answers.pages import ROW_PAGES, SECTION_PAGES
from tui_host.answers.recorded_tools import RecordedTools
from tui_host.answers.section import Section
from tui_host.answers.sheet import Sheet
from tui_host.answers.steps import Steps, made
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import Direction, Draft, Place
from tui_host.capture.store.store import Store
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.table import dialect_at
from tui_host.llm.tool_names import OPENAI_NAMES
from tui_host.settings.schema import Price

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


def _drafts(turns: int) -> Iterator[Draft]:
    """A conversation whose every turn calls a tool of a server that listed its tools."""
    tools = [{"name": f"tool_{number}", "inputSchema": {"type": "object"}} for number in range(12)]
    yield _frame({"id": 0, "method": "tools/list"}, "out", 0)
    yield _frame({"id": 0, "result": {"tools": tools}}, "in", 0)
    for draft in Traffic("tools before the messages", turns, words=60).drafts():
        turn = draft.place.turn or 0
        if draft.kind == "end":
            yield replace(draft, kind="chunk", data=_USAGE)
        yield draft
        if draft.kind == "end":
            call = {"name": f"tool_{turn % 12}", "arguments": {"number": turn}}
            yield _frame({"id": turn, "method": "tools/call", "params": call}, "out", turn)
            text = f"the result of call {turn}, " * 10
            yield _frame({"id": turn, "result": {"content": [{"type": "text", "text": text}]}}, "in", turn)


def _frame(message: Mapping[str, object], direction: Direction, turn: int) -> Draft:
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


def run(table: Table) -> None:
    turns = TURNS // 10 if table.is_quick else TURNS
    table.heading("pages", f"a session of {turns} turns on the disk")
    with TemporaryDirectory() as name:
        folder = Path(name)
        with recorder_on(folder) as recorder:
            for draft in _drafts(turns):
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
