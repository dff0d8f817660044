"""Which word names the exchanges of two files, of which one has the requests and the other their answers.

It has another value beside each request, and what stands beside one of these in the other file is one answer. An id of many figures or
letters that stands in both files says enough by that. What may as well be a count says it only where it has all answers, and these came
in another order than they were asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tui_host.errors import JSON
from tui_host.opening.logs.forms import Forms
from tui_host.opening.logs.marks import PROVING, Heard, marks_in
from tui_host.opening.quote import Around
from tui_host.opening.time_formats import TIME

_KEY = ""
"""So is written what is called an id."""
_HEX = re.compile(r"(?=.*\d)(?=.*[A-Fa-f])[0-9A-Fa-f-]{6,}")
_FIGURES = re.compile(r"\d+")
_LONG, _RUNS = 10, 3
"""Figures, or runs of them between letters, that no count of lines has."""
_NO_NAME = re.compile(r"[\d.,]*[.,][\d.,]*|\d{2,4}[-/.年]\d{1,2}[-/.月]\d{1,2}日?(?:[T _]\d{1,2}:\d\d)?|20\d{6}")
"""A number with a fraction, and a date: who answers on a day was not asked on it for sure."""
VALUES_MOST = 1 << 17


@dataclass(frozen=True, slots=True)
class Names:
    """What names the exchanges.

    Attributes:
        mark: How the word is written; empty for what is called an id.
        values: What it is beside the requests.
    """

    mark: str
    values: frozenset[str]


class _Form:
    """What was heard of one way to write such a word."""

    def __init__(self) -> None:
        self.values: dict[str, Heard] = {}
        self._strange: set[str] = set()
        self._last = -1
        self._proved = 0
        self._do_recur = False

    @property
    def count(self) -> int:
        """How many answers it tells apart."""
        return sum(each.is_answered for each in self.values.values())

    def is_sure(self, *, is_key: bool) -> bool:
        """Whether it surely names the exchanges."""
        if len(self.values) < 2:
            return False  # what is the same beside all may be anything's
        if 2 * sum(map(_is_one_of_many, self.values)) > len(self.values):
            return len(self._strange) <= self.count
        return not self._strange and (is_key or (self._do_recur and self._proved >= PROVING))

    def asks(self, value: str, body: int) -> bool:
        """A request with it; says whether that may be."""
        known = self.values.setdefault(value, Heard(len(self.values), body))
        return known.body == body and len(self.values) <= VALUES_MOST

    def says(self, value: str, events: Sequence[JSON]) -> bool:
        """Events of an answer, or all of it; says whether that may be."""
        known = self.values.get(value)
        if known is None:
            self._strange.add(value)
            return len(self._strange) <= VALUES_MOST
        was_over, known.weight = known.is_over, min(known.weight + 1, 2)
        self._do_recur |= known.number < self._last
        self._last = known.number
        is_one = all(known.takes(event) for event in events)
        self._proved += known.weight if known.is_over and not was_over else 0
        return is_one


class Naming(Forms[_Form]):
    """Learns it: all requests are heard first, then all answers."""

    def __init__(self) -> None:
        super().__init__(_Form, _marks_in)

    @property
    def names(self) -> Names | None:
        """What tells most of them apart; None if nothing surely does."""
        sure = {form: each for form, each in self.left.items() if each.is_sure(is_key=form == _KEY)}
        best = max(sure, key=lambda form: sure[form].count, default=_KEY)
        return Names(best, frozenset(sure[best].values)) if best in sure and sure[best].count else None


def _marks_in(found: Around) -> dict[str, str]:
    """What may name the exchange, an id among it."""
    return ({_KEY: found.key} if found.key else {}) | marks_in(found)


def _is_one_of_many(value: str) -> bool:
    """Whether it is no count, but one of so many that it stands in two files for one thing alone; times are no names."""
    if TIME.search(value) or _NO_NAME.fullmatch(value):
        return False
    runs = _FIGURES.findall(value)
    return _HEX.fullmatch(value) is not None or len(runs) >= _RUNS or sum(map(len, runs)) >= _LONG
