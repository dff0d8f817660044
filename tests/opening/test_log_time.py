"""The times that logs tell: ISO 8601, the forms of loggers, seconds and milliseconds; what is in no such form tells no time."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tests.opening.captured import ASK, CHAT, NOW_NS, PIECE, TELL, WHOLE, seen
from tui_host.capture.json.narrowing import mapping
from tui_host.opening.import_types import File
from tui_host.opening.logs.log_time import LogClock
from tui_host.opening.recognition import read

CHANGED = datetime(2026, 11, 23, 12, tzinfo=UTC)
LOCAL = datetime(2026, 11, 20, 14, 2, 7).astimezone()
NOON_NS = int(datetime(2026, 11, 22, 12).astimezone().timestamp()) * 10**9
SECOND_NS = 10**9
FRAME = json.dumps(ASK)


def told_in(words: str) -> int | None:
    """The time that words tell; None if they tell none."""
    at = LogClock(0, changed_ns=int(CHANGED.timestamp()) * SECOND_NS).at(words)
    return at.ns if at.is_told else None


def times(changed_ns: int, *texts: str) -> list[float]:
    """The seconds after the noon of a day of all that is read, in order."""
    files = [File(name="a.log", data=text.encode(), time_ns=changed_ns) for text in texts]
    return [(each.at.ns - NOON_NS) / 1e9 for each in read(files).drafts if each.at.is_told]


@pytest.mark.parametrize(
    "words",
    [
        "2026-11-20 14:02:07 INFO",
        "2026-11-20T14:02:07",
        "2026-11-20 14:02:07 1234 of line 5",
        "[2026/11/20 14:02:07]",
        "2026.11.20 14:02:07",
        "2026-11-20_14:02:07",
        "[GIN] 2026/11/20 - 14:02:07 | 200 |",
        "Nov 20 14:02:07 host proxy[7]:",
        "20 Nov 2026 14:02:07 >>>",
    ],
)
def test_a_time_with_its_date_is_read(words: str) -> None:
    assert told_in(words) == int(LOCAL.timestamp()) * SECOND_NS


@pytest.mark.parametrize(
    "words",
    [
        "2026-11-20T14:02:07Z",
        "2026-11-20 14:02:07 UTC",
        "2026-11-20 22:02:07 +0800",
        "2026-11-20T22:02:07.000+08:00",
        "Fri, 20 Nov 2026 14:02:07 GMT",
        "[20/Nov/2026:22:02:07 +0800] POST",
        '{"time": 1795183327}',
        "1795183327000 >>>",
        "1795183327.000000 >>>",
        "1795183327000000000 >>>",
    ],
)
def test_a_time_with_its_zone_is_of_that_zone(words: str) -> None:
    assert told_in(words) == int(LOCAL.replace(tzinfo=UTC).timestamp()) * SECOND_NS


@pytest.mark.parametrize(
    "words",
    [
        "",
        "took 1:02:03:04",
        "id 20261399140207",
        "version 2.11.2026",
        "2026-13-45 14:02:07",
        "20.11.2026 14:02:07",
        "11/20/2026, 2:02:07 PM",
        "2:02:07 PM",
        "下午2:02:07",
        "2026年11月20日 14:02:07",
    ],
)
def test_words_in_another_form_tell_no_time(words: str) -> None:
    assert told_in(words) is None


@pytest.mark.parametrize(("words", "year"), [("Dec 31 23:59:59", 2025), ("Nov 24 01:00:00", 2026)])
def test_a_date_without_a_year_is_of_the_last_one_in_which_it_was(words: str, year: int) -> None:
    told_ns = told_in(words)
    assert told_ns is not None
    assert datetime.fromtimestamp(told_ns / 1e9).astimezone().year == year


def test_times_without_a_date_are_of_the_day_on_which_the_file_was_last_changed_or_of_the_day_before() -> None:
    assert times(NOON_NS + SECOND_NS, f"8:00:00,5 > {FRAME}\n7:59:59.9 late {FRAME}\n[12:00:01.25] {FRAME}") == [
        -4 * 3600 + 0.5,
        -4 * 3600 + 0.5,
        1.25,
    ]
    assert times(NOON_NS, f"23:59:59 {FRAME}\n00:00:01 {FRAME}") == [-12 * 3600 - 1, -12 * 3600 + 1]


def test_two_logs_are_joined_by_their_times_whatever_their_zones() -> None:
    server = f"[2025-12-01 10:00:01.5Z] {json.dumps(ASK)}\n[2025-12-01T11:00:01.700+01:00] {json.dumps(TELL)}\n"
    model = f"2025-12-01T10:00:01Z {json.dumps(CHAT)}\n2025-12-01 10:00:02Z data: {json.dumps(PIECE)}\n"
    found = seen(server, model)
    assert [each.draft.wire for each in found] == ["llm", "mcp", "mcp", "llm", "llm", "llm"]
    assert [each.at.ns - found[0].at.ns for each in found[:3]] == [0, 500_000_000, 700_000_000]
    assert found[1].draft.peer == "math"


def test_a_log_begins_with_its_first_time_and_each_part_of_an_exchange_has_its_own() -> None:
    value = {"logged": 1750000009, "request": {"timestamp": 1750000001, "body": CHAT}}
    found = seen(
        f"up\n{json.dumps(ASK)}\n{json.dumps({**value, 'response': {'timestamp': 1750000002.5, 'body': WHOLE}})}"
    )
    assert [(each.at.ns / 1e9 - 1750000000, each.at.is_told) for each in found[:3]] == [
        (1, False),
        (1, True),
        (2.5, True),
    ]


def test_a_time_is_of_the_line_that_tells_it_or_of_the_next_and_of_no_other() -> None:
    stamp = "2025-12-01 10:00:0"
    lines = (
        f"--- {stamp}0Z ---",
        json.dumps(CHAT),
        f"{stamp}1Z data: {json.dumps(PIECE)}",
        f"{stamp}2Z data: {json.dumps(PIECE)}",
        f"data: {json.dumps(PIECE)}",
    )
    found = seen("\n".join(lines))
    assert [each.at.is_told for each in found] == [True] * 5
    assert [each.at.ns // SECOND_NS % 10 for each in found] == [0, 1, 1, 2, 2]
    assert found[3].draft.data.count(b"data:") == 2  # a piece without a time of its own came with the one before


def test_a_time_within_what_was_on_the_wire_is_not_the_log_s() -> None:
    piece = json.dumps({**mapping(PIECE), "created": NOON_NS // SECOND_NS - 1000})
    found = seen(f"{json.dumps(CHAT)}\ndata: {piece}\n", json.dumps(ASK))
    assert {each.at for each in found} == {(NOW_NS, False)}


def test_a_time_after_the_last_change_of_a_file_is_of_something_that_a_line_speaks_of() -> None:
    lines = (
        f"2026-11-01 10:00:00 -> {json.dumps(ASK)}",
        "[stderr] the token expires 2027-06-01 00:00:00",
        f"2026-11-01 10:00:02 <- {json.dumps(TELL)}",
    )
    found = seen("\n".join(lines))
    assert [each.draft.wire for each in found] == ["mcp", "stderr", "mcp"]
    assert found[2].at.ns - found[0].at.ns == 2 * SECOND_NS
