"""By how much a tap's clock is off, as far as what happened on both sides tells."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.scene import Scene, call
from tests.infer.world import MS
from tui_host.infer.clock_offsets import SURE_NS, Fit, Shift, doubted, is_likely, shift_of

LOOSE = (-3000, 5000)
OFF = Shift(700 * MS, SURE_NS)


@pytest.mark.parametrize(
    ("bounds", "usual", "low", "high"),
    [
        ([LOOSE] * 9, Shift(), -20, 20),
        ([*[LOOSE] * 40, *[(333, 720)] * 3], Shift(), 333, 720),  # few tell, and all agree
        ([*[LOOSE] * 40, (333, 720)], Shift(), -20, 20),  # one may be mistaken
        ([*[LOOSE] * 40, *[(333, 720)] * 2], Shift(), -20, 720),  # it may be so, or not
        ([(333, 720)], Shift(), -20, 720),  # so it is where nothing says otherwise
        ([LOOSE] * 3, OFF, 680, 720),
        ([(-3000, 300)] * 3, OFF, -3000, 300),
        ([*[(690, 710)] * 2, *[(-50, -40)] * 2], OFF, -1300, 2700),  # they do not agree
    ],
)
def test_a_clock_is_off_by_what_most_agree_with_and_else_as_is_usual(
    bounds: Sequence[tuple[int, int]], usual: Shift, low: int, high: int
) -> None:
    shift = shift_of([(one * MS, other * MS) for one, other in bounds], usual)
    assert (shift.ns - shift.within_ns, shift.ns + shift.within_ns) == (low * MS, high * MS)


@pytest.mark.parametrize(
    ("fits", "low", "high"),
    [
        ([(0, 0, -5, 5), (1, 1, -5, 5)], -20, 20),
        ([(0, 0, -5, 5), (1, 1, -5, 5), (1, 2, 700, 710), (2, 1, 700, 710)], -20, 20),  # no more would fit than do
        ([(0, 1, -5, 5), *((frame, frame, 700, 710) for frame in range(3))], -20, 710),  # one does by chance
        ([(0, 0, 600, 710), (1, 1, 700, 790)], -20, 790),  # none does
        ([(frame, call, 700, 710) for frame in (0, 1) for call in (0, 0)], -20, 710),
        ([(0, 0, -5, 5), (1, 1, 710, 700), (2, 2, 710, 700)], -20, 20),  # what took too long fits nowhere
        ([], -20, 20),
    ],
)
def test_a_clock_is_doubtful_where_more_would_fit_if_it_were_off(
    fits: Sequence[tuple[int, int, int, int]], low: int, high: int
) -> None:
    shift = doubted(Shift(), [Fit(frame, call, one * MS, other * MS) for frame, call, one, other in fits])
    assert (shift.low_ns, shift.high_ns) == (low * MS, high * MS)


@pytest.mark.parametrize("later", [12 * MS, 40_000 * MS])
def test_taps_of_one_machine_have_one_clock_whatever_would_fit(later: int) -> None:
    scene = Scene()
    tap = scene.server("srv", "tick")
    scene.runs(tap, "tick", "tick 1")
    scene.world.now += later
    scene.asks("what does it say?", call("tick"))
    scene.goes_on("what does it say?", [call("tick")], [(call("tick"), "tick 1")])  # the host has kept that
    assert not scene.sent()


HOUR = 3_600_000


@pytest.mark.parametrize(
    ("low", "high", "is_so"),
    [
        (-20, 20, True),
        (25_000, 26_000, True),
        (HOUR - 59_000, HOUR - 58_000, True),
        (-11 * HOUR // 2, -11 * HOUR // 2 + 40, True),  # as in Kolkata
        (180_000, 181_000, False),
        (61_000, 800_000, False),
        (-900_000 * 57 - 1, -900_000 * 57, False),
        (240 * HOUR, 240 * HOUR + 40, False),
        (-240 * HOUR, 240 * HOUR, True),
    ],
)
def test_a_clock_is_wrong_by_little_or_of_another_zone(low: int, high: int, *, is_so: bool) -> None:
    assert is_likely(Shift((low + high) * MS // 2, (high - low) * MS // 2)) == is_so


@pytest.mark.parametrize(("off", "is_joined"), [(0, True), (HOUR, True), (180_000, False), (240 * HOUR, False)])
def test_what_another_run_of_the_same_brought_is_not_joined(off: int, *, is_joined: bool) -> None:
    scene = Scene()
    tap = scene.world.server("srv", boot=1 << 40, off=off * MS)
    tap.start(["tick"])
    for number in range(4):
        scene.asks(f"what is {number}?", call("tick"))
        scene.runs(tap, "tick", f"tick {number}")
        scene.goes_on(f"what is {number}?", [call("tick")], [(call("tick"), f"tick {number}")])
        scene.world.now += 5000 * MS
    assert len(scene.sent()) == (4 if is_joined else 0)
