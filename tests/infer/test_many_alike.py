"""Many calls of one answer that ask for the same: however many a model likes to make, they must not hold up who looks on."""

from __future__ import annotations

import pytest

from tests.infer.forms import FORMS, Answer, Call, Results, User
from tests.infer.world import MS, Pair, World, found_in
from tests.steps import steps

FEW, MANY = 12, 48


def found(form: str, size: int) -> tuple[set[Pair], int]:
    """The links of an answer of so many calls, and how many functions it takes to find them."""
    world = World()
    model, math = world.model(), world.server("math")
    math.start(["add"])
    calls = [Call(f"c{number}", "math__add", {"a": 1}) for number in range(size)]
    answer, results = Answer("", calls), list[tuple[Call, str]]()
    world.run(model.answer(FORMS[form], model.ask(FORMS[form], [User("sums")]), answer))
    for call in calls:
        world.now += 5 * MS
        identity, _ = math.call("add", call.arguments)
        world.now += 5 * MS
        text = f"what came back for {call.id} in {form}"
        math.result(identity, text)
        results.append((call, text))
    world.now += 50 * MS
    model.ask(FORMS[form], [User("sums"), answer, Results(results)])
    story, links = world.story(), set[Pair]()
    taken = steps(lambda: links.update(found_in(story)))
    return links, taken


@pytest.mark.exhaustive
@pytest.mark.parametrize(("form", "per_call"), [("hermes", 0), ("ollama", 0), ("cherry", 0), ("openai", 2)])
def test_of_four_times_the_alike_calls_each_is_held_against_each_frame_and_against_nothing_else(
    form: str, per_call: int
) -> None:
    _, few = found(form, FEW)
    links, many = found(form, MANY)
    assert len(links) == per_call * MANY
    assert many < 1.5 * (MANY // FEW) ** 2 * few
