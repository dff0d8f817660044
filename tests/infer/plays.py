"""Worlds of the corpus: which hosts there are, what they share, and what is recorded of them."""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import replace
from typing import Literal, TypeAlias

from tests.infer.corpus import Host, Servers, late_answers
from tests.infer.forms import NAMES
from tests.infer.habits import REWORDINGS
from tests.infer.impatient import Impatience, impatience
from tests.infer.world import World

Kind: TypeAlias = Literal["usual", "reworded", "shared"]
KINDS: tuple[Kind, ...] = ("usual", "reworded", "shared")
_HOST_NAMES = (
    ("", "some-host"),
    ("Cline/3.1", "Cline"),
    ("claude-cli/2.1.0", "claude-code"),
    ("OpenAI/Python 2.1", "mcp"),
    ("OpenAI/Python 2.1", "mcp"),
)
"""What hosts call themselves before models, and before servers; many do not say more than what they are made with."""


def play(seed: int, name: str, kind: Kind = "usual") -> World:
    """Return a world of one kind, whose first host speaks to its model in this form.

    `usual`: one host, or two that share taps; `reworded`: hosts that tell less than what came,
    or something else; `shared`: two hosts that share the servers, with taps of their own or one before each server, of which one may remember
    what it was told, and one may ask a model behind no tap.
    """
    if kind == "shared":
        return _shared(seed, name)
    chance = random.Random(f"{seed} {name}")  # noqa: S311 - the same each time
    world = World()
    off = chance.choice([0, 0, 0, 5, 400, -700, 3_600_000])
    drift = chance.choice([0, 0, 0, 20, -40])
    world.is_one_machine = not (off or drift)
    servers = Servers(world, chance, off, drift, chance.random() < 0.2)
    own = [impatience(seed, name, number) for number in (1, 2)]
    hosts = [Host(chance, name, servers, own[0])]
    if chance.random() < 0.2:
        hosts.append(Host(chance, chance.choice(NAMES), servers, own[1], 2))
    if kind == "reworded":
        for host in hosts:
            host.habits = replace(host.habits, reword=random.Random(f"{seed} {name}").choice(REWORDINGS))  # noqa: S311
    alike = seed if chance.random() < 0.15 else 0
    talks: list[Generator[int]] = [
        _only(host.talk(chance.randint(2, 6), number=alike))
        for host in hosts
        for _ in range(chance.choice([1, 1, 2, 3]))
    ]
    if chance.random() < 0.3:
        for host in hosts:  # nobody could tell a call that waits for ever from one that no model asked for
            host.leaves = 0
        talks.append(hosts[0].beat(8))
    world.run(*talks, late_answers(world))
    return world


def _shared(seed: int, name: str) -> World:
    chance = random.Random(f"shared {seed} {name}")  # noqa: S311 - the same each time
    world = World(is_one_machine=True)
    servers = Servers(world, chance)
    others = Servers(world, chance) if chance.random() < 0.5 else servers
    hosts = [
        Host(
            chance, name, servers, Impatience(chance, caches=chance.choice((0.0, 0.5))), 1, chance.choice(_HOST_NAMES)
        ),
        Host(chance, chance.choice(NAMES), others, Impatience(chance), 2, chance.choice(_HOST_NAMES)),
    ]
    alike = seed + 1 if chance.random() < 0.6 else 0
    if chance.random() < 0.2:
        hosts[0].habits = replace(hosts[0].habits, reword=chance.choice(REWORDINGS))
    world.run(
        *(_only(host.talk(chance.randint(2, 6), number=alike)) for host in hosts for _ in range(chance.choice((1, 2)))),
        late_answers(world),
    )
    if chance.random() < 0.4:
        for model in hosts[1].models:
            world.hide(model)
    return world


def _only(talk: Generator[int, None, str]) -> Generator[int]:
    yield from talk
