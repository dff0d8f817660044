"""The recorder beside a relay: what is told and recorded when it is killed, stopped, hangs, or cannot be started."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.tap.stdio_taps import (
    ECHO,
    PING,
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
from tui_host.tap.recording import recorder_watch
from tui_host.tap.recording.journal import Journal
from tui_host.tap.recording.recorder_watch import LOOK_SECONDS, START_PATIENCE, StandstillWatch

BROKEN_OFF = (
    "recording has broken off: the recorder was ended by SIGKILL; everything is passed on, and another one begins"
)
FOR_NOW = "nothing is recorded for now: %s; everything is passed on and waits, and that is tried again"
MISSING = "recording goes on; up to ([0-9]+) bytes are missing, and what follows in answers that had begun"

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
    assert process.stderr.readline().startswith(b"tui-host tap math: recording goes on; ")
    push(process, PING % 2)
    assert pull(process, len(PING % 2)) == PING % 2
    process.kill()
    found = recorded(tmp_path)
    assert data(found, "out") == b"".join(PING % number for number in range(3))
    assert len({record.capture for record in found}) == 2
    assert not any(record.draft.malformed for record in found if record.draft.direction == "out")
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


def test_where_each_recorder_dies_that_is_told_once_and_what_is_lost_at_the_end(tmp_path: Path) -> None:
    script = """
class Dead(LineRecords):
    def __init__(self, *_):
        os._exit(3)

recorder_process.FIRST_REST = 0.01
tap, writer = begin(is_kept=False, records=Dead)
pass_on(writer, b"never\\n")
until(lambda: tap._deaths > 3)
end(tap)
"""
    told, later = run(script, tmp_path)
    died = "the recorder has ended with 3"
    again = FOR_NOW % f"{died}, again and again"
    first = BROKEN_OFF.replace("the recorder was ended by SIGKILL", died)
    assert told[:2] == [first, again]
    assert [line for line in told[2:] if "lost" not in line] == []
    assert later == []


@pytest.mark.exhaustive
def test_where_no_recorder_can_be_started_that_is_told_once_and_tried_again(tmp_path: Path) -> None:
    script = """
recorder_process.FIRST_REST = recorder_process.LONGEST_REST = 0.05
tap, writer = begin(is_kept=False)
before = len(os.listdir("/dev/fd"))
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
os.close(free := os.dup(0))
for room in (0, 2, 4):  # for nothing, for a bell, for that and one more pipe
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + room, hard))
    if not room:
        os.kill(tap._process, signal.SIGKILL)
    tried = tap._deaths
    until(lambda: tap._deaths > tried + 1)
writer.report(IN, b"meanwhile\\n")
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
until(lambda: tap._process and tap._journal.is_well)
assert len(os.listdir("/dev/fd")) == before
end(tap)
"""
    told, later = run(script, tmp_path)
    assert told == [BROKEN_OFF, FOR_NOW % "no recorder can be started: Too many open files"]
    assert later == ["recording goes on; nothing is missing"]
    assert kept(tmp_path) == [b"meanwhile"]


@pytest.mark.parametrize(
    ("case", "words", "lines"),
    [
        pytest.param("in order", [], [b"before"], marks=pytest.mark.exhaustive),
        pytest.param("left", [], [b"before"], marks=pytest.mark.exhaustive),
        ("just before", [re.escape(BROKEN_OFF)], [b"before", b"after"]),
        ("killed", [r"up to \d\d+ bytes of what passed are lost: the recorder was ended by SIGKILL"], [b"before"]),
    ],
)
def test_at_the_end_is_told_what_is_lost_and_nothing_where_that_is_nothing(
    tmp_path: Path, case: str, words: list[str], lines: list[bytes]
) -> None:
    script = """
class Slow(ChannelWriter):  # the relay's end goes on once the recorder has ended that was told of it
    def close(self):
        super().close()
        if case == "killed":
            os.kill(tap._process, signal.SIGKILL)
        until(lambda: case == "just before" or not tap._process)

recorder_process.ChannelWriter = Slow
tap, writer = begin()
if case == "left":
    if tap.fork():
        os._exit(0)
elif case == "just before":
    another, RecorderProcess._fork_another = RecorderProcess._fork_another, lambda _: None
    os.kill(tap._process, signal.SIGKILL)
    until(lambda: not tap._process)
    RecorderProcess._fork_another = another
    writer.report(IN, b"after\\n")
elif case == "killed":
    os.kill(tap._process, signal.SIGSTOP)
    writer.report(IN, b"after\\n")
end(tap)
"""
    told, later = run(script, tmp_path, case)
    assert len(told) == len(words), told
    assert all(re.fullmatch(pattern, line) for pattern, line in zip(words, told, strict=True)), told
    assert later in ([], ["recording goes on; nothing is missing"])
    found = recorded(tmp_path) if case != "killed" else records(tmp_path)
    assert data(found, "in").splitlines() == lines


@pytest.mark.parametrize("case", ["killed", pytest.param("goes on", marks=pytest.mark.exhaustive)])
def test_what_found_no_room_while_nobody_recorded_is_told(tmp_path: Path, case: str) -> None:
    script = """
os.environ["TMPDIR"] = str(folder / "missing")
journal.FOLDERS = (os.environ["TMPDIR"],)
tap, writer = begin(room=1 << 16)
said = []
recorder_process.write, write = (lambda target, line: (said.append(line), write(target, line))), recorder_process.write
os.kill(tap._process, signal.SIGSTOP)
for _ in range(100):
    writer.report(IN, b"x" * 9999 + b"\\n")
os.kill(tap._process, signal.SIGKILL if case == "killed" else signal.SIGCONT)
if case == "killed":
    until(lambda: tap._deaths)
writer.notify()
until(lambda: not tap._journal.held and not tap._journal.left and any(b"no room" in line for line in said))
writer.report(IN, b"after\\n")
end(tap)
"""
    told, later = run(script, tmp_path, case)
    assert told == ([BROKEN_OFF] if case == "killed" else [])
    sizes = [len(record.draft.data) for record in recorded(tmp_path)]
    match = re.search(r"([\d,]+) bytes of what passed are not recorded", "\n".join(later))
    assert match is not None, later
    missing = len(b"before\nafter\n") + 100 * 10_000 - sum(sizes)
    assert 0 < int(match[1].replace(",", "")) <= missing  # so far


class _Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("waits", "told"),
    [
        pytest.param([LOOK_SECONDS] * int(START_PATIENCE + 1), 1, id="looks each second"),
        pytest.param([*[LOOK_SECONDS] * 3, 600, *[LOOK_SECONDS] * 3], 0, id="was stopped itself"),
    ],
)
def test_only_time_in_which_the_relay_itself_ran_counts_as_a_standstill(
    waits: Sequence[float], told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, said = _Clock(), list[str]()
    monkeypatch.setattr(recorder_watch, "time", clock)
    journal = Journal()
    watch = StandstillWatch(journal, said.append)
    journal.add(b"", b"a message that nobody takes")
    for wait in waits:
        clock.now += wait
        watch.look()
    assert len(said) == told


@pytest.mark.parametrize(
    "case",
    [
        "stopped",
        *(
            pytest.param(case, marks=pytest.mark.exhaustive)
            for case in ("database hangs", "stopped while nothing waits")
        ),
    ],
)
def test_a_recorder_that_stands_still_is_told_once_something_waits_for_long(tmp_path: Path, case: str) -> None:
    script = """
recorder_process.LOOK_SECONDS = recorder_watch.LOOK_SECONDS = 0.1
if case == "database hangs":
    recorder_watch.START_PATIENCE = 1
if case == "database hangs":
    os.mkfifo(folder / "tui-host.db")
tap, writer = begin(is_kept=case != "database hangs")
if case == "database hangs":
    pass_on(writer, b"waits\\n")  # it is taken, and waits where nobody sees it
    until(lambda: tap._watch._is_told)
    tap.undo()
    os._exit(0)
until(lambda: tap._watch._patience == recorder_watch.PATIENCE)
tap._watch._patience = 1
os.kill(tap._process, signal.SIGSTOP)
if case == "stopped":
    pass_on(writer, b"after\\n")
    until(lambda: tap._watch._is_told)
looks = []
recorder_watch.StandstillWatch.look, look = (lambda self: (looks.append(1), look(self))), recorder_watch.StandstillWatch.look
until(lambda: len(looks) > 5)
os.kill(tap._process, signal.SIGCONT)
until(lambda: not tap._watch._is_told)
pass_on(writer, b"later\\n")
end(tap)
"""
    told, later = run(script, tmp_path, case)
    still = "nothing is recorded for now: the recorder has not got on for 1 seconds; everything is passed on and waits"
    expected = {"stopped": [still, "recording goes on"], "database hangs": [still]}
    assert told == expected.get(case, [])
    assert later == []
    if case != "database hangs":
        assert kept(tmp_path) == [b"before", *([b"after"] if case == "stopped" else []), b"later"]
