"""A conversation of the corpus on its way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.infer.world import Asked
from tests.kit.bodies import SYSTEM, Answer, Entry, Results, User


@dataclass
class Running:
    """A call on its way: its place in the answer, what is told of it, and the order in which results came."""

    place: int
    told: str | None = None
    came: int = 0


@dataclass
class Talk:
    """A conversation on its way.

    `number` tells it from others in all that is said; the same in conversations that begin alike. `task` is what an agent below another is to
    do; `told` are results that the next request tells first, `results` all that were told, each with the calls of which they are.
    """

    name: int
    number: int
    chance: random.Random
    entries: list[Entry] = field(default_factory=list[Entry])
    task: str = ""
    told: list[tuple[Asked, str]] = field(default_factory=list[tuple[Asked, str]])
    results: list[tuple[Results, list[tuple[Asked, str]]]] = field(
        default_factory=list[tuple[Results, list[tuple[Asked, str]]]]
    )
    answered: list[tuple[Answer, tuple[str, str]]] = field(default_factory=list[tuple[Answer, tuple[str, str]]])

    @property
    def system(self) -> str:
        """Its system prompt."""
        return f"You are an agent below another: {self.number}." if self.task else SYSTEM

    def held(self) -> Iterator[tuple[Asked, str, frozenset[tuple[str, str]]]]:
        """The results that the next request holds, each with the exchanges of the answers behind it."""
        behind = frozenset[tuple[str, str]]()
        for entry in reversed(self.entries):
            for results, told in self.results:
                if results is entry:
                    yield from ((call, text, behind) for call, text in told)
            behind = behind.union(exchange for answer, exchange in self.answered if answer is entry)

    def said(self) -> str:
        """All that was said, without ids."""
        return repr([_without_ids(entry) for entry in self.entries])


def _without_ids(entry: Entry) -> object:
    match entry:
        case User():
            return entry.text
        case Answer():
            return entry.text, [(call.name, call.text) for call in entry.calls]
        case Results():
            return [(call.name, text) for call, text in entry.told]
