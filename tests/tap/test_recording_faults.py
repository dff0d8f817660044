"""What a tap says when it cannot record, and what is kept once it can again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.capture.drafts import frame, wait_until
from tests.tap.stdio_taps import records
from tui_host.capture.store.database_file import doubt
from tui_host.capture.store.store import Store
from tui_host.tap.recording.log_writer import JsonLines, Log
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


def begin_anew(folder: Path) -> None:
    """As another process does that finds none."""
    for file in folder.glob("tui-host.db*"):
        file.unlink()
    Store.open(folder / "tui-host.db").close()


@pytest.mark.parametrize("change", [remove, begin_anew])
def test_where_the_database_is_removed_or_replaced_that_is_told_and_recording_goes_on_in_the_new_one(
    recorded: Tap, change: Callable[[Path], None]
) -> None:
    change(recorded.folder)
    recorded.keep(b"after")
    wait_until(recorded.has_told("recording continues"))
    recorded.keep(b"later")

    assert recorded.recording.close()

    assert recorded.kept() == [b"after", b"later"]
    path = recorded.folder / "tui-host.db"
    why = f"{path}: the database was removed, or another file put in its place"
    assert recorded.told == [
        f"nothing is recorded: {why}; traffic waits in memory meanwhile",
        "recording continues; nothing since then is missing",
    ]


def test_a_database_that_is_found_to_be_damaged_is_set_aside_while_the_tap_runs(recorded: Tap) -> None:
    path = recorded.folder / "tui-host.db"
    for file in recorded.folder.glob("tui-host.db*"):
        if file.name in {path.name, f"{path.name}-wal"}:
            with file.open("r+b") as opened:
                opened.write(os.urandom(file.stat().st_size))
    doubt(path)  # as whoever comes upon it
    wait_until(recorded.has_told("recording continues"))
    recorded.keep(b"after")

    assert recorded.recording.close()

    assert recorded.kept() == [b"after"]
    assert recorded.has_told("it was set aside as tui-host.db.damaged-")()
    assert recorded.has_told(f"nothing is recorded: {path}: the database is damaged")()


def test_a_log_that_cannot_be_written_is_named_and_has_all_once_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_host.tap.recording.log_writer.PATIENCE", 0.05)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    filled = os.write(writer, bytes(16 << 20))
    logging = Tap(tmp_path / "data", JsonLines(writer, "pipe"))
    logging.keep(b"a")
    wait_until(lambda: bool(logging.told))
    assert len(os.read(reader, 16 << 20)) == filled

    assert logging.recording.close()

    assert logging.told == [
        "the log pipe cannot be written: nobody reads from it; the tap keeps trying (name another file with --log)",
        "the log continues; nothing is missing in it",
    ]
    assert len(os.read(reader, 16 << 20).splitlines()) == 2
    os.close(reader)
    os.close(writer)


def test_a_log_that_nobody_reads_is_given_up_at_the_end_and_what_it_misses_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_host.tap.recording.log_writer.PATIENCE", 0.1)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    logging = Tap(tmp_path / "data", JsonLines(writer, "pipe"), log_patience=0.3)
    logging.keep(b"x" * (1 << 20), b"y")

    assert logging.recording.close()

    assert logging.told[-1] == "the log lacks the last records: 2"
    assert [len(data) for data in logging.kept()] == [1 << 20, 1]
    os.close(reader)
    os.close(writer)
