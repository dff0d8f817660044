"""Finding among many records: seconds to the first matches and to all, beside the goals; slices against the budget."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from typing_extensions import override

from tests.bench.kept import recorder_on
from tests.bench.measure import Table, at_most
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import Draft, Place, Record
from tui_host.capture.store.store import Store
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.ladder.ladder_filter import BUDGET, Filtering
from tui_host.tui.widgets.ladder.row_texts import LadderTexts

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


def run(table: Table) -> None:
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
