"""A process that records and dies takes nothing with it: another goes on where it was. Source: threats.md, PXY-09."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tap.relaying import PLACE
from tests.tap.scripts import BEGUN
from tests.tap.stdio_taps import (
    ECHO,
    PING,
    data,
    pull,
    push,
    recorded,
    recorder_of,
    records,
    runs,
    said,
    start,
    tap,
    told,
    until,
    write,
)
from tui_host.capture.record import Draft
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.tap.http.mcp_tap import Connections
from tui_host.tap.recording.capture_start import Beginning
from tui_host.tap.recording.exchange_records import Exchanges, Later
from tui_host.tap.recording.line_records import Lines
from tui_host.tap.recording.resuming import Folding
from tui_host.tap.recording.tap_session import TapRecording
from tui_host.tap.report_kinds import ASKED, CHUNK, COMPLETE, IN, OUT, REQUEST, RESPONSE, SENT

BROKEN_OFF = (
    "recording has broken off: what records was ended by SIGKILL; everything is passed on, and recording begins again"
)

FOR_NOW = "nothing is recorded for now: %s; everything is passed on and waits, and that is tried again"
KILLS = 7
"""In a row: each of those that follow would wait for seconds before it records."""


def test_what_a_killed_recorder_had_not_kept_another_records_once_and_both_is_told_once(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    process = start(tap(tmp_path, f"--log={log}", "--", *ECHO))
    whole = b"".join(PING % number for number in range(300)) + bytes(9000).hex().encode()
    push(process, whole)
    assert pull(process, len(whole)) == whole
    for _ in range(2):
        recorder = recorder_of(process.pid)
        os.kill(recorder, signal.SIGKILL)
        push(process, whole)  # ends within a line, and begins so
        assert pull(process, len(whole)) == whole
        until(lambda: not runs(recorder))  # noqa: B023 - at once
    write(process, [b"\n"]).join()
    assert said(process) == b"\n"
    errors = told(process).splitlines()
    assert errors == [f"tui-host tap math: {BROKEN_OFF}", "tui-host tap math: recording goes on; nothing is missing"]
    assert process.wait() == 0
    found = recorded(tmp_path)
    assert data(found, "in") == data(found, "out") == whole * 3 + b"\n"
    assert [record.seq for record in found] == list(range(1, len(found) + 1))
    assert {record.draft.connection for record in found} == {"math#1"}
    until(lambda: len(log.read_bytes().splitlines()) == len(found) + 1)
    assert [json.loads(line)["seq"] for line in log.read_text().splitlines()[1:]] == [each.seq for each in found]


@pytest.mark.parametrize("begun", [False, True])
def test_what_a_recorder_has_that_is_killed_as_the_tap_ends_another_records(tmp_path: Path, *, begun: bool) -> None:
    process = start(tap(tmp_path, *ECHO))
    push(process, PING % 1)
    assert pull(process, len(PING % 1)) == PING % 1
    if begun:
        until((tmp_path / "tui-host.db").exists)
    os.kill(recorder_of(process.pid), signal.SIGKILL)
    write(process, []).join()  # the relay has not seen yet that nobody records
    errors = told(process).splitlines()
    assert errors == [f"tui-host tap math: {BROKEN_OFF}", "tui-host tap math: recording goes on; nothing is missing"]
    assert data(recorded(tmp_path), "in") == PING % 1


def test_the_server_is_ended_with_its_tap_also_where_another_records(tmp_path: Path) -> None:
    process = start(tap(tmp_path, "sh", "-c", "echo $$; trap '' TERM; while :; do sleep 9; done"), own_group=True)
    assert process.stdout is not None
    server = int(process.stdout.readline())
    first = recorder_of(process.pid)
    os.kill(first, signal.SIGKILL)
    until(lambda: not runs(first) and recorder_of(process.pid) != first)
    until(lambda: b"SIGKILL" in process.stderr.readline() if process.stderr else False)
    process.kill()
    until(lambda: not runs(server))


def test_however_often_a_recorder_is_killed_another_is_there_to_record_what_passed_when_the_tap_is_killed_too(
    tmp_path: Path,
) -> None:
    errors = tmp_path / "errors"
    with errors.open("wb") as file:
        process = start(tap(tmp_path, *ECHO), errors=file)
    passed = b""
    while (killed := errors.read_text().count("SIGKILL")) < 2 or passed.count(b"\n") < KILLS:
        push(process, line := PING % passed.count(b"\n"))
        assert pull(process, len(line)) == line
        passed += line
        recorder = recorder_of(process.pid)
        os.kill(recorder, signal.SIGKILL)
        until(lambda: not runs(recorder))  # noqa: B023 - at once
        assert killed < 3
    recorder_of(process.pid)
    process.kill()
    found = recorded(tmp_path)
    assert data(found, "in") == data(found, "out") == passed
    why = "what records was ended by SIGKILL, again and again"
    assert errors.read_text().splitlines() == [
        f"tui-host tap math: {words}" for words in (BROKEN_OFF, FOR_NOW % why, "recording goes on; nothing is missing")
    ]


REFUSED = r"""
import os, resource, signal, sys
from pathlib import Path
from tests.tap.stdio_taps import *
from tui_host.tap.recording.recorder_process import Asked, Beside
from tui_host.tap.report_kinds import IN
from tui_host.tap.recording.line_records import Lines
from tui_host.tap.recording.recorder_main import record

folder = Path(sys.argv[1])
told = []
asked = Asked("math", data_dir=str(folder), log=None, plain=None)
tap = Beside(lambda ends: record(ends, asked, lambda recording: Lines(recording, "math"), 0), told.append, None)
telling = tap.telling()
before = len(os.listdir("/dev/fd"))
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
os.close(free := os.dup(0))
for room in (0, 2, 4):  # for nothing, for a bell, for that and one more pipe
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + room, hard))
    if not room:
        os.kill(tap._process, signal.SIGKILL)
    for _ in range(2):
        tried = tap._tried_at
        until(lambda: tap._tried_at > tried)
telling.passed(IN, b"meanwhile\n")
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
until(lambda: tap._process and tap._journal.unsettled.is_told)
assert len(os.listdir("/dev/fd")) == before
tap.end()
assert data(recorded(folder), "in") == b"meanwhile\n"
print(*told, sep="\n")
"""


def test_where_another_recorder_cannot_be_begun_that_is_told_once_and_tried_again(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", REFUSED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    why = "nothing can be begun that records: Too many open files"
    assert run.stdout.splitlines() == [BROKEN_OFF, FOR_NOW % why]
    assert run.stderr == "tui-host tap math: recording goes on; nothing is missing\n"


def lines(begins: Beginning) -> tuple[Recorder, Folding]:
    recording = TapRecording("math", tell=print, begins=begins)
    return recording.recorder, Lines(recording, "math")


def exchanges(begins: Beginning) -> tuple[Recorder, Folding]:
    recorder = Recorder(None, Redactor(), capture=begins.id)
    recorder.go_on_after(begins.after)
    later = Later(recorder)
    return recorder, Exchanges(later, Connections(later, "docs"), PLACE, print)


HEAD = b"%s /mcp HTTP/1.1\r\nHost: docs.example\r\nMcp-Session-Id: s%d\r\n%s\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: s%d\r\n\r\n"
TOLD: list[tuple[bytes, int, bytes]] = [
    (REQUEST, 1, b"http://docs.example\n" + HEAD % (b"POST", 1, b"Content-Length: 42\r\n")),
    (SENT, 1, (PING % 1).rstrip()),
    (ASKED, 1, b""),
    (RESPONSE, 1, STREAM % 1),
    (REQUEST, 2, b"http://docs.example\n" + HEAD % (b"POST", 2, b"Transfer-Encoding: chunked\r\n")),
    (CHUNK, 1, b"data: {"),
    (SENT, 2, b'{"jsonrpc":"2.0","id":1,'),
    (CHUNK, 1, b'"jsonrpc":"2.0","id":1,"result":{}}\n'),
    (SENT, 2, b'"method":"initialize"}'),
    (ASKED, 2, b""),
    (CHUNK, 1, b"\n: wait\n"),
    (RESPONSE, 2, STREAM % 2),
    (COMPLETE, 1, b""),
    (CHUNK, 2, b'data: {"jsonrpc":"2.0","id":1,"result":{"a":1}}\n\n'),
    (REQUEST, 3, b"http://docs.example\n" + HEAD % (b"POST", 1, b"Content-Length: 42\r\n")),
    (SENT, 3, (PING % 2).rstrip()),
    (ASKED, 3, b""),
    (RESPONSE, 3, STREAM % 1),
    (COMPLETE, 2, b""),
]
SPOKEN = [(OUT, 0, b'{"id":1,'), (IN, 0, b"x\ny"), (OUT, 0, b'"method":"m"}\n{'), (IN, 0, b'\n{"id":1,"result":1}\n')]


def test_at_whatever_point_another_goes_on_it_makes_the_records_that_the_first_would_have_made() -> None:
    for made, spoken in ((exchanges, TOLD), (lines, SPOKEN)):
        items = [(kind, number, at_ns, said) for at_ns, (kind, number, said) in enumerate(spoken)]
        recorder, folding = made(Beginning(id="c", began_ns=0))
        for item in items:
            folding.take(item)
        folding.finish()
        whole = drafts(recorder, 0)
        for cut in range(len(items)):
            recorder, folding = made(Beginning(id="c", began_ns=0))
            for item in items[:cut]:
                folding.take(item)
            state, before = folding.state(lambda: items[:cut]), recorder.reached  # noqa: B023 - at once
            other, folding = made(Beginning(id="c", began_ns=0, after=before, is_another=True))
            folding.restore(state)
            for item in items[cut:]:
                folding.take(item)
            folding.finish()
            assert [*drafts(recorder, 0), *drafts(other, before)] == whole, cut


def drafts(recorder: Recorder, after: int) -> list[tuple[int, int | None, Draft]]:
    return [(record.seq, record.mono_ns, record.draft) for record in recorder.since(after)]


POISONED = r"""
import os, sys
from pathlib import Path
from tests.tap.stdio_taps import *
from tui_host.tap.recording import recorder_process as beside
from tui_host.tap.recording.recorder_process import Asked, Beside
from tui_host.tap.report_kinds import IN
from tui_host.tap.recording.line_records import Lines
from tui_host.tap.recording.recorder_main import record

class Dying(Lines):
    def take(self, item):
        if item[3] == b"poison\n":
            os.kill(os.getpid(), 9)
        return super().take(item)

beside.DEATHS = 0
folder = Path(sys.argv[1])
told = []
asked = Asked("math", data_dir=str(folder), log=None, plain=None)
tap = Beside(lambda ends: record(ends, asked, lambda recording: Dying(recording, "math"), 0), told.append, None)
telling = tap.telling()
for line in (b"before\n", b"poison\n"):
    telling.passed(IN, line)
    telling.go()
    until(lambda: tap._journal.unsettled.kept)
until(lambda: tap._deaths == 1)
telling.passed(IN, b"after\n")
tap.end()
assert data(recorded(folder), "in") == b"before\nafter\n"
print(*told, sep="\n")
"""


def test_what_each_recorder_dies_of_is_left_out_and_that_is_told(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", POISONED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == f"{BROKEN_OFF}\n"
    missing = "up to 24 bytes are missing, and what follows in answers that had begun"
    assert run.stderr == f"tui-host tap math: recording goes on; {missing}\n"


ENDING = (
    BEGUN
    + r"""
class Slow(Telling):  # the relay has its turn again once all has ended that was told of the end
    def close(self):
        super().close()
        if case == "killed":
            os.kill(tap._process, signal.SIGKILL)
        until(lambda: not tap._process)

beside.Telling = Slow
tap, telling = begin()
if case == "left":
    if tap.fork():
        os._exit(0)
elif case == "killed":
    os.kill(tap._process, signal.SIGSTOP)
    telling.passed(IN, b"after\n")
elif case == "refused":
    os.close(free := os.dup(0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    os.kill(tap._process, signal.SIGKILL)
    until(lambda: not tap._process)
    telling.passed(IN, b"after\n")
tap.end()
os.write(1, "".join(f"{words}\n" for words in told).encode())
os._exit(0)
"""
)
LOST = r"up to (\d+) bytes of what passed are lost: "


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("in order", []),
        ("left", []),
        ("killed", [LOST + "what records was ended by SIGKILL"]),
        (
            "refused",
            [
                re.escape(BROKEN_OFF),
                re.escape(FOR_NOW % "nothing can be begun that records: Too many open files"),
                LOST + "nothing is there that records",
            ],
        ),
    ],
)
def test_at_the_end_is_told_what_is_lost_and_nothing_where_that_is_nothing(
    tmp_path: Path, case: str, words: list[str]
) -> None:
    run = subprocess.run(
        [sys.executable, "-c", ENDING, str(tmp_path), case], capture_output=True, text=True, check=False
    )
    assert run.stderr == ""
    told = run.stdout.splitlines()
    assert len(told) == len(words), told
    matches = [re.fullmatch(pattern, line) for pattern, line in zip(words, told, strict=True)]
    assert all(matches), told
    assert all(int(match[1]) >= len(b"after\n") for match in matches if match and match.lastindex)
    assert data(records(tmp_path), "in") == b"before\n"


UNHEARD = (
    BEGUN
    + r"""
beside.HEARING = beside.DYING = 0  # the time is over before another one could be begun, as where many taps end at once
another, Beside._begin_another = Beside._begin_another, lambda _: None
tap, telling = begin()
os.kill(tap._process, signal.SIGKILL)
until(lambda: not tap._process)
telling.passed(IN, b"after\n")
Beside._begin_another = another
tap.end()
os.write(1, "".join(f"{words}\n" for words in told).encode())
os._exit(0)
"""
)


def test_one_that_was_killed_just_before_the_end_is_followed_by_another_however_busy_the_machine(
    tmp_path: Path,
) -> None:
    run = subprocess.run([sys.executable, "-c", UNHEARD, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.stderr == "tui-host tap math: recording goes on; nothing is missing\n"
    assert run.stdout == f"{BROKEN_OFF}\n"
    assert data(recorded(tmp_path), "in") == b"before\nafter\n"


ON_ITS_WAY = r"""
import os, sys
from tui_host.tap.recording.recorder_process import Beside
from tui_host.tap.recording.channel_write import BYE, HEARD, HOPEFUL

def work(ends):
    while BYE not in os.read(ends.lifeline, 64):
        pass
    os.write(ends.notices, HOPEFUL + HEARD + b"".join(b"%d\n" % number for number in range(500)))

tap = Beside(work, print, None)
telling = tap.telling()
tap.end()
os._exit(0)
"""


def test_what_a_person_is_to_be_told_and_is_on_its_way_as_the_tap_ends_is_told() -> None:
    run = subprocess.run([sys.executable, "-c", ON_ITS_WAY], capture_output=True, text=True, check=False)
    assert run.stdout == ""
    assert run.stderr.splitlines() == [str(number) for number in range(500)]


CROWDED = (
    BEGUN
    + r"""
os.environ["TMPDIR"] = str(folder / "missing")
journal.FOLDERS = (os.environ["TMPDIR"],)
tap, telling = begin(lambda words: os.write(1, f"{words}\n".encode()), room=1 << 16)
os.kill(tap._process, signal.SIGSTOP)
for _ in range(100):
    telling.passed(IN, b"x" * 9999 + b"\n")
os.kill(tap._process, signal.SIGKILL if case == "killed" else signal.SIGCONT)
if case == "killed":
    until(lambda: tap._tries)
telling.go()
until(lambda: not tap._journal.held and not tap._journal.left)
until(lambda: b"no room" in (folder / "errors").read_bytes())
telling.passed(IN, b"after\n")
tap.end()
os._exit(0)
"""
)


@pytest.mark.parametrize("case", ["killed", "goes on"])
def test_what_found_no_room_while_nobody_recorded_is_told(tmp_path: Path, case: str) -> None:
    errors = tmp_path / "errors"
    with errors.open("wb") as file:
        command = [sys.executable, "-c", CROWDED, str(tmp_path), case]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=file, check=False)
    assert run.stdout.decode() == (f"{BROKEN_OFF}\n" if case == "killed" else "")
    kept = [len(each.draft.data) for each in recorded(tmp_path)]
    told = next(line for line in errors.read_text().splitlines() if "no room" in line)
    found = re.fullmatch(r"tui-host tap math: (?:recording goes on; )?([\d,]+) bytes of what passed are not .*", told)
    assert found is not None, told
    missing = len(b"before\nafter\n") + 100 * 10_000 - sum(kept)
    assert 0 < int(found[1].replace(",", "")) <= missing  # so far
