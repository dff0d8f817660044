"""What one more costs when there are many already: CPU time of four times as much, or of late ones, against that of early ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.bench.measure import Table, at_most
from tui_host.capture.http.sse import SseDecoder
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.record import Draft, Place, Record
from tui_host.capture.visible import visible


def many_calls(count: int) -> list[Record]:
    """So many records of tool calls: decided, asked, answered, and told on standard error."""
    decision = (
        b'{"server":"math","tool":"multiply","decision":"approved","by":"person","words":"approved once, by you"}'
    )
    asked = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"multiply","arguments":{"a":6}}}\n'
    told = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"answer to question %d"}]}}\n'
    line = b"[info] answered a question of somebody, number %d\n"
    drafts: list[Draft] = []
    for number in range(count // 4):
        place = Place(session="s", turn=1, step=1, call=f"call_{number}")
        frame = Draft(wire="mcp", kind="frame", peer="math", place=place, connection="math#1")
        drafts += (
            Draft(wire="host", kind="decision", peer="math", place=place, data=decision),
            replace(frame, direction="out", data=asked % number),
            replace(frame, direction="in", data=told % (number, number)),
            replace(frame, wire="stderr", kind="line", direction="in", place=Place(), data=line % number),
        )
    return [
        Record(capture="c", seq=seq, time_ns=seq * 1000, mono_ns=seq * 1000, draft=draft)
        for seq, draft in enumerate(drafts, 1)
    ]


def cost(work: Callable[[], object]) -> list[float]:
    """Seconds of this process's time, five times."""
    found: list[float] = []
    for _ in range(5):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return found


def read_by_bytes(size: int) -> None:
    """An event that comes byte by byte."""
    decoder = SseDecoder()
    for _ in range(size):
        decoder.feed(b"x")
    decoder.finish()


def fed(ladder: Ladder, records: Sequence[Record]) -> float:
    """Seconds for records that come fifty at a time."""
    start = time.process_time()
    for place in range(0, len(records), 50):
        ladder.feed(records[place : place + 50])
    return time.process_time() - start


def run(table: Table) -> None:
    share = 5 if table.is_quick else 1
    table.heading("growth", "four times as much against once; late ones against early ones")
    short, long = ("\x1bé" * (size // share) for size in (50_000, 200_000))
    table.ratio(
        "a text made visible, four times as long", cost(lambda: visible(long)), cost(lambda: visible(short)), at_most(6)
    )
    once, often = 100_000 // share, 400_000 // share
    table.ratio(
        "an event byte by byte, four times as long",
        cost(lambda: read_by_bytes(often)),
        cost(lambda: read_by_bytes(once)),
        at_most(6),
    )
    records = many_calls(40_000 // share)
    tenth = len(records) // 10
    ladder = Ladder()
    costs = [fed(ladder, records[place : place + tenth]) for place in range(0, len(records), tenth)]
    table.ratio(
        f"a record's row behind {len(records) - tenth:,}, against the first", costs[-3:], costs[:3], at_most(1.5)
    )
    words = iter(f"question {number} dir:in" for number in range(10))
    table.figure(
        f"{len(ladder.rows):,} rows filtered", min(cost(lambda: ladder.filter(next(words)))), "s", at_most(0.07)
    )
