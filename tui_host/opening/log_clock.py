"""The times that a log tells in its words: with a date, as seconds since 1970, or of a day that it does not name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from tui_host.opening.drafts import LATEST_NS, Moment
from tui_host.opening.time_formats import TIME, Told, told_by, told_to_the_second, without_number

_FOREMOST = 40
"""Characters of a line in which a time without a date begins; later ones may be of anything."""
_BACK = timedelta(hours=1)
"""By more than that no line is late, and no summer ends: a time that is so much earlier is the next day's."""
_LATE = timedelta(hours=23)
"""What would be so long after a file was last changed is of the day before: midnight passed between a line and its end."""
_DAY = timedelta(days=1)
_AHEAD_NS = 2 * 86_400 * 10**9
"""By more than that no clock is ahead of another, in whatever zone: what is so much later than a file's last change is no time of its lines."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Clock:
    """The time of what a log has, which never goes back.

    Attributes:
        now_ns: The time that was told last; before one was, that of what tells none. The first time without a date is of its day.
        is_dated: A time with its date was told: one without it is of something else.
        is_of_a_day: A time without a date was told.
        first_ns: The time that was told first; 0 before one was.
        later: Called for each time that is too late to be one.
        latest_ns: What is later is none of the log's, but of something that it speaks of.
        changed_ns: When its file was last changed: what a date leaves open is as near as may be to that.
    """

    now_ns: int
    is_dated: bool = False
    is_of_a_day: bool = False
    first_ns: int = 0
    later: Callable[[], None] = lambda: None
    latest_ns: int = LATEST_NS
    changed_ns: int = 0
    _is_told: bool = False
    _written: str = ""
    _told: Told = field(default_factory=Told)  # what that says: mostly a log has many lines of a second
    _second_ns: int | None = None  # its time; None where it has none

    def at(self, words: str) -> Moment:
        """The time of what stands behind words: what they tell, else what lines of words just before it told."""
        self.hear(words)
        is_told, self._is_told = self._is_told, False
        return Moment(self.now_ns, is_told)

    def hear(self, words: str) -> None:
        """Words that stand alone: the time that they tell is that of what comes next."""
        found = TIME.search(words)
        if found is None:
            return
        written, fraction = told_to_the_second(found)
        if written != self._written:
            self._written, self._second_ns = written, None
            self._told = without_number(told_by(found), self.changed_ns)
        of_a_day = not (self._told.day or self._told.epoch)
        if of_a_day and (self.is_dated or found.start() > _FOREMOST):
            return
        if self._second_ns is None or (of_a_day and self._second_ns + 10**9 < self.now_ns):
            try:
                self._second_ns = self._of_the_day(self._told) if of_a_day else self._time_ns(self._told)
            except (ValueError, OverflowError, OSError):
                return
        told_ns = self._second_ns + _fraction_ns(fraction)
        if told_ns > LATEST_NS:
            self.later()
            return
        if told_ns <= 0 or told_ns > self.latest_ns:
            return
        self.is_dated, self.is_of_a_day = self.is_dated or not of_a_day, self.is_of_a_day or of_a_day
        self.first_ns = self.first_ns or told_ns
        self.now_ns = max(self.now_ns, told_ns)
        self._is_told = True

    def _of_the_day(self, told: Told) -> int:
        now = _local(self.now_ns)
        found = _on(now.date(), told.clock)
        if found < now - _BACK:
            found = _on(now.date() + _DAY, told.clock)
        return _ns(found)

    def _time_ns(self, told: Told) -> int:
        if told.epoch:
            return int(told.epoch) * 10**9
        day = told.date(_local(self.changed_ns))
        return _ns(datetime.fromisoformat(f"{day}T{told.clock}{told.zone}").astimezone(UTC))


def _ns(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(seconds=1) * 10**9


def _fraction_ns(fraction: str) -> int:
    return int((fraction or "0").ljust(9, "0"))


def _local(at_ns: int) -> datetime:
    return datetime.fromtimestamp(at_ns // 10**9, UTC).astimezone()


def _on(day: date, clock: str) -> datetime:
    return datetime.fromisoformat(f"{day}T{clock.zfill(8)}").astimezone()


def latest(first_ns: int, changed_ns: int) -> int:
    """The last time that may be of a log; without bound where its file was changed before its first line, as far as that is known.

    Args:
        first_ns: Its first time.
        changed_ns: When its file was last changed.
    """
    return changed_ns + _AHEAD_NS if first_ns <= changed_ns + _AHEAD_NS else LATEST_NS


def by_the_last(first_ns: int, last_ns: int, changed_ns: int) -> int:
    """The first time of a log without dates, whose last line is of the day on which its file was last changed.

    Args:
        first_ns: That time, on any day.
        last_ns: The last one, counted on from there.
        changed_ns: When the file was last changed.
    """
    last, changed = _local(last_ns), _local(changed_ns)
    day = changed.date()
    if _on(day, f"{last:%H:%M:%S}") - changed > _LATE:
        day -= _DAY
    return _moved(first_ns, day - (last.date() - _local(first_ns).date()))


def nearest(first_ns: int, other_ns: int) -> int:
    """The first time of a log without dates on the day on which it is nearest to a time that has one."""
    other = _local(other_ns).date()
    return min((_moved(first_ns, other + days * _DAY) for days in (-1, 0, 1)), key=lambda ns: abs(ns - other_ns))


def _moved(at_ns: int, day: date) -> int:
    return _ns(_on(day, f"{_local(at_ns):%H:%M:%S}")) + at_ns % 10**9
