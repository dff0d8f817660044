from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_host.llm.messages import ToolSpec
from tui_host.llm.tool_names import NameTable, nearest, resolve

FIT = re.compile(r"[A-Za-z0-9_-]{1,64}")


def test_names_that_break_the_rule_get_a_hash_and_stay_two() -> None:
    tools = [("s", "a.b"), ("s", "a/b"), ("s", "x" * 100), ("s", "x" * 101), ("s", "工具"), ("s", "")]

    table = NameTable.make(tools)

    names = [table.name(*tool) for tool in tools]
    assert len(set(names)) == len(tools)
    assert all(FIT.fullmatch(name) for name in names)
    assert re.fullmatch(r"s__a_b_[0-9a-f]{8}", names[0])
    assert re.fullmatch(r"s__x{52}_[0-9a-f]{8}", names[2])
    assert [table.known[name] for name in names] == tools


def test_names_that_collide_are_both_hashed() -> None:
    table = NameTable.make([("a", "_b"), ("a_", "b"), ("c", "d")])

    one, other = table.name("a", "_b"), table.name("a_", "b")
    assert one != other
    assert one.startswith("a___b_")
    assert other.startswith("a___b_")
    assert "a___b" not in table.known
    assert table.name("c", "d") == "c__d"


def test_a_tool_that_bears_the_hashed_name_of_another_takes_nothing_from_it() -> None:
    hashed = NameTable.make([("s", "a.b")]).name("s", "a.b")
    rival = ("s", hashed.removeprefix("s__"))

    table = NameTable.make([("s", "a.b"), rival])

    assert table.name(*rival) == hashed
    assert table.name("s", "a.b") != hashed
    assert table.known[table.name("s", "a.b")] == ("s", "a.b")


def test_the_nearest_names_are_offered_for_one_that_does_not_exist() -> None:
    tools = [
        ToolSpec(name=name, description="", schema={}, server=server, tool=tool)
        for name, server, tool in (
            ("math__add", "math", "add"),
            ("math__multiply", "math", "multiply"),
            ("list_tools", "hub", "list_tools"),
        )
    ]

    assert nearest("math__multiplies", tools)[0] == "math__multiply"
    assert nearest("add", tools)[0] == "math__add"
    assert nearest("math.add", tools)[0] == "math__add"
    assert nearest("hub__list", tools)[0] == "list_tools"
    assert nearest("zzzzzzzzzzzz", tools) == ()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("math__add", "math__add"),
        ("multiply", "math__multiply"),
        ("math__multiply<|channel|>commentary", "math__multiply"),
        ("functions.math__multiply", "math__multiply"),
        ("functions.math__multiply:0", "math__multiply"),
        ("math_multiply", "math__multiply"),
        ("math-multiply", "math__multiply"),
        ("mcp__math__multiply", "math__multiply"),
        ("'multiply'", "math__multiply"),
        ("math__add'", None),
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


@settings(max_examples=15)
@given(st.lists(st.tuples(st.text(max_size=50), st.text(max_size=140)), max_size=12))
def test_every_name_is_fit_and_leads_back(tools: list[tuple[str, str]]) -> None:
    table = NameTable.make(tools)

    for tool in tools:
        name = table.name(*tool)
        assert FIT.fullmatch(name)
        assert table.known[name] == tool
