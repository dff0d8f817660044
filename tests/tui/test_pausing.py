"""A loop's clock that stands still while the program does."""

from __future__ import annotations

from contextlib import closing

from tui_host.tui.suspension import PausableLoop


def test_no_deadline_passes_while_the_program_is_paused() -> None:
    moment = 100.0
    with closing(PausableLoop(lambda: moment)) as loop:
        for seconds, is_pause in ((0.01, False), (600.0, True), (0.01, False)):
            before = loop.time()
            moment += seconds
            if is_pause:
                loop.go_on()
            assert round(loop.time() - before, 6) == (0 if is_pause else seconds)
        assert [round(loop.skipped(), 6) for _ in range(2)] == [600, 0]
