"""What is inferred of tapped hosts, against worlds whose truth is known: nothing certain is wrong.

A larger run, of seeds that nothing was made by: `python -m tests.infer.test_corpus FIRST LAST`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.infer.forms import NAMES
from tests.infer.plays import KINDS, Kind, play
from tests.infer.world import MAYBE, found_in

LEAST: dict[Kind, float] = {"usual": 0.85, "reworded": 0.8, "shared": 0.8}
"""The share of all links that is certain or maybe; nobody could tell the rest from the wires."""


@dataclass(frozen=True)
class Count:
    """Links of worlds by degree."""

    links: int = 0
    certain: int = 0
    wrong: int = 0
    maybe: int = 0
    maybe_wrong: int = 0

    @property
    def open(self) -> int:
        """Links of which nothing is said."""
        return self.links - self.certain - self.maybe

    def __add__(self, other: Count) -> Count:
        return Count(
            self.links + other.links,
            self.certain + other.certain,
            self.wrong + other.wrong,
            self.maybe + other.maybe,
            self.maybe_wrong + other.maybe_wrong,
        )


def counted(seed: int, name: str, kind: Kind = "usual") -> Count:
    world = play(seed, name, kind)
    story = world.story()
    certain, maybe = found_in(story, world.words), found_in(story, world.words, MAYBE)
    return Count(
        len(world.truth),
        len(certain & world.truth),
        len(certain - world.truth),
        len(maybe & world.truth),
        len(maybe - world.truth),
    )


def total(counts: Iterable[Count]) -> Count:
    return sum(counts, Count())


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        *((kind, range(1)) for kind in KINDS),
        *(pytest.param(kind, range(1, 12), marks=pytest.mark.exhaustive) for kind in KINDS),
    ],
    ids=str,
)
def test_nothing_certain_is_wrong_and_hardly_a_link_is_missing(seeds: range, kind: Kind) -> None:
    count = total(counted(seed, name, kind) for seed in seeds for name in NAMES)
    assert count.wrong == 0
    assert count.certain + count.maybe >= LEAST[kind] * count.links, f"{count.open} of {count.links} are open"


@pytest.mark.parametrize("name", ["ollama", "cherry"])
def test_where_no_times_are_told_nothing_certain_is_wrong(name: str) -> None:
    for seed in range(2):
        world = play(seed, name)
        assert found_in(world.story(is_timed=False), world.words) <= world.truth


def main() -> None:
    """Print a line for each kind of world."""
    seeds = range(int(sys.argv[1]), int(sys.argv[2]))
    print(f"{'worlds':10}{'links':>9}{'certain':>10}{'maybe right':>13}{'wrong':>7}{'maybe wrong':>13}{'open':>8}")
    counts = {kind: total(counted(seed, name, kind) for seed in seeds for name in NAMES) for kind in KINDS}
    for kind, count in (*counts.items(), ("all", total(counts.values()))):
        print(
            f"{kind:10}{count.links:9,}{count.certain:10,}{count.maybe:13,}"
            f"{count.wrong:7,}{count.maybe_wrong:13,}{count.open:8,}"
        )


if __name__ == "__main__":
    main()
