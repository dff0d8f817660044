"""How logs write times: as ISO 8601 and loggers do, as programs write them for people of several languages, and as seconds since 1970."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?:{'|'.join(_MONTHS)})"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_DATES = "|".join(
    (
        r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}",
        r"(?<![\d-])\d{1,2}-\d{1,2}-\d{4}",
        r"(?:\d{4}年)?\d{1,2}月\d{1,2}日",
        rf"\d{{1,2}}/{_MONTH}/\d{{4}}",  # web servers'
        rf"\d{{1,2}} {_MONTH} \d{{4}}",
        rf"{_MONTH} {{1,2}}\d{{1,2}}(?: \d{{4}})?",  # with the year behind the clock, as C writes it, or without one, as syslog does
        r"\d{1,2}/\d{1,2}/\d{4}",
        r"\d{1,2}\.\d{1,2}\.\d{4}",
        r"(?<![\d-])\d{2}-\d{2}",
        r"20\d{6}",
        # as MySQL and others write it, where a line begins: a number may stand anywhere else
        r"(?:(?<![\s\S])|(?<=^[\[(<]))\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?=[ T_]\d\d:)",
    )
)
_BETWEEN = r"(?:[T_:]|,? ?(?:星期|周|礼拜)[一二三四五六日天],? ?|,? (?:- )?|(?<=日))"
_HALVES = {"上午": "a", "凌晨": "a", "清晨": "a", "早上": "a", "中午": "p", "下午": "p", "傍晚": "p", "晚上": "p"}
_HALF = f"({'|'.join(_HALVES)})? ?"
_CLOCK = r"(\d{1,2}[:：时点][0-5]\d[:：分][0-5]\d)秒?"
_FRACTION = r"(?:[.,](\d{1,9}))?"
_BEHIND = r"(?:[ \u00a0\u202f]?([AaPp])\.?[Mm]\b\.?)?"

TIME = re.compile(
    r"(?=[\dADFJMNOSTW上凌清早中下傍晚])(?:"
    rf"(?<!\d)(?:{_WEEKDAY},? )?({_DATES}){_BETWEEN}{_HALF}{_CLOCK}(?!\d){_FRACTION}{_BEHIND}"
    r"(?: ?(Z\b|(?:GMT|UTC)?[+-]\d\d:?\d\d\b|GMT|UTC))?(?: (20\d\d)\b(?![-/年]))?"
    r"|(?<!\d)(20\d\d[-_]?(?:0[1-9]|1[0-2])[-_]?(?:0[1-9]|[12]\d|3[01]))[-_T]?((?:[01]\d|2[0-3])[-_]?[0-5]\d[-_]?[0-5]\d)(?!\d)"
    r"|(?<![\d.])(1[5-9]\d{8})(?:\.(\d{1,9})|(\d{3}))?(?![\d])"
    rf"|(?<![\d.:+-]){_HALF}{_CLOCK}{_FRACTION}(?![\d:]){_BEHIND})"
)
"""A time, with or without its date."""
_FRACTIONS = (4, 11, 12, 15)
"""The groups of that with digits of a second."""
_NUMBER = re.compile(r"\d+")
_NO_DIGIT = re.compile(r"\D+")
_DAYS = 31
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHORT = 6
"""Figures of a date of which the year has two."""
_OLDEST = timedelta(days=3653)
"""Such a date is no earlier before its file: a count of lines would be."""
_AHEAD = timedelta(days=2)
"""By more than that no line is later than its file: without a year it is of the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A time as it stands in a log.

    Attributes:
        day: Its date; empty if it tells none.
        clock: The time of the day, of 24 hours: `14:02:07`; empty for one in seconds since 1970.
        zone: As ISO 8601 has it; empty for the zone of this machine.
        epoch: Seconds since 1970; empty for others.
        is_of_halves: It stood in halves of twelve hours, as in the United States.
    """

    day: str = ""
    clock: str = ""
    zone: str = ""
    epoch: str = ""
    is_of_halves: bool = False

    def date(self, now: datetime) -> date:
        """Its date, as far as it tells it: what is left open is as near as may be to a time that is known.

        Raises:
            ValueError: There is no such day.
        """
        numbers = [int(each) for each in _NUMBER.findall(self.day)]
        month = next((number for number, name in enumerate(_MONTHS, 1) if name in self.day), 0)
        match numbers:
            case [day] if month:
                return _of_a_year(month, day, now)
            case [_] if len(self.day) == _SHORT:
                return date(2000 + int(self.day[:2]), int(self.day[2:4]), int(self.day[4:]))
            case [packed]:
                return date(packed // 10_000, packed // 100 % 100, packed % 100)
            case [one, other]:
                return date(max(one, other), month, min(one, other)) if month else _of_a_year(one, other, now)
            case [year, number, day] if year > _DAYS:
                return date(year, number, day)
            case [day, number, year] if {".", "-"} & {*self.day} or day > len(_MONTHS):
                return date(year, number, day)
            case [number, day, year] if self.is_of_halves or day > len(_MONTHS):
                return date(year, number, day)
            case [one, other, year]:  # two countries write the same
                return min((date(year, one, other), date(year, other, one)), key=lambda each: abs(each - now.date()))
            case _:
                raise ValueError(self.day)


def without_number(told: Told, now_ns: int) -> Told:
    """What a time says, without six figures before it that are no date, or may be one that has its year last.

    Args:
        told: It.
        now_ns: A time that is known, or 0: of what figures may say, that is it which is nearest to it and not later.
    """
    if len(told.day) != _SHORT or not told.day.isdigit():
        return told
    now = _EPOCH + timedelta(seconds=now_ns // 10**9)
    one, two, three = told.day[:2], told.day[2:4], told.day[4:]
    read = [_day_of(*each) for each in ((one, two, three), (three, two, one), (three, one, two))]
    latest = now.date() + _AHEAD
    nearest = max((day for day in read if day is not None and day <= latest), default=None)
    is_it = nearest is not None and nearest == read[0] and now.date() - nearest <= _OLDEST
    return told if is_it else replace(told, day="")


def _day_of(year: str, month: str, day: str) -> date | None:
    try:
        return date(2000 + int(year), int(month), int(day))
    except ValueError:
        return None


def told_to_the_second(found: re.Match[str]) -> tuple[str, str]:
    """How a time is written without the figures of its fraction, and these."""
    at = next((group for group in _FRACTIONS if found[group]), 0)
    if not at:
        return found[0], ""
    begin, end = found.span(at)
    return f"{found.string[found.start() : begin]} {found.string[end : found.end()]}", found[at]


def told_by(found: re.Match[str]) -> Told:
    """What a time says that was found, without its fraction."""
    day, half, clock, _, behind, zone, year, packed, packed_clock = found.groups()[:9]
    epoch, _, _, own_half, own_clock, _, own_behind = found.groups()[9:]
    if epoch is not None:
        return Told(epoch=epoch)
    if packed is not None:
        digits = _NO_DIGIT.sub("", packed_clock)
        return Told(day=_NO_DIGIT.sub("", packed), clock=f"{digits[:2]}:{digits[2:4]}:{digits[4:]}")
    halves = _HALVES.get(half or own_half or "", "") or (behind or own_behind or "").lower()
    return Told(
        day=f"{day} {year}" if year and not re.search(r"\d{4}", day) else day or "",
        clock=_of_24_hours(clock or own_clock, halves),
        zone=_iso(zone or ""),
        is_of_halves=bool(halves),
    )


def _of_24_hours(clock: str, half: str) -> str:
    """A time of the day that may be told in two halves of twelve hours."""
    hours, minutes, seconds = map(int, _NUMBER.findall(clock))
    if half and hours <= 12:
        hours = hours % 12 + 12 * (half == "p")
    return f"{hours:02}:{minutes:02}:{seconds:02}"


def _iso(zone: str) -> str:
    zone = zone.removeprefix("GMT").removeprefix("UTC") if zone[3:] else zone
    return "Z" if zone in {"GMT", "UTC"} else zone


def _of_a_year(month: int, day: int, now: datetime) -> date:
    """A day without a year: of the last one in which it was."""
    told = date(now.year, month, day)
    return told if told <= (now + _AHEAD).date() else date(now.year - 1, month, day)
