"""What recording costs: frames that are on the disk a second, what each takes from its caller, and a long conversation's size."""

import random
import sqlite3
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from string import ascii_lowercase

from tests.bench.measure import Table, at_least, at_most, percentile
from tests.kit.bodies import Tool, chunk, dumped
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.record import Head, Kind, Place, Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.errors import JSON

FRAME = b'{"jsonrpc":"2.0","id":%07d,"result":{"content":[{"type":"text","text":"' + b"lorem ipsum " * 70 + b'"}]}}\n'
PLACE = Place(session="20261121-134501-x7k2q", turn=1, step=1)
SHAPES = ("tools before the messages", "a clock in the system prompt", "other calls between")
SYSTEM = "You are a helpful assistant. Answer shortly, and use the tools where they help. " * 12
HEAD = Head(
    method="POST", url="http://127.0.0.1:9/v1/chat/completions", headers=(("content-type", "application/json"),)
)


def frame(number: int) -> Record:
    """A frame of 940 bytes."""
    return Record(
        wire="mcp", kind="frame", peer="math", direction="in", place=PLACE, connection="math#1", data=FRAME % number
    )


@contextmanager
def recorder_on(folder: Path, name: str = "tui-host") -> Generator[Recorder]:
    """A recorder into a store in this folder, with a secret to look for; all is on the disk once the block has ended."""
    store = Store.open(folder / f"{name}.db")
    recorder = Recorder(store, Redactor([("KEY", "sk-1234567890abcdef")]), capture=f"{name} {time.time_ns()}")
    yield recorder
    assert recorder.close(300)
    assert store.close(300)


def recorded(folder: Path, records: Sequence[Record], name: str) -> float:
    """Seconds until all is on the disk."""
    with recorder_on(folder, name) as recorder:
        began = time.perf_counter()
        for record in records:
            recorder.append(record)
        assert recorder.flush(120)
        return time.perf_counter() - began


def written(folder: Path, records: Sequence[Record], name: str) -> float:
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
    for number, record in enumerate(records):
        queue.put((number, time.time_ns(), record.peer, record.data))
    queue.put(None)
    thread.join()
    took = time.perf_counter() - began
    connection.close()
    return took


def taken_from_caller(folder: Path, records: Sequence[Record], name: str) -> list[float]:
    """Seconds that each `append` took, 50 of them and then a pause, as wires are read; the shortest first."""
    times: list[float] = []
    with recorder_on(folder, name) as recorder:
        for number, record in enumerate(records):
            began = time.perf_counter()
            recorder.append(record)
            times.append(time.perf_counter() - began)
            if number % 50 == 49:
                time.sleep(0.002)
    return sorted(times)


class Traffic:
    """A conversation's exchanges with a model. Its words are random, so that nothing repeats but what requests repeat."""

    def __init__(self, shape: str, turns: int) -> None:
        self.shape = shape
        self.turns = turns
        self._random = random.Random(7)  # noqa: S311 - words, no secrets
        letters = [self._random.choices(ascii_lowercase, k=self._random.randint(2, 9)) for _ in range(4000)]
        self._words = ["".join(word) for word in letters]

    def records(self) -> Iterator[Record]:
        messages: list[JSON] = []
        for turn in range(1, self.turns + 1):
            if self.shape == "other calls between":
                asked: JSON = [{"role": "user", "content": f"A title, please: {self._text(60)}"}]
                yield from self._exchange(turn, f"t{turn}", dumped({"model": "m", "messages": asked}), self._text(6))
            messages.append({"role": "user", "content": self._text(40)})
            answer = self._text(120)
            yield from self._exchange(turn, f"x{turn}", self._body(turn, messages), answer)
            messages.append({"role": "assistant", "content": answer})

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(self._words, k=words))

    def _body(self, turn: int, messages: Sequence[JSON]) -> bytes:
        clock = f" It is 2026-11-21T13:{turn // 60:02}:{turn % 60:02}Z." if "clock" in self.shape else ""
        properties: JSON = {f"argument_{n}": {"type": "string", "description": SYSTEM[:40]} for n in range(5)}
        tools: JSON = [
            {"type": "function", "function": Tool(f"tool_{n}", SYSTEM[:300], {"properties": properties}).function}
            for n in range(12)
        ]
        said: JSON = [{"role": "system", "content": SYSTEM + clock}, *messages]
        return dumped({"model": "m", "tools": tools, "messages": said, "stream": True})

    def _exchange(self, turn: int, exchange: str, body: bytes, words: str) -> Iterator[Record]:
        def part(kind: Kind, data: bytes = b"", head: Head | None = None) -> Record:
            place = Place(session=PLACE.session, turn=turn, step=1)
            direction = "out" if kind == "request" else "in"
            return Record(
                wire="llm",
                kind=kind,
                peer="demo",
                direction=direction,
                place=place,
                exchange=exchange,
                head=head,
                data=data,
            )

        pieces = [chunk({"content": f"{word} "}) for word in words.split()]
        yield part("request", body, HEAD)
        yield part("response", head=Head(status=200, headers=(("content-type", "text/event-stream"),)))
        yield from (part("chunk", piece) for piece in pieces)
        size = sum(map(len, pieces))
        yield part("end", Ending(reason="complete", size=size, kept=size).to_bytes())


def size_on_disk(folder: Path, records: Sequence[Record]) -> int:
    """Bytes of the database's files, once all of it is recorded and closed; without the room held back on the disk."""
    folder.mkdir()
    with recorder_on(folder) as recorder:
        for record in records:
            recorder.append(record)
    return sum(file.stat().st_size for file in folder.iterdir() if file.suffix != ".ballast")


def slowest_body(folder: Path, requests: Sequence[Record]) -> float:
    """The longest that a request's body takes, the best of three for each; all are what was sent."""
    store = Store.open_to_read(folder / "tui-host.db")
    slowest = 0.0
    kept = {record.exchange: record.key for record in store.records() if record.kind == "request"}
    for request in requests:
        times: list[float] = []
        for _ in range(3):
            began = time.perf_counter()
            found = store.record(*kept[request.exchange])
            times.append(time.perf_counter() - began)
            assert found is not None
            assert found.data == request.data, "byte for byte"
        slowest = max(slowest, min(times))
    store.close()
    return slowest


def run(table: Table) -> None:
    rounds, count = (3, 5_000) if table.is_quick else (7, 30_000)
    records = [frame(number) for number in range(count)]
    table.heading("recording", f"{count:,} frames of 940 bytes")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rates = [
            (recorded(folder, records, f"r{each}") / count, written(folder, records, f"w{each}") / count)
            for each in range(rounds)
        ]
        ours, theirs = zip(*rates, strict=True)
        table.ratio("rate at which they are on the disk (time of one)", ours, theirs, at_least(0.8), swapped=True)
        best = [taken_from_caller(folder, records[:5000], f"c{each}") for each in range(rounds)]
        for share, goal in ((0.5, None), (0.99, at_most(25e-6))):
            figures = [percentile(times, share) for times in best]
            note = f"best of {rounds} rounds, worst {max(figures) * 1e6:.0f} µs"
            table.figure(f"taken from the caller, {100 * share:g} %", min(figures), "s", goal, note=note)
    table.heading("recording", "a conversation on the disk, an event of an answer a record")
    for shape in SHAPES:
        conversation(table, Traffic(shape, 40 if table.is_quick else 200))


def conversation(table: Table, traffic: Traffic) -> None:
    """A whole conversation with its answers on the disk, its requests alone, and each request's body back."""
    records = list(traffic.records())
    requests = [record for record in records if record.kind == "request"]
    with tempfile.TemporaryDirectory() as name:
        for what, part in ((f"{traffic.turns} turns, {traffic.shape}", records), ("  its requests alone", requests)):
            folder = Path(name, str(len(part)))
            size, total = size_on_disk(folder, part), sum(len(record.data) for record in part)
            note = f"{size / 1e6:.2f} MB of {total / 1e6:.1f}"
            table.figure(f"{what}: on disk", size / total, "×", at_most(0.04), note=note)
        table.figure("  slowest body back", slowest_body(folder, requests), "s", at_most(0.010))
