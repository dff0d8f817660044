"""Times of which only whole seconds are told, as of many logs: what was sent may seem to be sent before it was asked for, or too late."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.doubt import undecidable
from tests.infer.forms import Answer, Call, Entry, Results, User
from tests.infer.plays import play
from tests.infer.scene import Scene, call
from tests.infer.world import MS, Asked, Frame, ServerTap, found_in
from tui_host.infer.clock_offsets import SECOND_NS, Cuts, Shift

SIDES = ["model", "server", "both"]


def turns(scene: Scene, tap: ServerTap, tools: Sequence[str], texts: Sequence[str], pause: int) -> dict[Asked, Frame]:
    """A conversation in which each turn has one call; gives which frame carries which."""
    entries: list[Entry] = []
    carried: dict[Asked, Frame] = {}
    for number, (tool, text) in enumerate(zip(tools, texts, strict=True)):
        one = call(f"{tap.name}__{tool}", f"c{number}")
        entries.append(User(f"the sum, number {number}"))
        (asked,) = scene.again(entries, one)
        carried[asked] = scene.runs(tap, tool, text)
        entries += [Answer("", [one]), Results([(one, text)])]
        scene.again(entries, text="So it is.")
        entries.append(Answer("So it is.", list[Call]()))
        scene.world.now += pause * MS
    return carried


def cut(scene: Scene, side: str, *taps: ServerTap) -> None:
    captures = {"model": [scene.model.id], "server": [tap.id for tap in taps]}
    scene.world.cut(*(identity for one in ("model", "server") if side in (one, "both") for identity in captures[one]))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("begins", [0, 300, 600, 650, 700, 750, 800, 850, 900])
def test_calls_of_other_seconds_have_their_frames_though_all_say_the_same(side: str, begins: int) -> None:
    scene = Scene()
    tap = scene.world.server("math")
    scene.world.now = begins * MS
    carried = turns(scene, tap, ["add"] * 3, ["3"] * 3, 5370)
    cut(scene, side, tap)
    assert scene.sent() == {asked: [frame] for asked, frame in carried.items()}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("tools", "texts"), [(("add", "multiply"), ("3", "3")), (("add", "add"), ("three and some more", "something else"))]
)
def test_calls_of_one_second_that_say_other_things_have_their_frames(
    side: str, tools: Sequence[str], texts: Sequence[str]
) -> None:
    scene = Scene()
    tap = scene.world.server("math")
    carried = turns(scene, tap, tools, texts, 20)
    cut(scene, side, tap)
    assert scene.sent() == {asked: [frame] for asked, frame in carried.items()}


def test_calls_of_one_second_that_say_the_same_stay_open() -> None:
    scene = Scene()
    tap = scene.world.server("math")
    turns(scene, tap, ["add"] * 2, ["3"] * 2, 20)
    cut(scene, "both", tap)
    assert not scene.sent()


def test_one_clock_that_is_cut_makes_no_other_inexact() -> None:
    scene = Scene()
    math, other = scene.world.server("math"), scene.world.server("other")
    before = turns(scene, other, ["next"] * 2, ["3"] * 2, 20)
    carried = turns(scene, math, ["add"], ["3"], 20)
    cut(scene, "server", math)
    assert scene.sent() == {asked: [frame] for asked, frame in {**before, **carried}.items()}


@pytest.mark.parametrize(
    ("told", "is_cut"), [([], False), ([3], False), ([3, 3], True), ([3, 4, 5], True), ([3, 4, 4.5, 5], False)]
)
def test_a_clock_is_cut_if_it_tells_whole_seconds_alone_and_not_once(told: Sequence[float], *, is_cut: bool) -> None:
    cuts = Cuts()
    for seconds in told:
        cuts.add("one", int(seconds * SECOND_NS))
    assert (cuts.of("one"), cuts.of("other")) == (SECOND_NS if is_cut else 0, 0)


def test_what_is_cut_is_told_too_soon_and_never_too_late() -> None:
    exact = Shift()
    assert exact.blurred(0, 0) is exact
    model, server = exact.blurred(SECOND_NS, 0), exact.blurred(0, SECOND_NS)
    assert (model.low_ns, model.high_ns) == (exact.low_ns - SECOND_NS, exact.high_ns)
    assert (server.low_ns, server.high_ns) == (exact.low_ns, exact.high_ns + SECOND_NS)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("seed", "name"), [(0, "openai"), (1, "anthropic")])
def test_no_frame_is_a_call_s_that_it_does_not_carry(side: str, seed: int, name: str) -> None:
    world = play(seed, name)
    captures = {record.capture for _, record in world.records}
    world.cut(*(each for each in captures if side == "both" or each.startswith("llm" if side == "model" else "mcp")))
    found = {pair for pair in found_in(world.story()) if pair[0] == "sent"}
    assert found <= world.truth
    assert len(found) > 0.8 * sum(pair[0] == "sent" for pair in world.truth - undecidable(world))
