"""What is inferred of tapped hosts, against a corpus whose truth is known: no wrong link, at least 99 % of the right ones."""

from __future__ import annotations

from tests.chat.infer.corpus import play
from tests.chat.infer.forms import FORMS
from tests.chat.infer.world import found_in

SEEDS = 4


def test_no_link_in_the_corpus_is_wrong_and_hardly_one_is_missing() -> None:
    right = found = wrong = 0
    for name in FORMS:
        in_form = [0, 0, 0]
        for seed in range(SEEDS):
            world = play(seed, name)
            links = found_in(world.story())
            in_form[0] += len(world.truth)
            in_form[1] += len(links & world.truth)
            in_form[2] += len(links - world.truth)
        print(f"{name}: {in_form[0]:,} links, {in_form[1] / in_form[0]:.2%} found, {in_form[2]} wrong")
        right, found, wrong = right + in_form[0], found + in_form[1], wrong + in_form[2]
    print(f"all: {right:,} links, {found / right:.3%} found, {wrong} wrong")
    assert wrong == 0
    assert found >= 0.99 * right
