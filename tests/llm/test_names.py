"""The names under which tools are offered, and which tool a model means by a name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_host.llm.messages import ToolSpec
from tui_host.llm.tool_names import NameTable, nearest, resolve

FIT = re.compile(r"[A-Za-z0-9_-]{1,64}")


def test_names_that_break_the_rule_or_collide_get_a_hash_and_stay_two() -> None:
    long = [("s", "x" * 100), ("s", "x" * 101)]
    tools = [("s", "a.b"), ("s", "a/b"), *long, ("s", "工具"), ("a", "_b"), ("a_", "b"), ("c", "d")]
    names = [NameTable.make(tools).name(*tool) for tool in tools]

    wanted = ["s__a_b_", "s__a_b_", f"s__{'x' * 52}_", f"s__{'x' * 52}_", "s_____", "a___b_", "a___b_"]
    assert all(re.fullmatch(f"{start}[0-9a-f]{{8}}", name) for start, name in zip(wanted, names, strict=False))
    assert (names[-1], len(set(names))) == ("c__d", len(tools))


def test_a_tool_that_bears_the_hashed_name_of_another_takes_nothing_from_it() -> None:
    hashed = NameTable.make([("s", "a.b")]).name("s", "a.b")
    rival = ("s", hashed.removeprefix("s__"))

    table = NameTable.make([("s", "a.b"), rival])

    assert table.name(*rival) == hashed != table.name("s", "a.b")


@settings(max_examples=15)
@given(st.lists(st.tuples(st.text(max_size=50), st.text(max_size=140)), max_size=12))
def test_every_name_is_fit_and_leads_back(tools: list[tuple[str, str]]) -> None:
    table = NameTable.make(tools)

    for tool in tools:
        name = table.name(*tool)
        assert FIT.fullmatch(name)
        assert table.known[name] == tool


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("math__multiplies", "math__multiply"),
        ("add", "math__add"),
        ("zzzzzzzzzzzz", None),
    ],
)
def test_the_nearest_names_are_offered_for_one_that_does_not_exist(name: str, first: str | None) -> None:
    tools = [
        ToolSpec(name=f"math__{of}", description="", schema={}, server="math", tool=of) for of in ("add", "multiply")
    ]

    assert next(iter(nearest(name, tools)), None) == first


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("math__add", "math__add"),
        ("multiply", "math__multiply"),
        ("math__multiply<|channel|>commentary", "math__multiply"),
        ("functions.math__multiply:0", "math__multiply"),
        ("math_multiply", "math__multiply"),
        ("mcp__math__multiply", "math__multiply"),
        ("'multiply'", "math__multiply"),
        ("math_add", None),
        ("add", "math__add"),
        ("twice", None),
        ("math__multiplies", None),
        ("<|channel|>", None),
        ("", None),
    ],
)
def test_a_name_is_resolved_only_where_one_tool_remains(name: str, meant: str | None) -> None:
    tools = [("math", "add"), ("math", "add_"), ("math", "multiply"), ("a", "twice"), ("b", "twice")]

    assert resolve(name, NameTable.make(tools).known) == meant
