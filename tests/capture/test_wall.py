"""The one clock of several captures."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tui_host.capture.record import Draft, Record
from tui_host.capture.wall_clock import WallClock

NOON = 1_760_000_000_000_000_000


@pytest.mark.parametrize(
    ("stamps", "times"),
    [
        ([("a", NOON, 5), ("a", NOON + 100, 70)], [NOON, NOON + 65]),
        ([("a", NOON, 5), ("a", NOON - 9_000_000_000, 70)], [NOON, NOON + 65]),  # the wall clock was set meanwhile
        ([("a", NOON, 5), ("b", NOON + 2000, 900)], [NOON, NOON + 2000]),
        ([("a", NOON + 1999, 5)], [NOON + 1000]),  # lines have microseconds
        ([("a", NOON, None), ("a", NOON + 1000, 5), ("a", NOON + 70, None)], [NOON, NOON + 1000, NOON + 70]),
    ],
)
def test_a_captures_own_clock_counts_from_where_the_wall_clock_stood_when_it_began(
    stamps: Sequence[tuple[str, int, int | None]], times: Sequence[int]
) -> None:
    clock, draft = WallClock(), Draft(wire="mcp", kind="frame")
    records = [
        Record(capture=capture, seq=number, time_ns=time_ns, mono_ns=mono_ns, draft=draft)
        for number, (capture, time_ns, mono_ns) in enumerate(stamps, 1)
    ]
    assert [clock.at_ns(record) for record in records] == times
    told = [None if mono_ns is None else time for (_, _, mono_ns), time in zip(stamps, times, strict=True)]
    assert [clock.on_it(record).mono_ns for record in records] == told
