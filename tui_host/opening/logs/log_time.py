"""Reads times in logs: ISO 8601 with or without a zone, common forms of loggers, seconds or milliseconds since 1970.

A time without a zone is in this machine's zone. A time without a date is on the day of the file's last change, or on
the day before.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from tui_host.opening.import_types import LATEST_NS, Moment

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?:{'|'.join(_MONTHS)})"
_DATE = "|".join(
    (
        r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}",
        rf"\d{{1,2}}/{_MONTH}/\d{{4}}",  # web servers
        rf"\d{{1,2}} {_MONTH} \d{{4}}",  # RFC 9110
        rf"{_MONTH} {{1,2}}\d{{1,2}}",  # syslog, journald
    )
)
TIME = re.compile(
    rf"(?=[\dADFJMNOS])(?:(?:(?<!\d)({_DATE})(?:[T_:]|,? (?:- )?)|(?<![\d.:+\-午]))(\d{{1,2}}:[0-5]\d:[0-5]\d)(?![\d:])"
    r"(?:[.,](\d{1,9}))?(?![ \u202f]?[AaPp]\.?[Mm])(?: ?(Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d\b))?"
    r"|(?<![\d.])(1[5-9]\d{8})(?:\.(\d{1,9})|(\d{3}|\d{6}|\d{9}))?(?!\d))"
)
"""A date and a time of day, a time of day alone, or seconds since 1970 with a fraction, milli-, micro- or nanoseconds."""
_NUMBER = re.compile(r"\d+")
_FOREMOST = 40
"""A time without a date counts only within so many characters of a line; later it may be a duration."""
_BACKWARD = timedelta(hours=1)
"""If a time of day is earlier by more than this, it is on the next day."""
_DAY = timedelta(days=1)
_AHEAD = 2 * _DAY
"""No line is later than its file's change by more than this, whatever its time zone."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LogClock:
    """The time of a log's lines, which never goes back.

    Attributes:
        late_times: Number of times after the year 2099.
    """

    def __init__(self, start_ns: int, changed_ns: int = 0) -> None:
        self.now_ns = start_ns
        self.first_ns = self.late_times = 0
        self._changed_ns = changed_ns or start_ns
        self._latest_ns = LATEST_NS
        self._is_dated = self._is_new = False
        self._second = ("", "", "")
        self._second_ns: int | None = None

    def at(self, words: str) -> Moment:
        """Return the time of a value after `words`: the time in them, else that of a line of words just before."""
        self.hear(words)
        is_told, self._is_new = self._is_new, False
        return Moment(self.now_ns, is_told)

    def hear(self, words: str) -> None:
        """Read the first time in some words."""
        match = TIME.search(words)
        if match is None:
            return
        day, clock, fraction, zone, epoch, *fractions = match.groups("")
        is_of_day = not (day or epoch)
        if is_of_day and (self._is_dated or match.start() > _FOREMOST or _NUMBER.search(words, 0, match.start())):
            return  # a duration, or a time after a date in an unknown form
        if epoch:
            self._take(int(epoch) * 10**9 + _fraction_ns(fractions[0] or fractions[1]), is_dated=True)
            return
        if (day, clock, zone) != self._second or is_of_day:
            self._second = day, clock, zone
            try:
                self._second_ns = self._of_a_day(clock) if is_of_day else self._of_date(day, clock, zone)
            except (ValueError, OverflowError, OSError):  # no such day exists
                self._second_ns = None
        if self._second_ns is not None:
            self._take(self._second_ns + _fraction_ns(fraction), is_dated=not is_of_day)

    def _take(self, told_ns: int, *, is_dated: bool) -> None:
        self.late_times += told_ns > LATEST_NS
        if not 0 < told_ns <= self._latest_ns:
            return
        if not self.first_ns:
            self.first_ns = told_ns
            limit_ns = self._changed_ns + int(_AHEAD.total_seconds()) * 10**9
            self._latest_ns = limit_ns if told_ns <= limit_ns else LATEST_NS
            self.now_ns = told_ns
        self._is_dated |= is_dated
        self.now_ns = max(self.now_ns, told_ns)
        self._is_new = True

    def _of_date(self, day: str, clock: str, zone: str) -> int:
        numbers = [int(number) for number in _NUMBER.findall(day)]
        month = next((number for number, name in enumerate(_MONTHS, 1) if name in day), 0)
        match numbers:
            case [year, number, day_of_month]:
                day_told = date(year, number, day_of_month)
            case [day_of_month, year]:
                day_told = date(year, month, day_of_month)
            case _:  # without a year: the last such day before the file's change
                latest = (_local(self._changed_ns) + _AHEAD).date()
                day_told = date(latest.year, month, numbers[0])
                day_told = day_told if day_told <= latest else date(latest.year - 1, month, numbers[0])
        zone = "Z" if zone in {"UTC", "GMT"} else zone
        return _seconds_ns(datetime.fromisoformat(f"{day_told}T{clock.zfill(8)}{zone}").astimezone(UTC))

    def _of_a_day(self, clock: str) -> int:
        if not self.first_ns:
            changed = _local(self._changed_ns)
            first = _on(changed.date(), clock)
            return _seconds_ns(first if first < changed + timedelta(seconds=1) else _on(changed.date() - _DAY, clock))
        now = _local(self.now_ns)
        moment = _on(now.date(), clock)
        return _seconds_ns(moment if moment >= now - _BACKWARD else _on(now.date() + _DAY, clock))


def _on(day: date, clock: str) -> datetime:
    return datetime.fromisoformat(f"{day}T{clock.zfill(8)}").astimezone()


def _local(at_ns: int) -> datetime:
    return datetime.fromtimestamp(at_ns // 10**9, UTC).astimezone()


def _seconds_ns(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(seconds=1) * 10**9


def _fraction_ns(digits: str) -> int:
    return int(digits.ljust(9, "0")) if digits else 0
