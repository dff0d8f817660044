"""What a person is told while nothing can be kept of what a tap passes on: why, that it goes on, and what is missing then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_host.capture.store.store_faults import LOCKED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tui_host.capture.recorder import Recorder
    from tui_host.tap.recording.capture_start import Beginning


class Gaps:
    """Tells of each once.

    Args:
        recorder: What it has to say.
        begins: Where it began: what a process before it has lost is missing too.
        tell: Takes a sentence for a person.

    Attributes:
        is_anew: What has come since stands in another database than what came before.
        missed: Bytes that passed and were never told of: there was no room for more that waits.
    """

    def __init__(self, recorder: Recorder, begins: Beginning, tell: Callable[[str], None]) -> None:
        self._recorder = recorder
        self._begins = begins
        self._tell = tell
        self.is_anew = False
        self.missed = 0
        self._is_to_go_on = begins.is_another  # until that was told
        self._is_well = False
        self._is_end_told = False
        self._faults: set[str] = set()  # told since all was well
        self._dropped = self._left_out = self._missed = 0

    def follow(self, fault: str, path: Path | None, *, is_ending: bool) -> None:
        """Tell when nothing is taken, and when what has waited is taken again.

        Args:
            fault: Why nothing is kept; empty if all is well.
            path: The database's, if it is open.
            is_ending: What waits has no more time to wait.
        """
        if fault and fault not in self._faults:
            self._faults.add(fault)
            if fault != LOCKED:  # for that what records waits by itself
                self._is_well = False
                self._begins.is_ill()
            words = fault if path is None else f"{path}: {fault}"
            if not is_ending:
                words += "; what passes waits in memory meanwhile"
            self._tell(f"nothing is recorded: {words}")
        elif not (fault or path is None or self._recorder.waiting):
            if self._faults or self._is_to_go_on:
                self._tell(f"recording goes on; {self._missing()}")
                self._faults.clear()
                self.is_anew = self._is_to_go_on = False
            elif self.missed and not self._missed:
                self._tell(f"{self._too_much()}; the records tell where")
                self._missed = self.missed
            if not self._is_well:
                self._is_well = True
                self._begins.is_well()

    def tell_what_waits(self, words: str) -> None:
        """At the end what waits goes on waiting: these words say for what."""
        if not self._is_end_told:
            self._is_end_told = True
            self._tell(f"{words}: {self._recorder.left:,}")

    def end(self) -> None:
        """Nothing more can be kept: tell what is lost."""
        if self.missed > self._missed:
            self._tell(f"in all {self._too_much()}")
        if lost := self._recorder.left:
            self._tell(f"what waited in memory is lost, records: {lost:,}")

    def _too_much(self) -> str:
        return f"{self.missed:,} bytes of what passed are not recorded, as there was no room for more that waits"

    def _missing(self) -> str:
        """What is missing of what came while nothing was recorded."""
        dropped, left_out = self._recorder.dropped, self._recorder.left_out
        words = [
            self._begins.missing if self._is_to_go_on else "",
            f"of {dropped - self._dropped:,} records the bytes were dropped" if dropped > self._dropped else "",
            f"{left_out - self._left_out:,} are missing" if left_out > self._left_out else "",
            self._too_much() if self.missed > self._missed else "",
        ]
        self._dropped, self._left_out, self._missed = dropped, left_out, self.missed
        if any(words):
            return ", ".join(filter(None, words))
        return "of what passed since, nothing is missing" if self.is_anew else "nothing is missing"
