"""Converts the times of several captures to one clock."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.capture.record import Record


@dataclass(slots=True)
class WallClock:
    """A common clock: wall time at the beginning of each capture, plus the time since by the capture's own clock."""

    _began: dict[str, int] = field(default_factory=dict[str, int], init=False)

    def at_ns(self, record: Record) -> int:
        """Return the time of a record. The first record asked for tells the beginning of a capture."""
        if record.mono_ns is None:
            return record.time_ns
        if record.capture not in self._began:
            # In microseconds, as in the lines that are exported: where they are brought in again it is the same time.
            self._began[record.capture] = record.time_ns // 1000 * 1000 - record.mono_ns
        return record.mono_ns + self._began[record.capture]

    def on_it(self, record: Record) -> Record:
        """Return a record with the time on the common clock; unchanged for a record without a time."""
        return record if record.mono_ns is None else replace(record, mono_ns=self.at_ns(record))
