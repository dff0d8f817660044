"""What is appended is shown once it is kept, never lost, and never waits for the disk."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from tests.capture.drafts import FixedClock, everything_in, frame, known_ns, wait_until
from tui_host.capture.record import Head, lasted
from tui_host.capture.recorder import Memory, Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.pending_records import Slot
from tui_host.capture.store.schema_version import connect
from tui_host.capture.store.store import Store

KEY = "sk-canary-0123456789"


class Disk:
    """A place that can be full: the error that SQLite gives is the same."""

    def __init__(self) -> None:
        self._connections: list[sqlite3.Connection] = []

    def connect(self, path: Path) -> sqlite3.Connection:
        self._connections.append(connect(path))
        return self._connections[-1]

    def limit(self, pages: int) -> None:
        self._connections[0].execute(f"PRAGMA max_page_count = {pages}").fetchall()

    def fill(self) -> None:
        self.limit(1)

    def make_room(self) -> None:
        self.limit(1_000_000)


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def store(tmp_path: Path, disk: Disk) -> Iterator[Store]:
    opened = Store.open(tmp_path / "data" / "tui-host.db", retry_seconds=0.05, connect=disk.connect)
    yield opened
    opened.close()


@pytest.fixture
def recorder(store: Store) -> Recorder:
    return Recorder(store, Redactor([("API_KEY", KEY)]), capture="c1", clock=FixedClock())


class Broken:
    """A source of records that cannot bear what it is told of them."""

    def __init__(self) -> None:
        self._seq = 0

    def take(self) -> list[Slot]:
        self._seq += 1
        return [Slot("c2", self._seq, 0, 0, frame(), self)]

    def settled(self, seq: int, fault: str) -> None:
        raise RuntimeError(f"broken at {seq} {fault}")

    def refused(self) -> None:
        raise RuntimeError("broken")


def test_what_was_recorded_before_there_was_a_store_is_kept_once_there_is_one(store: Store) -> None:
    recorder = Recorder(None, Redactor([("API_KEY", KEY)]), capture="c1", clock=FixedClock())
    recorder.without = "not open yet"
    recorder.append(frame(KEY.encode()))
    assert (recorder.fault, recorder.unkept) == ("not open yet", 1)
    recorder.keep_in(store)
    recorder.append(frame(b"later"))
    assert recorder.flush()
    assert (recorder.fault, recorder.unkept) == ("", 0)
    kept = [record.draft.data for record in store.records(capture="c1")]
    assert kept == [frame("⟨secret:API_KEY⟩".encode()).data, frame(b"later").data]


def test_what_is_recorded_a_moment_later_bears_the_time_at_which_it_happened(recorder: Recorder) -> None:
    at = recorder.now()
    recorder.append(frame())
    recorder.append(frame(), at)
    assert recorder.flush()
    now, before = recorder.since(0)
    assert before.mono_ns == at < known_ns(now.mono_ns)
    assert now.time_ns - before.time_ns == lasted(at, now.mono_ns)


def test_records_are_numbered_stamped_and_given_back_in_order(recorder: Recorder, store: Store) -> None:
    numbers = [recorder.append(frame(b"%d\n" % number)) for number in range(3)]
    assert recorder.flush(5)

    seen = recorder.since(0)

    assert numbers == [1, 2, 3]
    assert [record.draft.data for record in seen] == [b"0\n", b"1\n", b"2\n"]
    assert [record.mono_ns for record in seen] == [5_000_250_000, 5_000_500_000, 5_000_750_000]
    assert list(store.records(capture="c1")) == seen
    assert recorder.since(2) == seen[2:]
    assert recorder.since(0, limit=2) == seen[:2]
    assert recorder.unkept == 0


class Turned:
    """A wall clock that somebody turns."""

    def __init__(self) -> None:
        self.wall = 1_795_268_701_000_000_000
        self.mono = 5_000_000_000

    def wall_ns(self) -> int:
        return self.wall

    def mono_ns(self) -> int:
        self.mono += 10_000
        return self.mono


def test_a_clock_that_is_turned_back_changes_no_order_and_no_duration(store: Store) -> None:
    clock = Turned()
    recorder = Recorder(store, Redactor(), capture="c1", clock=clock)
    began = clock.wall
    for wall in (began, began + 10_300, began - 3_600_000_000_000, began - 3_600_000_000_000 + 10_000, 0):
        clock.wall = wall
        recorder.append(frame(b"%d" % wall))
    assert recorder.flush(5)

    kept = list(store.records(capture="c1"))

    assert [record.seq for record in kept] == [1, 2, 3, 4, 5]
    assert [lasted(before.mono_ns, after.mono_ns) for before, after in pairwise(kept)] == [10_000] * 4
    hour = began - 3_600_000_000_000
    assert [record.time_ns for record in kept] == [began, began + 10_000, hour, hour + 10_000, 0], (
        "within a millisecond"
    )


def test_what_is_shown_is_on_disk(recorder: Recorder, store: Store) -> None:
    for number in range(500):
        recorder.append(frame(b"%d\n" % number))
        shown = recorder.since(max(0, number - 5))
        if shown:
            assert store.record("c1", shown[-1].seq) == shown[-1]


def test_the_revision_grows_with_what_is_visible(recorder: Recorder) -> None:
    before = recorder.revision
    recorder.append(frame())
    assert recorder.flush(5)

    assert recorder.revision > before


def test_records_of_many_threads_have_numbers_without_gaps(recorder: Recorder) -> None:
    def work() -> None:
        for _ in range(200):
            recorder.append(frame())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorder.flush(5)

    assert [record.seq for record in recorder.since(0)] == list(range(1, 801))


def test_records_that_left_memory_come_from_the_store(store: Store) -> None:
    recorder = Recorder(store, Redactor(), capture="c1", memory=Memory(window_bytes=20_000))
    for number in range(100):
        recorder.append(frame(b"%d" % number * 300))
    assert recorder.flush(5)
    recorder.append(frame(b"last"))
    assert recorder.flush(5)

    assert [record.seq for record in recorder.since(0)] == list(range(1, 102))
    assert [record.seq for record in recorder.since(99)] == [100, 101]
    assert [record.seq for record in recorder.since(10, limit=3)] == [11, 12, 13]


def test_secrets_are_in_no_file_of_the_data_folder(recorder: Recorder, store: Store, tmp_path: Path) -> None:
    head = Head(method="POST", url=f"https://x.example/?key={KEY}", headers=(("Authorization", f"Bearer {KEY}"),))
    recorder.append(replace(frame(KEY.encode()), head=head, malformed=KEY))
    store.sessions.save_message("s1", 0, turn=1, text=f'{{"text": "{KEY}"}}', time_ns=1)
    store.sessions.save_item("s1", 0, f'{{"item": "user", "text": "{KEY}"}}')
    assert recorder.flush(5)

    kept = everything_in(tmp_path)

    assert b"canary" not in kept
    assert kept.count("⟨secret:API_KEY⟩".encode()) >= 4


def test_what_waits_in_memory_is_without_secrets_too(recorder: Recorder, disk: Disk) -> None:
    disk.fill()
    recorder.append(frame(KEY.encode() * 500))
    wait_until(lambda: recorder.unkept == 1)
    alone = Recorder(None, Redactor([("API_KEY", KEY)]), capture="c2")
    alone.append(frame(KEY.encode()))

    assert recorder.since(0)[0].draft.data == "⟨secret:API_KEY⟩".encode() * 500
    assert alone.since(0)[0].draft.data == "⟨secret:API_KEY⟩".encode()


def test_without_a_store_everything_is_visible_and_counted_as_not_kept() -> None:
    recorder = Recorder(None, Redactor(), capture="c1")
    recorder.append(frame(b"a"))
    recorder.append(frame(b"b"))

    assert [record.draft.data for record in recorder.since(0)] == [b"a", b"b"]
    assert recorder.unkept == 2
    assert recorder.fault
    assert not recorder.flush(1)


def test_a_full_disk_loses_nothing_and_is_told_until_there_is_room(
    recorder: Recorder, store: Store, disk: Disk
) -> None:
    recorder.append(frame(b"before"))
    assert recorder.flush(5)
    disk.fill()
    for _ in range(20):
        recorder.append(frame(b"x" * 5000))

    wait_until(lambda: recorder.unkept > 0 and len(recorder.since(0)) == 21)
    assert "full" in recorder.fault
    assert [record.draft.data for record in store.records(capture="c1")][:1] == [b"before"]

    disk.make_room()
    wait_until(lambda: recorder.unkept == 0)
    assert recorder.fault == ""
    assert len(list(store.records(capture="c1"))) == 21


def test_while_nothing_can_be_written_new_records_are_shown_at_once(recorder: Recorder, disk: Disk) -> None:
    disk.fill()
    recorder.append(frame(b"x" * 9000))
    wait_until(lambda: recorder.unkept == 1)

    recorder.append(frame(b"y"))

    wait_until(lambda: recorder.unkept == 2)
    assert recorder.since(1)[0].draft.data == b"y"


def test_beyond_its_limit_memory_gives_up_the_oldest_bytes_and_counts_them() -> None:
    recorder = Recorder(None, Redactor(), capture="c1", memory=Memory(unkept_bytes=20_000))
    for number in range(10):
        recorder.append(frame(b"%d" % number * 4000))

    seen = recorder.since(0)

    assert len(seen) == 10
    assert recorder.dropped == sum(record.draft.data == b"" for record in seen) > 0
    assert seen[0].draft.data == b""
    assert "4000 bytes were dropped" in (seen[0].draft.malformed or "")
    assert seen[-1].draft.data == b"9" * 4000


def test_beyond_its_end_memory_takes_no_more_and_counts_what_is_left_out() -> None:
    memory = Memory(unkept_bytes=20_000, most_bytes=40_000)
    recorder = Recorder(None, Redactor(), capture="c1", memory=memory)
    numbers = [recorder.append(frame(b"a")) for _ in range(1000)]

    kept = len(recorder.since(0))

    assert 20 < kept < 60
    assert recorder.left_out == 1000 - kept
    assert numbers[-1] == kept


def test_what_can_never_be_kept_is_counted_and_holds_up_nothing(recorder: Recorder, store: Store) -> None:
    recorder.append(replace(frame(b"a"), place=replace(frame().place, turn=1 << 80)))
    recorder.append(frame(b"b"))
    recorder.flush(5)

    assert [record.draft.data for record in store.records(capture="c1")] == [b"b"]
    assert recorder.unkept == 1
    assert any("could not be kept" in notice for notice in store.notices)


def test_a_writer_that_breaks_down_goes_on_once_and_then_memory_takes_over(recorder: Recorder, store: Store) -> None:
    broken = Broken()
    recorder.append(frame(b"a"))
    store.put(broken)
    recorder.append(frame(b"b"))
    assert recorder.flush(5)
    assert [record.draft.data for record in store.records(capture="c1")] == [b"a", b"b"]

    store.put(broken)
    wait_until(lambda: recorder.append(frame(b"c")) > 0 and "broke down" in recorder.fault)

    last = recorder.append(frame(b"d"))

    assert recorder.unkept > 0
    assert [record.seq for record in recorder.since(0)] == list(range(1, last + 1))
    assert "broke down" in store.notices[0]


async def test_a_follower_sees_the_present_then_every_change_and_ends_with_the_recorder(recorder: Recorder) -> None:
    seen: list[int] = []
    with anyio.fail_after(20):
        async for revision in recorder.follow(period=0.001):
            seen.append(revision)
            match len(seen):
                case 1:
                    recorder.append(frame())
                case 2:
                    await anyio.to_thread.run_sync(recorder.close)
                case _:
                    pass

    assert len(seen) >= 2
    assert seen == sorted(seen)


def test_ids_are_unique_in_the_capture(recorder: Recorder) -> None:
    ids = [recorder.new_exchange(), recorder.new_exchange()]
    ids += [recorder.new_connection("math"), recorder.new_connection("math"), recorder.new_connection("time")]

    assert len(set(ids)) == 5
    assert ids[2].startswith("math")
