"""A conversation of the corpus on its way."""

from __future__ import annotations

import random
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
    """A conversation on its way; one with the `number` of another begins as that does.

    `task` is what an agent below another is to do; `told` are results that the next request tells first.
    """

    name: int
    number: int
    chance: random.Random
    entries: list[Entry] = field(default_factory=list[Entry])
    task: str = ""
    told: list[tuple[Asked, str]] = field(default_factory=list[tuple[Asked, str]])

    @property
    def system(self) -> str:
        """Its system prompt."""
        return f"You are an agent below another: {self.number}." if self.task else SYSTEM

    def said(self) -> str:
        """All that was said, without ids."""
        said: list[object] = []
        for entry in self.entries:
            match entry:
                case User():
                    said.append(entry.text)
                case Answer():
                    said.append((entry.text, [(call.name, call.text) for call in entry.calls]))
                case Results():
                    said.append([(call.name, text) for call, text in entry.told])
        return repr(said)
