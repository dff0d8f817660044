"""The recorder beside a relay: what is told and recorded when it is killed, stopped, hangs, or cannot be started."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

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
