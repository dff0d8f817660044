"""What a relay tells of one who records and says nothing himself: who is stopped, or hangs at his database."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.tap.scripts import BEGUN
from tests.tap.stdio_taps import data, recorded
from tui_host.tap.recording import recorder_watch as standstill
from tui_host.tap.recording.journal import Journal
from tui_host.tap.recording.recorder_watch import BEGINNING, LOOK_SECONDS, Standstill


class _Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("waits", "told"),
    [
        pytest.param([LOOK_SECONDS] * int(BEGINNING + 1), 1, id="looks each second"),
        pytest.param([*[LOOK_SECONDS] * 3, 600, *[LOOK_SECONDS] * 3], 0, id="was stopped itself"),
    ],
)
def test_only_time_in_which_the_relay_itself_ran_counts(
    waits: Sequence[float], told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, said = _Clock(), list[str]()
    monkeypatch.setattr(standstill, "time", clock)
    journal = Journal()
    sees = Standstill(journal, said.append)
    journal.add(b"", b"a message that nobody takes")
    for wait in waits:
        clock.now += wait
        sees.look()
    assert len(said) == told


STANDING = (
    BEGUN
    + r"""
from tui_host.tap.recording import recorder_watch as standstill

standstill.PATIENCE = 1
tap, telling = begin()
until(lambda: tap._standstill._patience == 1)
os.kill(tap._process, signal.SIGSTOP)
if case == "waits":
    telling.passed(IN, b"after\n")
    telling.go()
    until(lambda: told)
looks = []
standstill.Standstill.look, look = (lambda self: (looks.append(1), look(self))), standstill.Standstill.look
until(lambda: len(looks) > 2)
os.kill(tap._process, signal.SIGCONT)
until(lambda: len(told) == (2 if case == "waits" else 0))
telling.passed(IN, b"later\n")
tap.end()
print(*told, sep="\n")
"""
)


@pytest.mark.parametrize("case", ["waits", "nothing waits"])
def test_where_who_records_is_stopped_that_is_told_once_something_waits_for_long_and_that_it_goes_on(
    tmp_path: Path, case: str
) -> None:
    run = subprocess.run(
        [sys.executable, "-c", STANDING, str(tmp_path), case], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    words = "what records has not got on for 1 seconds; everything is passed on and waits"
    waits = case == "waits"
    told = [f"nothing is recorded for now: {words}", "recording goes on"] if waits else [""]
    assert run.stdout.splitlines() == told
    assert data(recorded(tmp_path), "in") == (b"before\nafter\nlater\n" if waits else b"before\nlater\n")


HANGING = (
    BEGUN
    + r"""
from tui_host.tap.recording import recorder_watch as standstill

standstill.BEGINNING = 1
os.mkfifo(path := folder / "tui-host.db")
tap, telling = begin(is_kept=False)

def is_told():
    telling.passed(IN, b"more\n")  # it is taken, and waits where nobody sees it
    telling.go()
    return told

until(is_told)
tap.undo()
print(*told, sep="\n")
"""
)


def test_where_the_database_hangs_that_is_told_while_what_passes_is_taken(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", HANGING, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    words = "what records has not got on for 1 seconds; everything is passed on and waits"
    assert run.stdout.splitlines() == [f"nothing is recorded for now: {words}"]
