"""What some hosts of the corpus do where they will not wait, or know already: they send again on a connection that holds, and answer themselves."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.infer.world import MS, Asked

_SHARE = 0.3
"""Of all hosts that are so."""
_ALIKE = "Same call as the one before: see its result."
_UNCHANGED = "[nothing has changed since the last call]"
_NOT_SENT = ("Tool execution timed out", "Error: rate limit of this host reached")


@dataclass
class Impatience:
    """How a host goes on by itself. What decides is apart from what decides all else: others do as they would without it.

    It may give a frame up and send it again, say which answers it waits for no longer, send but one of the calls that ask for the same, fail a
    call without sending it, or tell what it was told before.
    """

    chance: random.Random
    again: float = 0.0
    cancels: bool = True
    merges: bool = False
    limits: float = 0.0
    caches: float = 0.0
    _known: dict[str, str] = field(default_factory=dict[str, str])
    _merged: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])

    def instead(self, asked: Asked, said: str) -> str | None:
        """What the model is told of a call that is not sent; None of one that is."""
        answer = (*asked[:2], said)
        if self.merges and answer in self._merged:
            return _ALIKE
        self._merged.add(answer)
        if said in self._known and self.chance.random() < self.caches:
            return self._known[said]
        if self.limits and self.chance.random() < self.limits:
            return self.chance.choice(_NOT_SENT)
        return None

    def tells(self, said: str, told: str) -> str:
        """What the model is told of what a server brought."""
        is_known = self._known.get(said) == told
        self._known[said] = told
        return _UNCHANGED if is_known and self.chance.random() < self.caches / 2 else told

    def sends_again(self) -> bool:
        """Whether it gives a frame up."""
        return self.again > 0 and self.chance.random() < self.again

    def comes_late(self) -> bool:
        """Whether the answer to a frame that was given up comes all the same."""
        return self.chance.random() < 0.3

    def waits(self) -> int:
        """Nanoseconds until it gives a frame up, or an answer comes late."""
        return self.chance.randint(50, 1500) * MS


def impatience(seed: int, name: str, number: int) -> Impatience:
    """Some host's; most have all the time in the world."""
    chance = random.Random(f"tries {seed} {name} {number}")  # noqa: S311 - the same each time
    if chance.random() >= _SHARE:
        return Impatience(chance)
    return Impatience(
        chance,
        again=chance.choice((0.0, 0.1, 0.2)),
        cancels=chance.random() < 0.6,
        merges=chance.random() < 0.3,
        limits=chance.choice((0.0, 0.0, 0.05)),
        caches=chance.choice((0.0, 0.0, 0.3)),
    )
