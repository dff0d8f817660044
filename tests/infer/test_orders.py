"""What the order tells in which alike calls are sent and told: only what a host has shown that it keeps."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.infer.forms import FORMS, Answer, Call, Results, User
from tests.infer.scene import SUM, Scene
from tests.infer.world import MS, Asked, ModelTap, ServerTap, World, found_in

OLLAMA = FORMS["ollama"]
"""Here no ids tell what belongs to which."""


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


def asked_alike(count: int) -> tuple[World, ModelTap, ServerTap, Answer]:
    """A model that was asked, a server, and an answer of so many calls that are alike, without ids."""
    world = World()
    model, math = world.model(), world.server("math")
    math.start(["add"])
    asks = Answer("", [Call("", "math__add", SUM)] * count)
    list(model.answer(OLLAMA, model.ask(OLLAMA, [User("sum")]), asks))
    return world, model, math, asks


@pytest.mark.parametrize(
    ("brought", "told", "is_joined"),
    [
        (("3", "4", None), ("4", "Request timed out", "3"), True),  # neither as they were sent nor as they came
        (("3", "4", None), ("3", "4", "Request timed out"), False),  # as they were sent
    ],
)
def test_alike_calls_whose_results_have_no_ids_are_told_apart_where_no_order_but_theirs_fits(
    brought: Sequence[str | None], told: Sequence[str], *, is_joined: bool
) -> None:
    world, model, math, asks = asked_alike(3)
    frames: list[tuple[str, object]] = []
    for text in brought:
        world.now += 50 * MS
        identity, seq = math.call("add", SUM)
        frames.append((math.id, seq))
        world.now += 50 * MS
        if text is None:
            math.frame("out", {"method": "notifications/cancelled", "params": {"requestId": identity}})
        else:
            math.result(identity, text)
    world.now += 50 * MS
    second = model.ask(OLLAMA, [User("sum"), asks, Results(list(zip(asks.calls, told, strict=True)))])
    calls = [(model.id, "1", number) for number in range(3)]
    wanted: set[tuple[str, Asked, tuple[str, object]]] = {("told", call, (model.id, second)) for call in calls}
    wanted |= {("sent", call, frames[place]) for call, place in zip(calls, (1, 2, 0), strict=True)}
    assert found_in(world.story()) == (wanted if is_joined else set())


def test_results_without_ids_of_calls_that_no_tap_saw_are_joined_to_none_by_their_order_alone() -> None:
    world, ollama = World(), FORMS["ollama"]
    model = world.model()
    asks = Answer("", [Call("", "web__search", {"q": word}) for word in ("one", "two")])
    list(model.answer(ollama, model.ask(ollama, [User("search")]), asks))
    world.now += 50 * MS
    model.ask(
        ollama, [User("search"), asks, Results([(call, text) for call, text in zip(asks.calls, "ab", strict=True)])]
    )
    assert found_in(world.story()) == set()
