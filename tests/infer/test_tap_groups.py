"""Which taps are one story: by time, by the names that hosts state, and by what a person decided."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tui_host.capture.session_summary import SessionInfo
from tui_host.infer.conversations.host_names import Speaker
from tui_host.infer.tap_facts import TapFacts
from tui_host.infer.tap_groups import Links, grouped, rows_of

SECOND = 1_000_000_000
NOW_NS = 1000 * SECOND


def tap(name: str, began: int, ended: int, *, live: bool = False) -> SessionInfo:
    return SessionInfo(
        id=name,
        title=name,
        created_ns=began * SECOND,
        updated_ns=ended * SECOND,
        turns=0,
        source="tap",
        live=live,
        model="",
        protocol="",
    )


def model(*hosts: str) -> TapFacts:
    return TapFacts(kind="llm", speakers=[Speaker(host=host, agent=(host, "")) for host in hosts])


def server(*clients: str, kind: str = "stdio") -> TapFacts:
    return TapFacts(kind=kind, clients=clients)


def stories(facts: Mapping[str, TapFacts], links: Links | None = None, **times: tuple[int, int]) -> list[str]:
    """The names of the taps of each story; taps run from 0, 1, … to 90 where no other times are given."""
    taps = [tap(name, *times.get(name, (number, 90))) for number, name in enumerate(facts)]
    decided = {(min(pair), max(pair)): joined for pair, joined in (links or {}).items()}
    rows = rows_of(taps, decided, NOW_NS)
    found = [group for row in rows for group in grouped(row, decided, lambda each: facts[each.id], NOW_NS)]
    assert {each.id for group in found for each in group.taps} == {*facts}
    return [" ".join(each.id for each in group.taps) for group in found]


SDK = "the OpenAI SDK for Python"
OF_TWO = {"a": model("Claude Code"), "b": model("Cline"), "a1": server("claude-code"), "b1": server("Cline")}


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"a": model(SDK), "b": server("mcp"), "c": TapFacts()}, ["a b c"]),
        ({"a": model("Cline"), "b": server("mcp"), "c": server("cline")}, ["a b c"]),
        (OF_TWO, ["a a1", "b b1"]),
        ({**OF_TWO, "x": model(SDK), "y": server("mcp")}, ["a a1", "b b1", "x y"]),
        ({"a1": server("claude-code"), "b1": server("Cline"), "both": model("Claude Code", "Cline")}, ["a1 b1 both"]),
        ({"by hand": server("mcp-inspector"), "b": model("Cline")}, ["by hand", "b"]),
        (
            {"a": model("Agent A"), "b": server("agent-a"), "c": server("agent-b"), "d": server("mcp")},
            ["a b", "c", "d"],
        ),
        ({"a": model("node"), "b": model("python-requests"), "c": server("alpha")}, ["a b c"]),
    ],
    ids=[
        "no name",
        "one name",
        "two names",
        "no name beside two",
        "turns at one model",
        "by hand",
        "names of no known host",
        "names of libraries",
    ],
)
def test_taps_of_one_time_are_one_story_unless_they_name_different_hosts(
    facts: Mapping[str, TapFacts], found: list[str]
) -> None:
    assert stories(facts) == found


def test_taps_that_do_not_overlap_are_two_stories_unless_another_overlaps_both() -> None:
    facts = {"a": model(SDK), "b": server("mcp"), "c": server("mcp")}
    assert stories(facts, a=(0, 10), b=(11, 20), c=(40, 50)) == ["a b", "c"]
    assert stories(facts, a=(0, 10), b=(11, 20), c=(21, 50)) == ["a b c"]
    assert stories(facts, a=(0, 50), b=(11, 20), c=(40, 50)) == ["a b c"]


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({**OF_TWO, "z": server("claude-code", "Cline", kind="http")}, ["a a1 z", "b b1 z"]),
        ({**OF_TWO, "z": server("claude-code", kind="http")}, ["a a1 z", "b b1"]),
        ({**OF_TWO, "z": server("mcp", kind="http")}, ["a a1", "b b1", "z"]),
        ({"a": model("Claude Code"), "z": server("claude-code", "Cline", kind="http")}, ["a z"]),
    ],
    ids=["both", "of one", "of neither", "one tapped at its model"],
)
def test_a_server_over_http_is_in_the_story_of_each_host_that_uses_it(
    facts: Mapping[str, TapFacts], found: list[str]
) -> None:
    assert stories(facts) == found


ALIKE = {"a": model(SDK), "a1": server("mcp"), "b": model(SDK), "b1": server("mcp")}


@pytest.mark.parametrize(
    ("links", "found"),
    [
        ({("b", "a"): False, ("b", "a1"): False, ("b", "b1"): False}, ["a a1 b1", "b"]),
        ({("b", "a"): False, ("b", "a1"): False, ("b1", "a"): False, ("b1", "a1"): False}, ["a a1", "b b1"]),
        ({("a", "a1"): False, ("a", "b"): False, ("a", "b1"): False}, ["a", "a1 b b1"]),
    ],
    ids=["one tap", "two taps", "the first tap"],
)
def test_a_person_parts_taps_of_hosts_without_a_name(links: Links, found: list[str]) -> None:
    assert stories(ALIKE, links) == found


def test_a_person_joins_taps_of_different_times_and_names_for_good() -> None:
    facts = {"a": model("Claude Code"), "b": server("Cline"), "c": server("mcp")}
    assert stories(facts, a=(0, 10), b=(40, 50), c=(41, 50)) == ["a", "b c"]
    assert stories(facts, {("a", "c"): True, ("a", "b"): True}, a=(0, 10), b=(40, 50), c=(41, 50)) == ["a b c"]
    assert stories({**facts, "d": server("claude-code")}, {("a", "c"): True, ("b", "c"): False}) == ["a c d", "b"]
