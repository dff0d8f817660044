"""Times as programs write them: with the date first or last, in Chinese, in halves of a day, without a year."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tui_host.opening.log_clock import Clock

CHANGED = datetime(2026, 11, 23, 12, tzinfo=UTC)
LOCAL = datetime(2026, 11, 20, 14, 2, 7).astimezone()


def told_in(words: str) -> Clock | None:
    """A clock that has heard these words; None if they tell no time."""
    clock = Clock(0, changed_ns=int(CHANGED.timestamp()) * 10**9)
    return clock if clock.at(words).is_told else None


@pytest.mark.parametrize(
    "words",
    [
        "2026-11-20 14:02:07 INFO",
        "2026-11-20 14:02:07 1234 of line 5",
        "[2026/11/20 下午2:02:07] 请求",
        "2026/11/20 14:02:07.",
        "2026-11-20 星期五 14:02:07",
        "2026-11-20,周五,14:02:07",
        "2026年11月20日14:02:07",
        "2026年11月20日 14:02:07",
        "2026年11月20日 星期五 下午 2:02:07",
        "2026年11月20日 14时02分07秒 收到",
        "11月20日 14:02:07",
        "11-20 14:02:07 | INFO",
        "Nov 20 14:02:07 host proxy[7]:",
        "20.11.2026 14:02:07",
        "20-11-2026 14:02:07",
        "2026.11.20 14:02:07",
        "20261120 14:02:07",
        "20261120140207 >>>",
        "261120 14:02:07 >>>",
        "[261120 14:02:07.0] >>>",
        "2026-11-20_14-02-07",
        "Fri Nov 20 14:02:07 2026 >>>",
        "11/20/2026, 2:02:07 PM",
        "20/11/2026, 14:02:07",
        "[GIN] 2026/11/20 - 14:02:07 | 200 |",
    ],
)
def test_a_time_with_its_date_is_read_however_it_is_written(words: str) -> None:
    clock = told_in(words)
    assert clock is not None
    assert clock.is_dated
    assert clock.now_ns == int(LOCAL.timestamp()) * 10**9


@pytest.mark.parametrize(
    "words",
    [
        "2026-11-20T14:02:07Z",
        "2026-11-20 14:02:07 UTC",
        "2026-11-20 22:02:07 +0800",
        "Fri, 20 Nov 2026 14:02:07 GMT",
        "Fri Nov 20 2026 22:02:07 GMT+0800 (China Standard Time)",
        "[20/Nov/2026:22:02:07 +0800] POST",
    ],
)
def test_a_time_with_its_zone_is_of_that(words: str) -> None:
    clock = told_in(words)
    assert clock is not None
    assert clock.now_ns == int(LOCAL.replace(tzinfo=UTC).timestamp()) * 10**9


@pytest.mark.parametrize(
    ("words", "time"),
    [
        ("14时02分07秒", "14:02:07"),
        ("下午2:02:07", "14:02:07"),
        ("上午12:02:07", "00:02:07"),
        ("凌晨1：02：07", "01:02:07"),
        ("中午12:30:00", "12:30:00"),
        ("下午14:02:07", "14:02:07"),
        ("2:02:07 PM", "14:02:07"),
    ],
)
def test_a_time_without_a_date_is_one_of_the_day(words: str, time: str) -> None:
    clock = told_in(words)
    assert clock is not None
    assert not clock.is_dated
    assert f"{datetime.fromtimestamp(clock.now_ns / 10**9).astimezone():%H:%M:%S}" == time


@pytest.mark.parametrize(
    "words",
    [
        "",
        "took 1:02:03:04",
        "id 20261399140207",
        "version 2.11.2026",
        "2026-13-45 14:02:07",
        "31.31.2026 14:02:07",
        "12月",
    ],
)
def test_what_only_looks_like_a_time_is_none(words: str) -> None:
    assert told_in(words) is None


@pytest.mark.parametrize(
    ("words", "year"), [("12-31 23:59:59", 2025), ("Nov 24 01:00:00", 2026), ("1月2日 03:04:05", 2026)]
)
def test_a_date_without_a_year_is_of_the_last_one_in_which_it_was(words: str, year: int) -> None:
    clock = told_in(words)
    assert clock is not None
    assert datetime.fromtimestamp(clock.now_ns / 10**9).astimezone().year == year


@pytest.mark.parametrize(
    "words",
    [
        "201126 14:02:07",  # may as well be of November 2026, with its day first
        "112026 14:02:07",
        "000112 14:02:07",  # a number of a line
        "271120 14:02:07",
        "261332 14:02:07",
        "job 261120 14:02:07",
        "1261120 14:02:07",
        "261120: 14:02:07",
    ],
)
def test_six_figures_are_no_date_where_they_may_be_another_or_a_number(words: str) -> None:
    clock = Clock(int(LOCAL.timestamp()) * 10**9, changed_ns=int(CHANGED.timestamp()) * 10**9)
    at = clock.at(words)
    assert not clock.is_dated
    assert (at.ns, at.is_told) == (int(LOCAL.timestamp()) * 10**9, True)


def test_times_of_one_second_are_told_apart_by_its_fraction_and_come_again_on_other_days() -> None:
    day_ns, second_ns = 86_400 * 10**9, int(LOCAL.timestamp()) * 10**9
    clock = Clock(second_ns, changed_ns=int(CHANGED.timestamp()) * 10**9)
    times = ["14:02:07,250", "14:02:07,5", "14:02:07", "14:02:07.75 a", "2:02:07 AM", "14:02:07,250"]
    found = [clock.at(each).ns - second_ns for each in times]
    assert found == [25 * 10**7, 5 * 10**8, 5 * 10**8, 75 * 10**7, day_ns // 2, day_ns + 25 * 10**7]
