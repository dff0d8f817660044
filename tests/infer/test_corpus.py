"""What is inferred of tapped hosts, against a corpus whose truth is known: no wrong link, and hardly a right one is missing.

A larger run, of seeds that nothing was made by: `python -m tests.infer.test_corpus FIRST LAST`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.infer.forms import NAMES
from tests.infer.plays import KINDS, Kind, play
from tests.infer.world import found_in

HARD: list[tuple[int, str]] = [
    (12006, "json"),
    (13026, "gemini"),
    (13026, "older cherry"),
    (14002, "openai-responses"),
    (16003, "anthropic"),
    (17020, "older cherry"),
]
"""Worlds of patient hosts in which something was found once that is not so."""
HASTY: list[tuple[int, str]] = [
    (3, "anthropic"),
    (4, "anthropic"),
    (9, "gemini-cli"),
    (13, "hermes"),
    (15, "cherry"),
    (17, "gemini-cli"),
    (18, "hermes"),
    (9004, "anthropic"),
    (9012, "hermes"),
    (17015, "ollama"),
    (30004, "openai"),
    (31000, "hermes"),
    (40010, "gemini"),
    (40010, "openai-responses"),
    (50002, "gemini"),
    (50015, "gemini"),
    (80046, "openai"),
]
"""The same of hosts that send again on a connection that holds, and answer by themselves."""
LEAST: dict[Kind, float] = {"usual": 0.78, "patient": 0.8, "reworded": 0.71, "shared": 0.77}
"""Of all links that there are, of which the wires do not decide all."""


@dataclass(frozen=True)
class Count:
    """Links of worlds: all of them, those found, and what was found that is none."""

    links: int = 0
    found: int = 0
    wrong: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.links + other.links, self.found + other.found, self.wrong + other.wrong)


def counted(seed: int, name: str, kind: Kind = "usual") -> Count:
    world = play(seed, name, kind)
    found = found_in(world.story(), world.words)
    return Count(len(world.truth), len(found & world.truth), len(found - world.truth))


def total(counts: Iterable[Count]) -> Count:
    return sum(counts, Count())


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [("usual", range(1)), *(pytest.param(kind, range(12), marks=pytest.mark.exhaustive) for kind in KINDS)],
    ids=str,
)
def test_no_link_is_wrong_and_hardly_one_is_missing(seeds: range, kind: Kind) -> None:
    count = total(counted(seed, name, kind) for seed in seeds for name in NAMES)
    assert count.wrong == 0
    assert count.found >= LEAST[kind] * count.links, f"{count.links - count.found} of {count.links} are missing"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("seed", "name", "is_patient"), [(*each, True) for each in HARD] + [(*each, False) for each in HASTY]
)
def test_in_a_world_where_a_link_was_wrong_once_none_is(seed: int, name: str, *, is_patient: bool) -> None:
    count = counted(seed, name, "patient" if is_patient else "usual")
    assert count.found
    assert count.wrong == 0


@pytest.mark.parametrize("name", ["ollama", "cherry"])
def test_where_no_times_are_told_nothing_is_found_that_is_not_found_with_them(name: str) -> None:
    for seed in range(2):
        world = play(seed, name)
        timed, untimed = (found_in(world.story(is_timed=each), world.words) for each in (True, False))
        assert untimed <= world.truth & timed
        assert len(untimed) >= 0.6 * len(timed)


def main() -> None:
    """Print a line for each form and kind of world."""
    seeds = range(int(sys.argv[1]), int(sys.argv[2]))
    print(f"{'form':18}{'links':>9}{'found':>9}{'wrong':>7}")
    for kind in KINDS:
        counts = {name: total(counted(seed, name, kind) for seed in seeds) for name in NAMES}
        for name, each in (*counts.items(), (kind, total(counts.values()))):
            print(f"{name:18}{each.links:9,}{each.found / max(each.links, 1):9.2%}{each.wrong:7}")


if __name__ == "__main__":
    main()
