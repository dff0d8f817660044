"""What is appended is shown once it is kept, never lost, and never waits for the disk."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.capture.conftest import Disk
from tests.capture.drafts import FixedClock, everything_in, frame, wait_until
from tests.capture.stores import kept, save
from tui_host.capture.record import Head, Record, lasted
from tui_host.capture.recorder import Memory, Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.capture.wall_clock import WallClock

KEY = "sk-canary-0123456789"
MARK = "⟨secret:API_KEY⟩".encode()


@pytest.fixture
def recorder(store: Store) -> Recorder:
    return Recorder(store, Redactor([("API_KEY", KEY)]), capture="c1", clock=FixedClock())


def test_what_was_recorded_before_there_was_a_store_is_kept_once_there_is_one(store: Store) -> None:
    recorder = Recorder(None, Redactor([("API_KEY", KEY)]), capture="c1", clock=FixedClock(), without="not open yet")
    recorder.append(frame(KEY.encode()))
    assert [record.data for record in recorder.since(0)] == [MARK]
    assert (recorder.fault, recorder.unkept) == ("not open yet", 1)
    assert not recorder.flush(1)
    recorder.keep_in(store)
    recorder.append(frame(b"later"))
    assert recorder.flush()
    assert (recorder.fault, recorder.unkept) == ("", 0)
    assert kept(store, capture="c1") == [MARK, b"later"]


def test_records_are_numbered_stamped_and_given_back_in_order(recorder: Recorder, store: Store) -> None:
    at = recorder.now()
    assert [recorder.append(frame(b"%d\n" % number), at if number == 2 else None) for number in range(3)] == [1, 2, 3]
    assert recorder.flush(5)
    seen = recorder.since(0)
    assert [record.data for record in seen] == [b"0\n", b"1\n", b"2\n"]
    assert [record.mono_ns for record in seen] == [5_000_500_000, 5_000_750_000, at], "the time at which it happened"
    assert seen[0].time_ns - seen[2].time_ns == lasted(at, seen[0].mono_ns)
    assert list(store.records(capture="c1")) == seen
    assert (recorder.since(2), recorder.since(0, limit=2), recorder.unkept) == (seen[2:], seen[:2], 0)


NOON = 1_760_000_000_000_000_000


def test_a_captures_own_clock_counts_from_where_the_wall_clock_stood_when_it_began() -> None:
    clock, draft = WallClock(), Record(wire="mcp", kind="frame")
    stamps = [("a", NOON, 5), ("a", NOON - 9_000_000_000, 70), ("b", NOON + 2000, 900), ("c", NOON + 1999, 5)]
    records = [replace(draft, capture=name, time_ns=time_ns, mono_ns=mono_ns) for name, time_ns, mono_ns in stamps]
    times = [NOON, NOON + 65, NOON + 2000, NOON + 1000]  # the wall clock was set meanwhile, and lines have microseconds
    assert [clock.at_ns(record) for record in records] == times
    assert [clock.on_it(record).mono_ns for record in records] == times
    without_time = replace(draft, capture="a", time_ns=NOON + 70)
    assert (clock.at_ns(without_time), clock.on_it(without_time)) == (NOON + 70, without_time)


def test_records_that_left_memory_come_from_the_store(store: Store) -> None:
    recorder = Recorder(store, Redactor(), capture="c1", memory=Memory(window_bytes=20_000))
    for number in range(100):
        recorder.append(frame(b"%d" % number * 300))
    assert recorder.flush(5)
    recorder.append(frame(b"last"))
    assert recorder.flush(5)
    assert [record.seq for record in recorder.since(0)] == list(range(1, 102))
    assert [record.seq for record in recorder.since(10, limit=3)] == [11, 12, 13]


def test_secrets_are_in_no_file_of_the_data_folder(recorder: Recorder, store: Store, tmp_path: Path) -> None:
    head = Head(method="POST", url=f"https://x.example/?key={KEY}", headers=(("Authorization", f"Bearer {KEY}"),))
    recorder.append(replace(frame(KEY.encode()), head=head, malformed=KEY))
    save(store, "s1", title=f"why {KEY}?", draft=KEY)
    store.sessions.save_message("s1", 0, turn=1, text=f'{{"text": "{KEY}"}}', time_ns=1)
    store.sessions.save_item("s1", 0, f'{{"item": "user", "text": "{KEY}"}}')
    assert recorder.flush(5)
    files = everything_in(tmp_path)
    assert b"canary" not in files
    assert files.count(MARK) >= 6
    assert store.sessions.find("s1").draft == MARK.decode()


def test_a_full_disk_loses_nothing_and_is_told_until_it_has_room(recorder: Recorder, store: Store, disk: Disk) -> None:
    recorder.append(frame(b"before"))
    assert recorder.flush(5)
    disk.fill()
    for _ in range(20):
        recorder.append(frame(KEY.encode() * 250))
    wait_until(lambda: recorder.unkept > 0 and len(recorder.since(0)) == 21)
    assert "full" in recorder.fault
    assert recorder.since(1)[0].data == MARK * 250
    assert kept(store, capture="c1")[:1] == [b"before"]
    recorder.append(frame(b"shown at once"))
    wait_until(lambda: [record.data for record in recorder.since(21)] == [b"shown at once"])
    disk.make_room()
    wait_until(lambda: recorder.unkept == 0)
    assert recorder.fault == ""
    assert len(kept(store, capture="c1")) == 22


def test_beyond_its_limit_memory_gives_up_the_oldest_bytes_and_counts_them() -> None:
    recorder = Recorder(None, Redactor(), capture="c1", memory=Memory(unkept_bytes=20_000))
    for number in range(10):
        recorder.append(frame(b"%d" % number * 4000))
    seen = recorder.since(0)
    assert (len(seen), seen[0].data) == (10, b"")
    assert "4000 bytes were dropped" in (seen[0].malformed or "")
    assert seen[-1].data == b"9" * 4000


def test_what_can_never_be_kept_is_counted_and_holds_up_nothing(recorder: Recorder, store: Store) -> None:
    recorder.append(replace(frame(b"a"), place=replace(frame().place, turn=1 << 80)))
    recorder.append(frame(b"b"))
    recorder.flush(5)
    assert kept(store, capture="c1") == [b"b"]
    assert recorder.unkept == 1
    assert any("could not be kept" in notice for notice in store.notices)
