"""Calls whose frames follow each other the other way round: found without a look at each pair of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.steps import steps
from tui_host.infer.call_values import Asked, Sent
from tui_host.infer.matching.candidates import Candidate
from tui_host.infer.matching.courses import crossing


def found(order: Sequence[int]) -> tuple[list[int], int]:
    """Of calls that follow each other, with the places of their frames, those that are crossed; and how many functions that took."""
    calls = [_call(number) for number in range(len(order))]
    joined = {str(number): (_frame(place),) for number, place in enumerate(order)}
    keys: list[str] = []
    taken = steps(lambda: keys.extend(crossing(calls, joined)))
    return sorted(map(int, keys)), taken


def _call(number: int) -> Candidate:
    asked = Asked(
        key=str(number),
        capture="model",
        exchange=str(number),
        number=0,
        wire_id="",
        name="add",
        arguments="{}",
        at_ns=10 * number,
        spans=(),
    )
    talk = ("model", "0")
    return Candidate(asked=asked, arguments="{}", tools=frozenset(), talk=talk, until_ns=10 * number + 9)


def _frame(place: int) -> Sent:
    return Sent(
        capture="server", seq=place, connection="c1", server="math", tool="add", arguments="{}", at_ns=10 * place
    )


@pytest.mark.parametrize(
    ("order", "crossed"),
    [
        ([0, 1, 2, 3], []),
        ([9, 1, 2, 3], [0]),
        ([0, 1, 2, -9], [3]),
        ([0, 2, 1, 3], [1, 2]),
        ([0, 9, 2, 3, 1], [1, 4]),
    ],
)
def test_those_that_contradict_most_others_are_crossed(order: Sequence[int], crossed: Sequence[int]) -> None:
    assert found(order)[0] == crossed


def test_of_ten_times_the_calls_one_that_contradicts_all_takes_hardly_more_than_ten_times_as_long() -> None:
    one, few = found([10_000, *range(1, 100)])
    other, many = found([10_000, *range(1, 1000)])
    assert one == other == [0]
    assert many < 20 * few
