"""What is inferred of tapped hosts, against worlds whose truth is known: nothing certain is wrong.

A larger run, of seeds that nothing was made by: `python -m tests.infer.test_corpus FIRST LAST`.
"""

import sys
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.infer.corpus import KINDS, Kind, play
from tests.infer.forms import NAMES
from tests.infer.world import MAYBE, found_in

LEAST: dict[Kind, float] = {"usual": 0.85, "reworded": 0.8, "shared": 0.8}
"""The share of all links that is certain or maybe; nobody could tell the rest from the wires."""
COLUMNS = ("links", "certain", "maybe right", "wrong", "maybe wrong", "open")


def counted(seeds: Iterable[int], kind: Kind) -> Counter[str]:
    counts = Counter[str]()
    for world in (play(seed, name, kind) for seed in seeds for name in NAMES):
        story, truth = world.story(), world.truth
        certain, maybe = found_in(story, world.words), found_in(story, world.words, MAYBE)
        right = len(certain & truth), len(maybe & truth)
        row = (len(truth), *right, len(certain - truth), len(maybe - truth), len(truth) - sum(right))
        counts.update(dict(zip(COLUMNS, row, strict=True)))
    return counts


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        *((kind, range(1)) for kind in KINDS),
        *(pytest.param(kind, range(1, 12), marks=pytest.mark.exhaustive) for kind in KINDS),
    ],
    ids=str,
)
def test_nothing_certain_is_wrong_and_hardly_a_link_is_missing(seeds: range, kind: Kind) -> None:
    count = counted(seeds, kind)
    assert count["wrong"] == 0
    assert count["certain"] + count["maybe right"] >= LEAST[kind] * count["links"], count


@pytest.mark.parametrize("name", ["ollama", "cherry"])
def test_where_no_times_are_told_nothing_certain_is_wrong(name: str) -> None:
    for seed in range(2):
        world = play(seed, name)
        assert found_in(world.story(is_timed=False), world.words) <= world.truth


def main() -> None:
    rows = {kind: counted(range(int(sys.argv[1]), int(sys.argv[2])), kind) for kind in KINDS}
    print(f"{'worlds':10}" + "".join(f"{name:>13}" for name in COLUMNS))
    for name, count in (*rows.items(), ("all", sum(rows.values(), Counter[str]()))):
        print(f"{name:10}" + "".join(f"{count[column]:13,}" for column in COLUMNS))


if __name__ == "__main__":
    main()
