"""The one clock on which the records of several captures stand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.capture.record import Record


class WallClock:
    """The wall clock as it stood when each capture began, which may be set while one goes on: from there on its own clock counts."""

    def __init__(self) -> None:
        self._began: dict[str, int] = {}

    def at_ns(self, record: Record) -> int:
        """When a record came to be. The first that is asked for of a capture tells when that began."""
        if record.mono_ns is None:
            return record.time_ns
        if record.capture not in self._began:
            # In microseconds, as in the lines that are exported: where they are brought in again it is the same time.
            self._began[record.capture] = record.time_ns // 1000 * 1000 - record.mono_ns
        return record.mono_ns + self._began[record.capture]

    def boot_ns(self, capture: str) -> int | None:
        """When a capture's own clock stood at nothing; None where it tells no times. Those of one machine's since it began have the same."""
        return self._began.get(capture)

    def on_it(self, record: Record) -> Record:
        """A record with its time on this clock; one that tells none stays so."""
        return record if record.mono_ns is None else replace(record, mono_ns=self.at_ns(record))
