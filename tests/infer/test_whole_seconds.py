"""Times of which only whole seconds are told, as of many logs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.scene import Scene, call
from tests.infer.world import MS, Asked, Frame, ServerTap
from tests.kit.bodies import Answer, Call, Entry, Results, User


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


@pytest.mark.parametrize("begins", [0, 300, 600, 650, 700, 750, 800, 850, 900])
def test_calls_of_other_seconds_have_their_frames_though_all_say_the_same(begins: int) -> None:
    scene = Scene()
    tap = scene.world.server("math")
    scene.world.now = begins * MS
    carried = turns(scene, tap, ["add"] * 3, ["3"] * 3, 5370)
    scene.world.cut(scene.model.id, tap.id)
    assert scene.sent() == {asked: [frame] for asked, frame in carried.items()}


def test_calls_of_one_second_that_say_the_same_stay_open() -> None:
    scene = Scene()
    tap = scene.world.server("math")
    turns(scene, tap, ["add"] * 2, ["3"] * 2, 20)
    scene.world.cut(scene.model.id, tap.id)
    assert not scene.sent()
