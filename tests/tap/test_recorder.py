"""The recorder beside a relay: what is told and kept when it is killed, stands still, cannot record, or has no room."""

import os
import re
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from threading import Thread

import pytest

from tests.capture.drafts import frame
from tests.cases import first_values, some
from tests.tap.stdio_taps import (
    ECHO,
    PING,
    PY,
    close,
    data,
    line,
    pull,
    push,
    recorded,
    recorder_of,
    records,
    runs,
    said,
    sessions,
    start,
    tap,
    told,
    trip,
    until,
    until_kept,
    write,
)
from tui_host.capture.record import lasted
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.stdio.lines import Lines
from tui_host.capture.store.companion_files import doubt
from tui_host.tap.lines import TappedLines
from tui_host.tap.recorder import LogForm, TapLog
from tui_host.tap.relay import ADDED, CHUNK, FREED, GAP, IN, LOST, Ring
from tui_host.tap.ring import Item, RingReader
from tui_host.tap.session import RecorderOptions, TapRecorder, TapSession
from tui_host.tap.stdio_arguments import NoLogError, open_log

INTERRUPTED = (
    "recording was interrupted: the recorder was ended by SIGKILL; everything passes, and another recorder goes on "
    "(lines and answers in progress are cut in the recording)"
)
SERVER = (*PY, "import os\nprint(os.getpid(), flush=True)\n" + ECHO[-1])
"""Says which process it is, and then answers with what it was told."""


def line_told(process: subprocess.Popen[bytes]) -> str:
    """The next line of the tap's standard error, without its beginning."""
    return some(process.stderr).readline().decode().removeprefix("tui-host tap math: ").rstrip("\n")


def pings(count: int) -> bytes:
    return b"".join(PING % number for number in range(count))


def test_a_tap_is_a_live_session_without_secrets_of_environment_and_command(tmp_path: Path) -> None:
    server = "import os, sys\nos.write(2, f'{os.environ[\"SUMS_API_KEY\"]} {sys.argv[-1]}\\n'.encode())\n" + ECHO[-1]
    secrets = {**os.environ, "SUMS_API_KEY": "s3cr3t-of-sums"}
    process = start(tap(tmp_path, *PY, server, "--api-key", "t0ken-of-sums", name="sums"), environment=secrets)
    trip(process, 1)
    until_kept(tmp_path, 3)
    info = sessions(tmp_path)[0]
    assert (info.source, info.title, info.live) == ("tap", "sums", True)
    question, answer = [record for record in records(tmp_path) if record.kind == "frame"]
    assert (question.direction, answer.direction, question.peer, answer.peer) == ("out", "in", "sums", "sums")
    assert (lasted(question.mono_ns, answer.mono_ns) or 0) >= 0
    assert info.created_ns <= question.time_ns
    close(process)
    assert (told(process), process.wait()) == ("s3cr3t-of-sums t0ken-of-sums\n", 0)
    assert data(recorded(tmp_path), "in", "stderr").decode() == "⟨secret:SUMS_API_KEY⟩ ⟨secret:api-key⟩\n"


@pytest.mark.parametrize("folder", first_values(["file", "/proc/read-only"]))
def test_where_nothing_can_be_recorded_everything_passes_and_that_is_told_once(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("a file stands here")
    process = start(tap(tmp_path / folder, *ECHO))
    write(process, [pings(500)]).join()
    assert said(process) == pings(500)
    errors = told(process)
    assert errors.startswith("tui-host tap math: nothing is recorded: ")
    assert errors.count("nothing is recorded") == 1
    missing = re.search(r"up to ([0-9,]+) bytes of the traffic are not recorded\n$", errors)
    assert int(some(missing)[1].replace(",", "")) >= 2 * len(pings(500))
    assert process.wait() == 0


def test_what_passed_while_the_recorder_stood_still_is_recorded_though_it_is_killed_then(tmp_path: Path) -> None:
    process = start(tap(tmp_path, *ECHO))
    trip(process, 0)
    until_kept(tmp_path, 2)
    recorder = recorder_of(process.pid)
    os.kill(recorder, signal.SIGSTOP)
    whole = (os.urandom(50_000).hex().encode() + b"\n") * 30  # three megabytes there and back
    writing = Thread(target=push, args=(process, whole))
    writing.start()
    assert pull(process, len(whole)) == whole
    writing.join()
    os.kill(recorder, signal.SIGKILL)
    close(process)
    assert (said(process), process.wait()) == (b"", 0)
    until(lambda: data(recorded(tmp_path), "in") == data(recorded(tmp_path), "out") == PING % 0 + whole)


def test_where_a_recorder_is_killed_another_goes_on_in_its_session_and_ends_the_server_with_its_tap(
    tmp_path: Path,
) -> None:
    process = start(tap(tmp_path, *SERVER))
    server = int(line(process))
    trip(process, 0)
    until_kept(tmp_path, 3)
    os.kill(recorder_of(process.pid), signal.SIGKILL)
    assert line_told(process) == INTERRUPTED
    for number in (1, 2):
        trip(process, number)
    until_kept(tmp_path, 7)
    process.kill()
    found = recorded(tmp_path)
    assert data(found, "out") == pings(3)
    assert len({record.capture for record in found}) == 2
    assert not any(record.malformed for record in found if record.direction == "out")
    until(lambda: not runs(server))


DIES_OF_POISON = """
import os, sys
if "tap-recorder" in sys.orig_argv:
    from tui_host.tap.lines import TappedLines
    take = TappedLines.take
    TappedLines.take = lambda lines, item: os._exit(9) if b"poison" in item.data else take(lines, item)
"""


def test_what_three_recorders_died_of_is_passed_over_and_counted(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(DIES_OF_POISON)
    process = start(tap(tmp_path, *ECHO), environment={**os.environ, "PYTHONPATH": str(tmp_path)})
    trip(process, 0)
    until_kept(tmp_path, 2)
    push(process, b"poison\n")
    assert pull(process, 7) == b"poison\n"
    assert "the recorder ended with exit code 9" in line_told(process)
    numbers = count(1)
    until(lambda: trip(process, next(numbers)) or len(records(tmp_path)) > 2)
    close(process)
    assert re.search(r"up to [0-9,]+ bytes of the traffic are not recorded\n$", told(process))
    assert process.wait() == 0


def damage(folder: Path) -> None:
    for file in folder.glob("tui-host.db*"):
        if file.name in {"tui-host.db", "tui-host.db-wal"}:
            with file.open("r+b") as opened:
                opened.write(os.urandom(file.stat().st_size))
    doubt(folder / "tui-host.db")  # as whoever comes upon it


@pytest.mark.parametrize("change", [shutil.rmtree, damage])
def test_where_the_database_is_gone_or_bad_it_begins_anew(tmp_path: Path, change: Callable[[Path], None]) -> None:
    folder = tmp_path / "data"
    process = start(tap(folder, *ECHO))
    trip(process, 0)
    until_kept(folder, 2)
    change(folder)
    trip(process, 1)
    assert line_told(process).startswith(f"recording begins anew: {folder}/tui-host.db: the database ")
    trip(process, 2)
    close(process)
    assert process.wait() == 0
    until(lambda: data(recorded(folder), "in").endswith(PING % 1 + PING % 2))


def test_a_full_disk_is_told_and_what_passed_meanwhile_is_recorded_once_there_is_room(tmp_path: Path) -> None:
    process = start(tap(tmp_path, *ECHO))
    trip(process, 0)
    until_kept(tmp_path, 2)
    recorder = recorder_of(process.pid)
    _, most = resource.prlimit(recorder, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    trip(process, 1)
    assert line_told(process).startswith(f"nothing is recorded: {tmp_path}/tui-host.db: ")
    resource.prlimit(recorder, resource.RLIMIT_FSIZE, (most, most))
    assert line_told(process) == "recording continues"
    close(process)
    assert process.wait() == 0
    assert data(recorded(tmp_path), "in") == pings(2)


# From relay to recorder.

PIECE = bytes(range(256)) * 64


def read(reader: RingReader) -> list[Item]:
    found: list[Item] = []
    while reader.words[ADDED] != reader.taken:
        found += reader.read()
        reader.free()
    return found


def test_what_several_threads_report_while_somebody_reads_comes_whole_and_in_the_order_of_each() -> None:
    ring = Ring(room=100_000)
    wanted = [b"%d " % size * (1 + size % 97) for size in range(3000)]  # which come to lie at the end of the memory

    def write(number: int) -> None:
        for piece in wanted:
            ring.add(CHUNK, number, piece)
            while ring.words[ADDED] - ring.words[FREED] > 90_000:
                time.sleep(0.001)

    threads = [Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    reader = RingReader(ring.file)
    items: list[Item] = []
    while any(thread.is_alive() for thread in threads) or reader.words[ADDED] != reader.taken:
        items += read(reader)
    assert (ring.words[LOST], ring.words[ADDED]) == (0, ring.words[FREED])
    for number in range(3):
        assert [item.data for item in items if item.number == number] == wanted


def test_what_finds_no_room_is_counted_and_marked_where_it_is_missing() -> None:
    ring = Ring(room=100_000)
    reader = RingReader(ring.file)
    for _ in range(20):
        ring.add(CHUNK, 7, PIECE)
    kept = sum(len(item.data) for item in read(reader))
    ring.add(CHUNK, 7, b"after")
    lost = 20 * len(PIECE) - kept
    assert 0 < lost == ring.words[LOST] < 20 * len(PIECE)
    for recorder in (reader, RingReader(ring.file), RingReader(ring.file)):  # each begins where the last one has freed
        items = [*recorder.read(), *recorder.read()]  # what was there at the look before
        assert [(item.kind, item.data) for item in items] == [(GAP, b"%d" % lost), (CHUNK, b"after")]


def test_a_line_with_a_gap_says_so_and_the_lines_behind_it_are_whole() -> None:
    recorder = TapRecorder(None, Redactor(), capture="c", kind="tap")
    lines = TappedLines(Lines(recorder, peer="math", connection=recorder.new_connection("math"), is_whole=True))
    for at, (kind, piece) in enumerate([(IN, b"half a li"), (GAP, b"1000"), (IN, b"ne\n" + PING % 1)]):
        lines.take(Item(kind, 0, at, piece))
    lines.finish()
    found = [(record.direction, record.data, record.malformed or "") for record in recorder.since(0)]
    assert ("in", b"half a li", "1,000 bytes after this came too fast to be recorded") in found
    assert found[-1] == ("in", PING % 1, "")


# What --log may name, and what it gets.


def a_link(path: Path) -> None:
    path.with_name("notes").write_text('{"a": 1}\n')
    path.symlink_to("notes")


@pytest.mark.parametrize(
    ("name", "make", "told"),
    [
        ("log", Path.mkdir, "Is a directory"),
        ("log", os.mkfifo, "No such device or address"),
        ("log", a_link, "it has other content"),
        ("tui-host.db", str, "it belongs to the database"),
        ("none/log", str, "No such file or directory"),
        ("/dev/full", str, "it is a device"),
    ],
)
def test_what_is_no_log_is_left_as_it_is_and_told_and_nothing_is_made(
    tmp_path: Path, name: str, make: Callable[[Path], object], told: str
) -> None:
    make(tmp_path / name)
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(NoLogError, match=rf"^{told} \(.+\)$"):
        open_log(str(tmp_path / name))
    assert {path: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/stderr"])
def test_a_log_to_where_host_and_server_speak_is_refused_and_nothing_is_started(tmp_path: Path, path: str) -> None:
    server = f"open({str(tmp_path / 'started')!r}, 'w')"
    run = subprocess.run(tap(tmp_path, "--log", path, "--", *PY, server), capture_output=True, check=False)
    assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (2, b"", 1)
    assert run.stderr.decode().startswith(f"tui-host tap math: --log {path}: it is standard ")
    assert not list(tmp_path.iterdir())


def logged(pieces: Sequence[bytes], file: int, told: list[str]) -> TapLog:
    """A log that follows a recorder of these frames."""
    session = TapSession(RecorderOptions(name="x"), print)
    for piece in pieces:
        session.recorder.append(frame(piece))
    return TapLog(LogForm(), file, "pipe", session, told.append)


def test_a_log_takes_what_its_reader_takes_and_tells_in_the_end_what_it_lacks(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    told: list[str] = []
    log = logged([b"x" * 1_000_000, b"y"], writer, told)
    assert not log.follow()
    found = bytearray()
    while not log.follow():
        found += os.read(reader, 1 << 20)
    found += os.read(reader, 1 << 20)
    log.finish(patience=0)
    assert (len(found.splitlines()), told) == (3, [])
    log = logged([b"x" * 1_000_000], writer, told)
    log.finish(patience=0.1)
    assert told == ["the log lacks the last records: 1"]
    os.close(reader)
    assert not log.follow()
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"tui_host":1,"sess')  # as a killed tap leaves it
    logged([], open_log(str(path)), []).follow()
    first, second = path.read_bytes().splitlines()
    assert (first, second[:22]) == (b'{"tui_host":1,"sess', b'{"tui_host":1,"session')
