"""The times that a log tells in its words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tui_host.capture.imports.seen import File, Moment

TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?"
    r"|(?<![\d.])(1[5-9]\d{8})(?:\.(\d{1,9})|(\d{3}))?(?![\d])"
)


@dataclass(slots=True)
class Clock:
    """The time of what a log has, which never goes back."""

    now_ns: int
    _is_told: bool = False

    def at(self, words: str) -> Moment:
        """The time of what stands behind words: what they tell, else what lines of words just before it told."""
        self.hear(words)
        is_told, self._is_told = self._is_told, False
        return Moment(self.now_ns, is_told)

    def hear(self, words: str) -> None:
        """Words that stand alone: the time that they tell is that of what comes next."""
        found = TIME.search(words)
        if found is not None:
            try:
                self.now_ns = max(self.now_ns, _time_ns(found))
            except (ValueError, OverflowError, OSError):
                return
            self._is_told = True


def _time_ns(found: re.Match[str]) -> int:
    day, clock, fraction, zone, epoch, after, milliseconds = found.groups()
    if epoch is not None:
        return int(epoch) * 10**9 + int((after or milliseconds or "0").ljust(9, "0"))
    moment = datetime.fromisoformat(f"{day}T{clock}{zone or ''}")
    seconds = (moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    return seconds * 10**9 + int((fraction or "0").ljust(9, "0"))


def first_time(file: File) -> int:
    """The first time that is told: what stands before it is of the same."""
    found = TIME.search(file.data[: 1 << 16].decode("utf-8", "replace"))
    try:
        return file.time_ns if found is None else _time_ns(found)
    except (ValueError, OverflowError, OSError):
        return file.time_ns
