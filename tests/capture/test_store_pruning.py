"""What is old or too much goes, the oldest first, for good; what is in use never does."""

from __future__ import annotations

from pathlib import Path

from tests.capture.drafts import FixedClock, everything_in, frame
from tests.capture.stores import FIRST, SECOND, THIRD, keep_session, kept, other_process, save, settle
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.deletion import prune, used_bytes
from tui_host.capture.store.store import Store

NOW = 1_795_268_701_000_000_000


def listed(store: Store) -> list[str]:
    return sorted(info.id for info in store.sessions.list())


def test_what_did_not_change_for_long_goes_with_captures_that_no_session_is_left_of(
    store: Store, tmp_path: Path
) -> None:
    recorder = Recorder(store, Redactor(), capture="idle", clock=FixedClock(wall_ns=NOW - 100_000_000_000))
    for _ in range(2500):
        recorder.append(frame(b"never used"))
    recorder.close()
    keep_session(store, FIRST, NOW - 50_000_000_000, words=b"canary-old")
    store.sessions.save_message(FIRST, 5, turn=0, text='{"text": "canary-old"}', time_ns=1)
    store.sessions.save_item(FIRST, 0, '{"text": "canary-old"}')
    keep_session(store, SECOND, NOW, words=b"canary-new")
    store.run(lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    before = store.path.stat().st_size

    pruned = prune(store, before_ns=NOW - 10_000_000_000)

    assert [(old.thing, old.name) for old in pruned.gone] == [("capture", "idle"), ("session", FIRST)]
    assert pruned.freed > 10_000
    assert pruned.is_whole
    assert listed(store) == [SECOND]
    files = everything_in(tmp_path)
    assert b"canary-old" not in files
    assert FIRST.encode() not in files
    assert list(store.records(capture="idle")) == []
    assert len(list(store.session_records(SECOND))) == 201, "with the one of its connection before"
    assert store.read("SELECT id FROM captures") == [(f"of {SECOND}",)]
    assert store.read("PRAGMA foreign_key_check") == []
    assert (store.path.stat().st_size < before, store.read("PRAGMA freelist_count")) == (True, [(0,)])


def test_the_oldest_go_until_the_rest_takes_no_more_as_was_told_before(store: Store) -> None:
    for number, session in enumerate((SECOND, FIRST, THIRD)):
        keep_session(store, session, NOW + number, words=b"words")
    size = used_bytes(store)

    would_go = prune(store, max_bytes=size - 1000, dry=True)
    assert ([old.name for old in would_go.gone], would_go.freed > 5000) == ([SECOND], True)
    assert (used_bytes(store), listed(store)) == (size, [FIRST, SECOND, THIRD])

    assert [old.name for old in prune(store, max_bytes=size - 1000).gone] == [SECOND]
    assert listed(store) == [FIRST, THIRD]
    assert used_bytes(store) <= size - 1000
    answers = iter((False, True))
    assert [old.name for old in prune(store, max_bytes=0, stopped=lambda: next(answers)).gone] == [FIRST]
    assert listed(store) == [THIRD], "it was stopped between one and the next"


def test_what_a_running_process_writes_stays_however_old(store: Store) -> None:
    save(store, SECOND, updated=1)
    Recorder(store, Redactor(), capture="mine", clock=FixedClock(wall_ns=1)).append(frame(b"mine"))
    settle(store)
    with other_process(store.path, FIRST):
        assert prune(store, before_ns=NOW, max_bytes=0).gone == []

    assert [old.name for old in prune(store, before_ns=NOW).gone] == [FIRST]
    assert listed(store) == [SECOND]
    assert kept(store, capture="mine") == [b"mine"]
