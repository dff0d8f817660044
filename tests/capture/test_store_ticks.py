"""What comes together is committed together, and nobody who waits has to wait for that."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.capture.drafts import frame
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store import writer
from tui_host.capture.store.schema_version import connect
from tui_host.capture.store.store import Store
from tui_host.capture.store.writer import BATCH, TICK


class Commits:
    """Counts what the writer commits."""

    def __init__(self) -> None:
        self.count = 0

    def connect(self, path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.set_trace_callback(self._see)
        return connection

    def _see(self, statement: str) -> None:
        self.count += statement == "COMMIT"


@pytest.fixture
def commits() -> Commits:
    return Commits()


@pytest.fixture
def recorder(tmp_path: Path, commits: Commits) -> Iterator[Recorder]:
    store = Store.open(tmp_path / "tui-host.db", connect=commits.connect)
    yield Recorder(store, Redactor(), capture="c1")
    store.close()


@pytest.fixture
def _endless_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "TICK", 60.0)


def test_records_that_come_one_after_the_other_are_committed_together(recorder: Recorder, commits: Commits) -> None:
    assert recorder.flush()
    before, began = commits.count, time.monotonic()
    for _ in range(200):
        recorder.append(frame())
    assert recorder.flush()
    ticks = (time.monotonic() - began) / TICK
    assert commits.count - before <= ticks + 2


@pytest.mark.usefixtures("_endless_tick")
def test_whoever_waits_for_a_record_does_not_wait_for_the_tick(recorder: Recorder) -> None:
    recorder.append(frame())
    assert recorder.flush(20)
    assert len(recorder.since(0)) == 1


@pytest.mark.usefixtures("_endless_tick")
def test_a_flush_behind_many_records_does_not_wait_for_the_tick(recorder: Recorder) -> None:
    for _ in range(3 * BATCH + 100):
        recorder.append(frame())
    assert recorder.flush(20)
