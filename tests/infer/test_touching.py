"""What ran at the same time: found without a look at each pair, and the same as by a look at each."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.steps import steps
from tui_host.capture.session_summary import SessionInfo, foreign_session
from tui_host.infer.asking.speakers import Speaking
from tui_host.infer.taps.about import About
from tui_host.infer.taps.agents import agents_of
from tui_host.infer.taps.together import together
from tui_host.infer.taps.touching import Joins, Stretch, in_a_row, meetings


def ran(count: int, seed: int) -> Mapping[str, Stretch]:
    """When so many ran, some of them together."""
    chance = random.Random(seed)  # noqa: S311 - the same ones each time
    begins = [(f"{seed} {number}", chance.randrange(60)) for number in range(count)]
    return {name: Stretch(begin, begin + chance.randrange(9)) for name, begin in begins}


@pytest.mark.parametrize("seed", range(40))
def test_what_is_joined_is_what_a_look_at_each_pair_joins(seed: int) -> None:
    ones, others = ran(seed % 13, seed), ran(9, seed + 100)
    every, few = Joins(), Joins()
    for pair in [(one, two) for one in ones for two in others if ones[one].touches(others[two])]:
        every.join(pair)
    for pair in meetings(ones, others):
        few.join(pair)
    assert few.names == every.names


@pytest.mark.parametrize("seed", range(20))
def test_of_what_stands_in_different_rows_no_two_touch_and_of_one_each_does(seed: int) -> None:
    stretches = ran(12, seed)
    rows = list(in_a_row(stretches, stretches.__getitem__))
    assert sorted(name for row in rows for name in row) == sorted(stretches)
    for number, row in enumerate(rows):
        others = [name for other in rows[number + 1 :] for name in other]
        assert not any(stretches[one].touches(stretches[two]) for one in row for two in others)
        assert len(row) == 1 or all(
            any(stretches[one].touches(stretches[two]) for two in row if two != one) for one in row
        )


HOSTS: Mapping[str, About] = {
    "one host": About(clients=["Cline"]),
    "an agent's models": About(spoken=[Speaking(protocol="native")], offered=["math__add"]),
    "an agent's servers": About(tools=frozenset({("math", "add")})),
    "another host": About(clients=["claude-code"]),
}


def looks(count: int) -> int:
    """How many functions are called for so many taps that all run at once."""
    kinds = list(HOSTS.values())
    taps: list[SessionInfo] = [
        replace(foreign_session(f"{number:04}", ""), source="tap", live=True) for number in range(count)
    ]
    stories: list[list[SessionInfo]] = []
    called = steps(lambda: stories.extend(together(taps, 10**9, lambda tap: kinds[int(tap.id) % len(kinds)])))
    assert not any({0, 3} <= {int(tap.id) % len(kinds) for tap in story} for story in stories)
    return called


def test_ten_times_the_taps_that_run_at_once_take_hardly_more_than_ten_times_as_long() -> None:
    looks(40)  # what is found out once for each kind is not counted
    assert looks(400) < 12 * looks(40)


def test_a_server_that_an_agent_uses_beside_a_person_is_the_agents_whoever_else_a_person_alone_uses() -> None:
    at_once = Stretch(0, 10)
    tools = frozenset({("math", "add")})
    abouts = {
        "model": About(kind="llm", spoken=[Speaking(peer="x", model="m")], offered=["math__add"]),
        "by hand": About(kind="http", clients=["mcp-inspector"], tools=tools),
        "both": About(kind="http", clients=["mcp-inspector", "my-agent"], tools=tools),
    }
    for names in (["model", "by hand", "both"], ["both", "by hand", "model"]):
        assert agents_of(dict.fromkeys(names, at_once), abouts) == {"model": "both", "both": "both"}
