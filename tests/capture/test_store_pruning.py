"""What is old or too much goes, the oldest first, for good; what is in use never does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.capture.drafts import FixedClock, everything_in, frame
from tests.capture.test_store_sessions import FIRST, OTHER_PROCESS, SECOND, THIRD, save, settle
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.retention import Limits, prune, used_bytes
from tui_host.capture.store.store import Store

NOW = 1_795_268_701_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "tui-host.db")
    yield opened
    opened.close()


def keep_session(store: Store, session: str, updated: int, *, words: bytes = b"", count: int = 200) -> None:
    """A session in a capture of its own, whose process has let go of it."""
    recorder = Recorder(store, Redactor(), capture=f"of {session}", clock=FixedClock(wall_ns=updated))
    recorder.append(frame(b"start " + words))
    for number in range(count):
        recorder.append(frame(b"%d " % number + words * 40, session=session))
    recorder.close()
    save(store, session, updated=updated)
    store.sessions.release(session)
    settle(store)


def listed(store: Store) -> list[str]:
    return sorted(info.id for info in store.sessions.list())


def test_what_did_not_change_for_long_goes_with_its_capture_and_nothing_else(store: Store, tmp_path: Path) -> None:
    keep_session(store, FIRST, NOW - 100, words=b"canary-old")
    keep_session(store, SECOND, NOW, words=b"canary-new")

    pruned = prune(store, Limits(before_ns=NOW - 50))

    assert [(old.thing, old.name) for old in pruned.gone] == [("session", FIRST)]
    assert pruned.freed > 10_000
    assert pruned.is_whole
    assert listed(store) == [SECOND]
    kept = everything_in(tmp_path)
    assert b"canary-old" not in kept
    assert FIRST.encode() not in kept
    assert len(list(store.records(session=SECOND))) == 200
    assert store.read("SELECT id FROM captures") == [(f"of {SECOND}",)]
    assert store.read("PRAGMA foreign_key_check") == []


def test_the_oldest_go_until_the_rest_takes_no_more(store: Store) -> None:
    for number, session in enumerate((SECOND, FIRST, THIRD)):
        keep_session(store, session, NOW + number, words=b"words")
    whole = used_bytes(store)

    pruned = prune(store, Limits(max_bytes=whole - 1000))

    assert [old.name for old in pruned.gone] == [SECOND]
    assert listed(store) == [FIRST, THIRD]
    assert used_bytes(store) <= whole - 1000


def test_the_file_becomes_smaller(store: Store) -> None:
    keep_session(store, FIRST, NOW - 100, words=b"w" * 100)
    store.run(lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    before = store.path.stat().st_size

    prune(store, Limits(before_ns=NOW))

    assert store.path.stat().st_size < before / 2
    assert store.read("PRAGMA freelist_count") == [(0,)]


def test_captures_in_which_no_session_is_left_go_too(store: Store) -> None:
    recorder = Recorder(store, Redactor(), capture="idle", clock=FixedClock(wall_ns=NOW - 100_000_000_000))
    for _ in range(2500):
        recorder.append(frame(b"never used"))
    recorder.close()
    keep_session(store, SECOND, NOW)

    pruned = prune(store, Limits(before_ns=NOW - 50_000_000_000))

    assert [(old.thing, old.name) for old in pruned.gone] == [("capture", "idle")]
    assert store.read("SELECT id FROM captures") == [(f"of {SECOND}",)]
    assert list(store.records(capture="idle")) == []


def test_what_a_running_process_writes_stays_however_old(store: Store, tmp_path: Path) -> None:
    save(store, SECOND, updated=1)
    Recorder(store, Redactor(), capture="mine", clock=FixedClock(wall_ns=1)).append(frame(b"mine"))
    settle(store)
    command = [sys.executable, "-c", OTHER_PROCESS, str(tmp_path / "tui-host.db"), FIRST]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"

        assert prune(store, Limits(before_ns=NOW, max_bytes=0)).gone == []
        other.kill()

    assert [old.name for old in prune(store, Limits(before_ns=NOW)).gone] == [FIRST]
    assert listed(store) == [SECOND]
    assert [record.draft.data for record in store.records(capture="mine")] == [b"mine"]


def test_what_would_go_is_told_and_stays(store: Store) -> None:
    for number, session in enumerate((FIRST, SECOND)):
        keep_session(store, session, NOW + number, words=b"words")
    size = used_bytes(store)

    pruned = prune(store, Limits(max_bytes=size - 1000), dry=True)

    assert [old.name for old in pruned.gone] == [FIRST]
    assert pruned.freed > 5000
    assert used_bytes(store) == size
    assert listed(store) == [FIRST, SECOND]


def test_pruning_stops_between_one_thing_and_the_next(store: Store) -> None:
    for number, session in enumerate((FIRST, SECOND)):
        keep_session(store, session, NOW + number)
    answers = iter((False, True))

    assert [old.name for old in prune(store, Limits(max_bytes=0), stopped=lambda: next(answers)).gone] == [FIRST]
    assert listed(store) == [SECOND]


def test_copies_of_older_forms_go_with_age_and_with_any_session_that_is_deleted(store: Store, tmp_path: Path) -> None:
    copy = tmp_path / "tui-host.db.form1-20261121T134501Z"
    copy.write_bytes(b"canary" * 1000)
    assert [old.thing for old in prune(store, Limits(before_ns=copy.stat().st_mtime_ns + 1)).gone] == ["copy"]
    assert not copy.exists()

    copy.write_bytes(b"canary" * 1000)
    keep_session(store, FIRST, NOW)
    assert store.sessions.delete(FIRST)
    assert b"canary" not in everything_in(tmp_path)
