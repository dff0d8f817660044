"""Nothing outlives the program, however it ends. The seconds are the Contract's, doubled for a machine that does much else."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.system.terminal import ROOT, program, server

MODES = ("deaf", "children", "reborn", "stopped")
"""Ignores the end of its input and every signal; has children that do, and hold its pipes; makes such at SIGTERM; stands still."""
STUBBORN = "".join(server(mode, ROOT / "tests/system/stubborn.py", mode) for mode in MODES)


def test_it_quits_with_all_at_work_and_leaves_no_process(tmp_path: Path) -> None:
    with program(tmp_path, config="") as terminal:
        terminal.until_shown("Ask anything")
        terminal.until_shown("● math", "● weather", "● orders")
        terminal.type("write 500 words\r")
        terminal.until(lambda: "receiving" in terminal.screen.text or "words" in terminal.screen.text)
        for size in ((20, 5), (60, 20), (1, 1), (140, 45)):  # while it streams
            terminal.resize(*size)
            terminal.settle(0.1)
        terminal.until_shown("ctrl+q quit", "2 LLM")
        running = terminal.family.look()
        assert sum("tui_host.demo.servers" in words for words in running.values()) == 3
        assert sum("demo-model" in words for words in running.values()) == 1
        assert sum("watchdog" in words for words in running.values()) == 1
        terminal.type("\x11")
        assert terminal.ended() == 0
        assert terminal.is_restored()
        assert terminal.family.living() == set()


@pytest.mark.exhaustive
def test_servers_that_do_not_want_to_end_are_gone_after_some_seconds(tmp_path: Path) -> None:
    ends = {"quit": 0, "close the window": 129, "kill": -signal.SIGKILL}
    folders = [tmp_path / end for end in ends]
    with ThreadPoolExecutor(len(ends)) as threads:  # side by side, since most of each is patience
        for took in threads.map(seconds_to_end, folders, ends, ends.values()):
            assert took < 30  # the Contract has six; a machine that does much else takes more


def seconds_to_end(folder: Path, end: str, code: int) -> float:
    """How long it is from one way of ending the program until all of its processes are gone."""
    folder.mkdir()
    with program(folder, config=STUBBORN) as terminal:
        terminal.until_shown(*(f"● {mode}" for mode in MODES))
        family = terminal.family
        terminal.until(lambda: len(family.look()) == 10)  # with the guard and five children
        asked = time.monotonic()
        match end:
            case "quit":
                terminal.type("\x11")
            case "kill":
                terminal.signal(signal.SIGKILL)
            case _:
                terminal.hang_up()
        assert terminal.ended() == code
        terminal.until(lambda: not family.living())
        took = time.monotonic() - asked
    print(f"{end}: {took:.2f} s")
    return took
