"""The recorder beside a relay: where it writes, what is told and kept when it is killed, hangs, cannot record, or has no room."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from tests.capture.drafts import frame, wait_until
from tests.tap.stdio_taps import (
    ECHO,
    PING,
    PYTHON,
    data,
    line_of,
    pull,
    push,
    recorded,
    recorder_of,
    records,
    runs,
    sessions,
    start,
    tap,
    until,
)
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.database import doubt
from tui_host.capture.store.store import Store
from tui_host.tap.recording.channel_read import ChannelReader
from tui_host.tap.recording.channel_write import CHUNK, COMPLETE, REQUEST, TAKEN, ChannelWriter, lost
from tui_host.tap.recording.journal import Journal
from tui_host.tap.recording.log_file import NoLogError, open_log
from tui_host.tap.recording.log_writer import JsonLines, Log
from tui_host.tap.recording.recorder_process import RecorderEnds
from tui_host.tap.recording.tap_session import TapRecording

BROKEN_OFF = (
    "recording was interrupted: the recorder was ended by SIGKILL; everything passes, and another recorder starts"
)
MISSING = "recording continues; up to ([0-9]+) bytes are missing, and the rest of answers in progress"

BEGUN = r"""
import os, resource, signal, sys
from pathlib import Path
from tests.tap.stdio_taps import *
from tui_host.tap.recording import channel_write, journal, recorder_process, recorder_watch
from tui_host.tap.recording.recorder_process import RecorderOptions, RecorderProcess
from tui_host.tap.recording.line_records import LineRecords
from tui_host.tap.recording.channel_write import IN, ChannelWriter
from tui_host.tap.recording.recorder_main import record

folder, case = Path(sys.argv[1]), sys.argv[2]

def tell(words):
    os.write(1, f"{words}\n".encode())

def begin(is_kept=True, records=LineRecords, **more):
    options = RecorderOptions("math", data_dir=str(folder), log=None, plain_log=None)
    tap = RecorderProcess(lambda ends: record(ends, options, lambda recording: records(recording, "math"), 0), tell, None, **more)
    writer = tap.writer()
    if is_kept:
        pass_on(writer, b"before\n")
        until(lambda: tap._journal.kept)
    return tap, writer

def pass_on(writer, line):
    writer.report(IN, line)
    writer.notify()

def end(tap):
    tap.end()
    os._exit(0)
"""
"""How scripts begin whose process is one of its own, since it forks, stops and kills."""


def run(script: str, folder: Path, case: str = "") -> tuple[list[str], list[str]]:
    """What a relay tells itself, and what its recorders tell."""
    command = [sys.executable, "-c", BEGUN + script, str(folder), case]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), [line.removeprefix("tui-host tap math: ") for line in done.stderr.splitlines()]


def kept(folder: Path) -> list[bytes]:
    """The lines of the only session, once it is at its end."""
    return data(recorded(folder), "in").splitlines()


def test_where_a_recorder_is_killed_another_goes_on_in_its_session_and_ends_the_server_with_its_tap(
    tmp_path: Path,
) -> None:
    process = start(tap(tmp_path, sys.executable, "-c", "import os\nprint(os.getpid(), flush=True)\n" + ECHO[-1]))
    server = int(line_of(process))
    push(process, PING % 0)
    assert pull(process, len(PING % 0)) == PING % 0
    until(lambda: len(records(tmp_path)) == 3 if sessions(tmp_path) else False)
    os.kill(recorder_of(process.pid), signal.SIGKILL)
    assert process.stderr is not None
    assert process.stderr.readline().decode() == f"tui-host tap math: {BROKEN_OFF}\n"
    push(process, PING % 1)
    assert pull(process, len(PING % 1)) == PING % 1
    assert process.stderr.readline().startswith(b"tui-host tap math: recording continues; ")
    push(process, PING % 2)
    assert pull(process, len(PING % 2)) == PING % 2
    process.kill()
    found = recorded(tmp_path)
    assert data(found, "out") == b"".join(PING % number for number in range(3))
    assert len({record.capture for record in found}) == 2
    assert not any(record.malformed for record in found if record.direction == "out")
    until(lambda: not runs(server))


def test_what_a_recorder_had_taken_and_not_kept_when_it_died_is_lost_and_counted(tmp_path: Path) -> None:
    script = """
class Dying(LineRecords):
    def take(self, item):
        if item[3] == b"poison\\n":
            os.kill(os.getpid(), 9)
        return super().take(item)

tap, writer = begin(records=Dying)
writer.report(IN, b"half a li")
until(lambda: tap._journal.unfinished)
pass_on(writer, b"poison\\n")
until(lambda: tap._deaths and tap._journal.is_well)
pass_on(writer, b"after\\n")
end(tap)
"""
    told, later = run(script, tmp_path)
    assert told == [BROKEN_OFF]
    (match,) = [re.fullmatch(MISSING, line) for line in later]
    assert match is not None
    assert int(match[1]) >= len(b"half a lipoison\n")
    assert kept(tmp_path) == [b"before", b"after"]


def test_a_recorder_that_stands_still_is_told_once_something_waits_for_long(tmp_path: Path) -> None:
    script = """
recorder_process.LOOK_SECONDS = recorder_watch.LOOK_SECONDS = 0.1
tap, writer = begin()
until(lambda: tap._watch._patience == recorder_watch.PATIENCE)
tap._watch._patience = 1
os.kill(tap._process, signal.SIGSTOP)
pass_on(writer, b"after\\n")
until(lambda: tap._watch._is_told)
os.kill(tap._process, signal.SIGCONT)
until(lambda: not tap._watch._is_told)
pass_on(writer, b"later\\n")
end(tap)
"""
    told, later = run(script, tmp_path)
    still = "nothing is recorded for now: the recorder has made no progress for 1 seconds; everything passes, and waits to be recorded"
    assert (told, later) == ([still, "recording continues"], [])
    assert kept(tmp_path) == [b"before", b"after", b"later"]


def test_once_a_server_is_guarded_a_signal_that_kills_the_taps_whole_group_spares_the_recorder(tmp_path: Path) -> None:
    script = """
for _ in range(20):
    tap = RecorderProcess(lambda ends: ends.journal.wait(None), tell, None)
    tap.guard(os.getpid())
    os.getpgid(tap._process) == os.getpgrp() and tell("it does not")
    tap.cancel()
"""
    assert run(script, tmp_path) == ([], [])


# Where nothing can be recorded


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
        return [record.data for record in records(self.folder)]


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Tap]:
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
    begun: Tap, change: Callable[[Path], None]
) -> None:
    change(begun.folder)
    begun.keep(b"after")
    wait_until(begun.has_told("recording continues"))
    begun.keep(b"later")

    assert begun.recording.close()

    assert begun.kept() == [b"after", b"later"]
    path = begun.folder / "tui-host.db"
    why = f"{path}: the database was removed, or another file put in its place"
    assert begun.told == [
        f"nothing is recorded: {why}; traffic waits in memory meanwhile",
        "recording continues; nothing since then is missing",
    ]


def test_a_database_that_is_found_to_be_damaged_is_set_aside_while_the_tap_runs(begun: Tap) -> None:
    path = begun.folder / "tui-host.db"
    for file in begun.folder.glob("tui-host.db*"):
        if file.name in {path.name, f"{path.name}-wal"}:
            with file.open("r+b") as opened:
                opened.write(os.urandom(file.stat().st_size))
    doubt(path)  # as whoever comes upon it
    wait_until(begun.has_told("recording continues"))
    begun.keep(b"after")

    assert begun.recording.close()

    assert begun.kept() == [b"after"]
    assert begun.has_told("it was set aside as tui-host.db.damaged-")()
    assert begun.has_told(f"nothing is recorded: {path}: the database is damaged")()


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """A pipe that nobody reads: both its ends."""
    monkeypatch.setattr("tui_host.tap.recording.log_writer.PATIENCE", 0.1)
    ends = os.pipe()
    os.set_blocking(ends[1], False)
    yield ends
    for end in ends:
        os.close(end)


def test_a_log_that_cannot_be_written_is_named_and_has_all_once_it_can(tmp_path: Path, unread: tuple[int, int]) -> None:
    reader, writer = unread
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


def test_a_log_that_nobody_reads_is_given_up_at_the_end_and_what_it_misses_told(
    tmp_path: Path, unread: tuple[int, int]
) -> None:
    logging = Tap(tmp_path / "data", JsonLines(unread[1], "pipe"), log_patience=0.3)
    logging.keep(b"x" * (1 << 20), b"y")

    assert logging.recording.close()

    assert logging.told[-1] == "the log lacks the last records: 2"
    assert [len(data) for data in logging.kept()] == [1 << 20, 1]


# What --log may name


SESSION = SessionInfo(
    id="1", title="x", created_ns=1, updated_ns=1, turns=0, source="tap", live=True, model="", protocol=""
)


def a_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE a(b)")
    connection.close()


def a_link(path: Path) -> None:
    path.with_name("notes").write_text("mine")
    path.symlink_to("notes")


def other_lines(path: Path) -> None:
    path.write_text('{"a": 1}\n')


def nothing(_: Path) -> None:
    """There is no such file."""


@pytest.mark.parametrize(
    ("name", "make", "told"),
    [
        ("log", Path.mkdir, "it is a folder"),
        ("log", os.mkfifo, "nobody reads from it"),
        ("log", a_database, "it has other content"),
        ("log", a_link, "it has other content"),
        ("log", other_lines, "it has other content"),
        ("tui-host.db", nothing, "it belongs to the database"),
        ("tui-host.db-wal", nothing, "it belongs to the database"),
        ("none/log", nothing, "there is no such folder"),
        ("file/log", nothing, "part of the path is not a folder"),
        ("/dev/full", nothing, "it is a device"),
        ("/dev/tty/log", nothing, "part of the path is not a folder"),
    ],
)
def test_what_is_no_log_is_left_as_it_is_and_told_and_nothing_is_made(
    tmp_path: Path, name: str, make: Callable[[Path], object], told: str
) -> None:
    (tmp_path / "file").touch()
    make(tmp_path / name)

    def found() -> dict[str, bytes]:
        return {each.name: each.read_bytes() if each.is_file() else b"" for each in tmp_path.iterdir()}

    before = found()
    with pytest.raises(NoLogError, match=rf"^{told} \(.+\)$"):
        open_log(str(tmp_path / name))
    assert found() == before


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/stderr"])
def test_a_log_to_where_host_and_server_speak_is_refused_and_nothing_is_started(tmp_path: Path, path: str) -> None:
    server = f"open({str(tmp_path / 'started')!r}, 'w')"
    run = subprocess.run(tap(tmp_path, "--log", path, "--", *PYTHON, server), capture_output=True, check=False)
    assert (run.returncode, run.stdout) == (2, b"")
    told = run.stderr.decode()
    assert told.startswith(f"tui-host tap math: --log {path}: it is standard ")
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())


def log(path: Path) -> JsonLines:
    return JsonLines(open_log(str(path)), str(path))


def test_a_log_that_a_killed_tap_left_within_a_line_goes_on_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log(path).begin(SESSION, str)
    whole = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(whole[:20])
    for _ in range(2):
        log(path).begin(SESSION, str)
    assert path.read_bytes() == whole[:20] + b"\n" + whole + whole


# From relay to recorder


PIECE = bytes(range(256)) * 64
ROOM = (17 + len(b"head")) + 3 * (17 + len(PIECE))
"""What stands before an item takes seventeen bytes."""


def journal_of(folder: Path, monkeypatch: pytest.MonkeyPatch, *, has_file: bool = True) -> Journal:
    monkeypatch.setenv("TMPDIR", str(folder if has_file else folder / "missing"))
    if not has_file:
        monkeypatch.setattr("tui_host.tap.recording.journal.FOLDERS", (str(folder / "missing"),))
    return Journal(room=ROOM)


def flat(told: ChannelReader) -> Iterator[tuple[bytes, int, int, bytes]]:
    """Thing by thing."""
    for items in told.batches():
        yield from items


def reader_of(journal: Journal, grace: float = 0) -> tuple[ChannelReader, int]:
    """Who reads it, and where he lets the relay know."""
    notices, write = os.pipe()
    return ChannelReader(RecorderEnds(journal, lifeline=-1, notices=write), grace), notices


@pytest.mark.parametrize("has_file", [True, False])
def test_without_a_reader_what_comes_waits_in_a_file_or_is_counted_and_no_end_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_file: bool
) -> None:
    journal = journal_of(tmp_path, monkeypatch, has_file=has_file)
    writer = ChannelWriter(journal)
    writer.report(REQUEST, b"head", 7)
    for _ in range(20):
        writer.report(CHUNK, PIECE, 7)
    writer.report(REQUEST, b"another", 8)
    writer.report(COMPLETE, b"", 7)
    told, notices = reader_of(journal)
    reading = flat(told)
    items = [next(reading)]
    thread = Thread(target=lambda: items.extend(reading))
    thread.start()
    assert os.read(notices, 9) == TAKEN
    writer.make_room()
    writer.close()
    thread.join(90)
    found = [(kind, number, data) for kind, number, _, data in items]
    kept = b"".join(data for kind, _, data in found if kind == CHUNK)
    missing = sum(int(data) for kind, _, data in found if kind == lost(CHUNK))
    assert kept == PIECE * (len(kept) // len(PIECE))
    assert len(kept) + missing == 20 * len(PIECE)
    assert (missing == 0) == has_file
    assert found[0] == (REQUEST, 7, b"head")
    assert found[-2:] == [(REQUEST, 8, b"another"), (COMPLETE, 7, b"")]
    assert told.missing == 0


def test_what_several_threads_pass_while_somebody_reads_comes_whole_and_in_the_order_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = journal_of(tmp_path, monkeypatch)
    writer = ChannelWriter(journal)
    count = 3000

    def write(number: int) -> None:
        for each in range(count):  # sizes that come to lie over the end of the memory, and over what it holds
            writer.report(CHUNK, b"%d " % each * (1 + each % 97), number)
            writer.notify()

    threads = [Thread(target=write, args=(number,)) for number in range(3)]
    told, _ = reader_of(journal)
    items: list[tuple[int, bytes]] = []
    reading = Thread(target=lambda: items.extend((item[1], item[3]) for item in flat(told)))
    for thread in (*threads, reading):
        thread.start()
    for thread in threads:
        thread.join()
    writer.make_room()  # as if it had been asked for
    writer.close()
    reading.join(90)
    for number in range(3):
        found = [data for each, data in items if each == number]
        assert found == [b"%d " % each * (1 + each % 97) for each in range(count)]


def test_who_is_asked_to_end_gives_up_what_is_left_once_the_relay_has_ended_and_counts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = journal_of(tmp_path, monkeypatch)
    writer = ChannelWriter(journal)
    told, _ = reader_of(journal)
    writer.report(CHUNK, b"first", 1)
    reading = flat(told)
    assert next(reading)[3] == b"first"
    told.hurry()
    writer.report(CHUNK, b"second", 1)
    assert next(reading)[3] == b"second"  # the relay goes on
    writer.close()
    writer = ChannelWriter(journal)
    writer.report(CHUNK, b"third", 1)
    assert [item[3] for item in reading] == []
    assert told.missing >= len(b"third")
