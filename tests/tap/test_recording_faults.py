"""What a tap says when it cannot record, and what is kept once it can again."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.capture.drafts import frame, wait_until
from tests.tap.stdio_taps import ECHO, records, said, start, tap, told, write
from tui_host.capture.store.database_file import doubt
from tui_host.capture.store.schema_version import ELSEWHERE
from tui_host.capture.store.store import Store
from tui_host.tap.recording.record_log import JsonLines, Log
from tui_host.tap.recording.tap_session import TapRecording


class Tap:
    """What one records, and what it reports."""

    def __init__(self, folder: Path, log: Log | None = None, *, log_patience: float = 5.0) -> None:
        self.told: list[str] = []
        self.folder = folder
        self.recording = TapRecording("math", tell=self.told.append, log=log, log_patience=log_patience)
        self.recording.start(folder, {})

    def keep(self, *lines: bytes) -> None:
        for line in lines:
            self.recording.recorder.append(replace(frame(line), place=self.recording.place))

    def has_told(self, words: str) -> Callable[[], bool]:
        return lambda: any(words in each for each in self.told)

    def kept(self) -> list[bytes]:
        return [record.draft.data for record in records(self.folder)]


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Tap]:
    """A tap that has recorded something."""
    made = Tap(tmp_path / "data")
    made.keep(b"before")
    recorder = made.recording.recorder
    wait_until(lambda: recorder.last == 1 and not (recorder.fault or recorder.waiting))
    yield made
    made.recording.close()


def remove(folder: Path) -> None:
    shutil.rmtree(folder)


def remove_the_file_alone(folder: Path) -> None:
    (folder / "tui-host.db").unlink()


def move(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def begin_anew(folder: Path) -> None:
    """As another process does that finds none."""
    for file in folder.glob("tui-host.db*"):
        file.unlink()
    Store.open(folder / "tui-host.db").close()


@pytest.mark.parametrize(
    "change",
    [
        remove,
        begin_anew,
        *(pytest.param(change, marks=pytest.mark.exhaustive) for change in (remove_the_file_alone, move)),
    ],
)
def test_where_the_database_is_removed_or_replaced_that_is_told_and_recording_goes_on_in_the_new_one(
    recorded: Tap, change: Callable[[Path], None]
) -> None:
    change(recorded.folder)
    recorded.keep(b"after")
    wait_until(recorded.has_told("recording goes on"))
    recorded.keep(b"later")

    assert recorded.recording.close()

    assert recorded.kept() == [b"after", b"later"]
    path = recorded.folder / "tui-host.db"
    why = f"{path}: the database was removed, or another file put in its place"
    assert recorded.told == [
        f"nothing is recorded: {why}; what passes waits in memory meanwhile",
        "recording goes on; of what passed since, nothing is missing",
    ]


def test_where_its_file_is_replaced_by_garbage_what_its_log_holds_is_not_kept_twice(recorded: Tap) -> None:
    garbage = recorded.folder / "garbage"
    garbage.write_bytes(b"garbage" * 1000)
    garbage.replace(recorded.folder / "tui-host.db")
    recorded.keep(b"after")  # into the log, before it is seen that its file is another
    wait_until(recorded.has_told("recording goes on"))
    recorded.keep(b"later")

    assert recorded.recording.close()

    assert recorded.kept() == [b"before", b"after", b"later"]
    assert [words.partition(":")[0] for words in recorded.told] == [
        "nothing is recorded",
        "recording goes on; of what passed since, nothing is missing",
    ]


def test_a_database_that_is_gone_when_the_tap_ends_is_made_anew_for_what_is_left(recorded: Tap) -> None:
    remove(recorded.folder)
    recorded.keep(b"after")

    assert recorded.recording.close()

    assert recorded.kept() == [b"after"]
    assert recorded.has_told("the database was removed")()


def test_a_database_that_is_found_to_be_damaged_is_set_aside_while_the_tap_runs(recorded: Tap) -> None:
    path = recorded.folder / "tui-host.db"
    for file in recorded.folder.glob("tui-host.db*"):
        if file.name in {path.name, f"{path.name}-wal"}:
            with file.open("r+b") as opened:
                opened.write(os.urandom(file.stat().st_size))
    doubt(path)  # as whoever comes upon it
    wait_until(recorded.has_told("recording goes on"))
    recorded.keep(b"after")

    assert recorded.recording.close()

    assert recorded.kept() == [b"after"]
    assert recorded.has_told("it was set aside as tui-host.db.damaged-")()
    assert recorded.has_told(f"nothing is recorded: {path}: the database is damaged")()


@pytest.mark.exhaustive
def test_who_ends_while_another_program_holds_the_database_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it has not been open yet."""
    monkeypatch.setattr("tui_host.capture.store.schema_version.BUSY_SECONDS", 0.05)
    Store.open(tmp_path / "tui-host.db").close()
    held = sqlite3.connect(tmp_path / "tui-host.db", timeout=0, isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")
    late = Tap(tmp_path)
    late.keep(b"one")
    ending = threading.Thread(target=late.recording.close, args=(0.1,))
    ending.start()
    wait_until(late.has_told("records that wait for it, 5 minutes at most: 1"))
    held.close()
    ending.join()
    assert late.kept() == [b"one"]
    assert late.told[-1] == "recording goes on; nothing is missing"


def test_what_cannot_be_opened_is_tried_again_and_what_waited_is_counted_if_it_is_lost(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file stands here")
    lost = Tap(tmp_path / "data")
    lost.keep(b"a", b"b")
    wait_until(lambda: bool(lost.told))

    assert not lost.recording.close()

    why = f"{lost.folder}: not a folder ({ELSEWHERE})"
    assert lost.told == [
        f"nothing is recorded: {why}; what passes waits in memory meanwhile",
        "what waited in memory is lost, records: 2",
    ]


def test_a_log_that_cannot_be_written_is_named_and_has_all_once_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_host.tap.recording.record_log.PATIENCE", 0.05)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    filled = os.write(writer, bytes(16 << 20))
    logging = Tap(tmp_path / "data", JsonLines(writer, "pipe"))
    logging.keep(b"a")
    wait_until(lambda: bool(logging.told))
    assert len(os.read(reader, 16 << 20)) == filled

    assert logging.recording.close()

    assert logging.told == [
        "the log pipe cannot be written: nobody reads from it; that is tried again (name another with --log)",
        "the log goes on; nothing is missing in it",
    ]
    assert len(os.read(reader, 16 << 20).splitlines()) == 2
    os.close(reader)
    os.close(writer)


class SlowReader:
    """Takes what stands in a pipe now and then."""

    def __init__(self, pause: float) -> None:
        self.got = bytearray()
        self._reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        self._pause = pause
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while not self._is_over.wait(self._pause) and (chunk := os.read(self._reader, 64 << 10)):
            self.got += chunk

    def read_to_end(self) -> None:
        os.close(self.writer)
        self._thread.join()
        os.close(self._reader)

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()
        os.close(self._reader)
        os.close(self.writer)


@pytest.mark.exhaustive
def test_a_log_that_takes_its_time_when_the_tap_ends_gets_everything_as_long_as_it_goes_on(tmp_path: Path) -> None:
    reader = SlowReader(pause=0.06)
    logging = Tap(tmp_path / "data", JsonLines(reader.writer, "pipe"), log_patience=0.7)
    lines = [b"x" * (500 << 10), *(b"%d" % number * 1000 for number in range(100))]
    logging.keep(*lines)
    began = time.monotonic()

    assert logging.recording.close()

    assert time.monotonic() - began > 0.7
    reader.read_to_end()
    assert logging.told == []
    assert len(reader.got.splitlines()) == 1 + len(lines)


@pytest.mark.parametrize("is_read", [False, True])
def test_a_log_that_nobody_reads_or_that_somebody_does_not_wait_for_is_given_up_and_what_it_misses_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_read: bool
) -> None:
    monkeypatch.setattr("tui_host.tap.recording.record_log.PATIENCE", 0.1)
    reader = SlowReader(pause=0.02 if is_read else 3600)
    logging = Tap(tmp_path / "data", JsonLines(reader.writer, "pipe"), log_patience=0.3)
    logging.keep(b"x" * (16 << 20), b"y")
    if is_read:  # steadily, and for seconds
        logging.recording.give_up()

    assert logging.recording.close()

    assert logging.told[-1] == "the log misses what came last, records: 2"
    assert [len(data) for data in logging.kept()] == [16 << 20, 1]
    reader.stop()


def test_where_files_may_not_grow_everything_passes_and_that_is_told_however_soon_the_tap_ends(tmp_path: Path) -> None:
    limited = ["sh", "-c", 'ulimit -f 1 && exec "$@"', "sh", *tap(tmp_path / "data", *ECHO)]
    process = start(limited)
    write(process, [b"{}\n"]).join()

    assert said(process) == b"{}\n"

    assert re.search(r"disk I/O error; no file may have more than (512|1,024) bytes here \(ulimit -f\)", told(process))
    assert process.wait() == 0
