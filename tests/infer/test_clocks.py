"""By how much a tap's clock is off, as far as what happened on both sides tells."""

from __future__ import annotations

import pytest

from tests.infer.scene import Scene, call
from tests.infer.world import MS


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
