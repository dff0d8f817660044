"""What recording costs: frames that are on the disk a second, what each takes from its caller, and a long conversation's size."""

from __future__ import annotations

import sqlite3
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue

from tests.bench.conversations import SHAPES, Traffic
from tests.bench.kept import recorder_on
from tests.bench.measure import Table, at_least, at_most, interleaved, percentile
from tui_host.capture.record import Draft, Place
from tui_host.capture.store.store import Store

FRAME = b'{"jsonrpc":"2.0","id":%07d,"result":{"content":[{"type":"text","text":"' + b"lorem ipsum " * 70 + b'"}]}}\n'
PLACE = Place(session="20261121-134501-x7k2q", turn=1, step=1)


def frames(count: int) -> list[Draft]:
    """Frames of 940 bytes."""
    return [
        Draft(
            wire="mcp", kind="frame", peer="math", direction="in", place=PLACE, connection="math#1", data=FRAME % number
        )
        for number in range(count)
    ]


def recorded(folder: Path, drafts: Sequence[Draft], name: str) -> float:
    """Seconds until all is on the disk."""
    with recorder_on(folder, name) as recorder:
        began = time.perf_counter()
        for draft in drafts:
            recorder.append(draft)
        assert recorder.flush(120)
        return time.perf_counter() - began


def written(folder: Path, drafts: Sequence[Draft], name: str) -> float:
    """The same of the baseline: a thread that commits all that waits, in rows of four columns."""
    connection = sqlite3.connect(folder / f"{name}.db", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE frames (key INTEGER PRIMARY KEY, time INTEGER, peer TEXT, data BLOB)")
    queue: SimpleQueue[tuple[int, int, str, bytes] | None] = SimpleQueue()

    def write() -> None:
        rows: list[tuple[int, int, str, bytes] | None] = []
        while None not in rows:
            rows = [queue.get(), *(queue.get() for _ in range(min(queue.qsize(), 1023)))]
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO frames VALUES (?, ?, ?, ?)", [row for row in rows if row])
            connection.execute("COMMIT")

    thread = threading.Thread(target=write)
    thread.start()
    began = time.perf_counter()
    for number, draft in enumerate(drafts):
        queue.put((number, time.time_ns(), draft.peer, draft.data))
    queue.put(None)
    thread.join()
    took = time.perf_counter() - began
    connection.close()
    return took


def taken_from_caller(folder: Path, drafts: Sequence[Draft], name: str, pause: float) -> list[float]:
    """Seconds that each `append` took, 50 of them and then a pause, as wires are read."""
    times: list[float] = []
    with recorder_on(folder, name) as recorder:
        for number, draft in enumerate(drafts):
            began = time.perf_counter()
            recorder.append(draft)
            times.append(time.perf_counter() - began)
            if number % 50 == 49:
                time.sleep(pause)
    return times


def run(table: Table) -> None:
    rounds, count = (3, 5_000) if table.is_quick else (7, 30_000)
    drafts = frames(count)
    table.heading("recording", f"{count:,} frames of 940 bytes")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        numbers = iter(range(10_000))
        ours, theirs = interleaved(
            rounds,
            lambda: recorded(folder, drafts, f"r{next(numbers)}") / count,
            lambda: written(folder, drafts, f"w{next(numbers)}") / count,
        )
        table.ratio("rate at which they are on the disk (time of one)", ours, theirs, at_least(0.7), swapped=True)
        best = [sorted(taken_from_caller(folder, drafts[:5000], f"c{next(numbers)}", 0.002)) for _ in range(rounds)]
        for share, goal in ((0.5, None), (0.99, at_most(50e-6))):
            figures = [percentile(times, share) for times in best]
            note = f"best of {rounds} rounds, worst {max(figures) * 1e6:.0f} µs"
            table.figure(f"taken from the caller, {100 * share:g} %", min(figures), "s", goal, note=note)
    table.heading("recording", "a conversation on the disk, an event of an answer a record")
    for shape in SHAPES:
        run_conversation(table, Traffic(shape, 40 if table.is_quick else 200))


def run_conversation(table: Table, traffic: Traffic) -> None:
    """A whole conversation with its answers on the disk, its requests alone, and each request's body back."""
    drafts = list(traffic.drafts())
    requests = [draft for draft in drafts if draft.kind == "request"]
    with tempfile.TemporaryDirectory() as name:
        for what, part in ((f"{traffic.turns} turns, {traffic.shape}", drafts), ("  its requests alone", requests)):
            size, total = size_on_disk(Path(name, what.strip()[:3]), part), sum(len(draft.data) for draft in part)
            note = f"{size / 1e6:.2f} MB of {total / 1e6:.1f}"
            table.figure(f"{what}: on disk", size / total, "×", at_most(0.04), note=note)
        table.figure("  slowest body back", slowest_body(Path(name, "its"), requests), "s", at_most(0.010))


def size_on_disk(folder: Path, drafts: Sequence[Draft]) -> int:
    """Bytes of the database's files, once all of it is recorded and closed; without the room held back on the disk."""
    folder.mkdir()
    with recorder_on(folder) as recorder:
        for draft in drafts:
            recorder.append(draft)
    return sum(file.stat().st_size for file in folder.iterdir() if file.suffix != ".ballast")


def slowest_body(folder: Path, requests: Sequence[Draft]) -> float:
    """The longest that a request's body takes, the best of three for each; all are what was sent."""
    store = Store.open_to_read(folder / "tui-host.db")
    slowest = 0.0
    kept = {record.draft.exchange: record for record in store.records() if record.draft.kind == "request"}
    for draft in requests:
        times: list[float] = []
        for _ in range(3):
            began = time.perf_counter()
            found = store.record(kept[draft.exchange].capture, kept[draft.exchange].seq)
            times.append(time.perf_counter() - began)
            assert found is not None
            assert found.draft.data == draft.data, "byte for byte"
        slowest = max(slowest, min(times))
    store.close()
    return slowest
