"""What the order tells in which alike calls are sent and told: only what a host has shown that it keeps."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.scene import SUM, Scene
from tests.infer.world import MS, Asked, ServerTap
from tests.kit.bodies import Answer, Call, Results, User


def steps(scene: Scene, server: str, tap: ServerTap, *orders: str, at_once: bool = True) -> list[list[Asked]]:
    """A conversation whose answers ask for several calls; gives these.

    Each answer is written as the places of its calls in the order in which they are sent: `210`. `==` are two that are alike.
    """
    entries: list[User | Answer | Results] = [User(f"with {server}")]
    asked: list[list[Asked]] = []
    for step, order in enumerate(orders):
        are_alike = "=" in order
        sending = range(len(order)) if are_alike else map(int, order)
        arguments = [SUM if are_alike else {"step": step, "number": number} for number in range(len(order))]
        calls = [Call(f"{server}{step}.{number}", f"{server}__add", each) for number, each in enumerate(arguments)]
        asked.append(scene.again(entries, *calls))
        waiting: list[int] = []
        for number in sending:
            scene.world.now += MS
            waiting.append(tap.call("add", arguments[number])[0])
            if not at_once:
                scene.world.now += 50 * MS
                tap.result(waiting.pop(), "done")
        for identity in waiting:
            scene.world.now += MS
            tap.result(identity, "done")
        entries += [Answer("", calls), Results([(each, "done") for each in calls])]
    scene.again(entries)
    return asked


IN_ORDER = ("012",) * 4
"""What a host that does not care for the order sends once in more than a thousand times."""


@pytest.mark.parametrize(
    ("shown", "is_joined"),
    [
        ((), False),
        (IN_ORDER[1:], False),
        (IN_ORDER, True),
        ((*IN_ORDER, "102"), False),
        (("210",) * 4, False),
    ],
)
def test_of_alike_calls_the_order_tells_which_is_which_only_where_a_host_has_shown_that_it_keeps_it(
    shown: Sequence[str], *, is_joined: bool
) -> None:
    scene = Scene()
    *_, twins = steps(scene, "math", scene.server("math", "add"), *shown, "==")
    assert [call in scene.sent() for call in twins] == [is_joined] * 2
