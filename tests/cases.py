"""Cases of parametrized tests: the first ones run every time, the others with `pytest -m exhaustive`. And what must be there."""

from collections.abc import Sequence
from typing import TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

T = TypeVar("T")


def first_of(cases: Sequence[tuple[object, ...]], count: int = 1) -> list[ParameterSet]:
    """Return the cases, each a value per parameter; all but the first `count` are marked as exhaustive."""
    marks = [(), (pytest.mark.exhaustive,)]
    return [pytest.param(*case, marks=marks[number >= count]) for number, case in enumerate(cases)]


def first_values(values: Sequence[object], count: int = 1) -> list[ParameterSet]:
    return first_of([(value,) for value in values], count)


def some(value: T | None) -> T:
    assert value is not None
    return value
