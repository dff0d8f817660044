"""Arithmetic of several steps, made by tools."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.demo.played import TOOLS, play, told_by_servers, tool
from tui_host.demo.model.brain.sums import read_number
from tui_host.demo.model.plan import AskedCall
from tui_host.demo.servers.math import MATH


def test_each_step_is_a_call_of_its_own() -> None:
    turn = play("what is (6 × 5 + 7) / 2?")
    assert turn.names == [["math__multiply"], ["math__add"], ["math__divide"]]
    assert turn.arguments == [['{"a":6,"b":5}'], ['{"a":30,"b":7}'], ['{"a":37,"b":2}']]
    assert turn.text.startswith("(6 × 5 + 7) / 2 = **18.5**")
    assert "demo model" in turn.text


def test_a_chinese_question_is_answered_in_chinese() -> None:
    turn = play("（6 × 5 + 7）÷ 2 等于多少？")
    assert turn.names == [["math__multiply"], ["math__add"], ["math__divide"]]
    assert "**18.5**" in turn.text
    assert "演示模型" in turn.text


def test_independent_operations_are_asked_for_at_once() -> None:
    turn = play("(1 + 2) * (3 + 4) + (5 - 6)")
    assert turn.names == [["math__add", "math__add", "math__subtract"], ["math__multiply"], ["math__add"]]


def test_without_parallel_calls_they_come_one_by_one() -> None:
    turn = play("(1 + 2) * (3 + 4)", parallel=False)
    assert turn.names == [["math__add"], ["math__add"], ["math__multiply"]]
    assert "**21**" in turn.text


def test_the_same_operation_twice_is_asked_for_once() -> None:
    assert play("(2 + 3) * (2 + 3)").names == [["math__add"], ["math__multiply"]]


def test_the_tools_results_are_used_and_not_sums_of_its_own() -> None:
    def wrong(call: AskedCall) -> str:
        return "31" if call.name == "math__multiply" else told_by_servers(call)

    turn = play("6 * 5 + 7", told=wrong)
    assert turn.arguments[1] == ['{"a":31,"b":7}']
    assert "**38**" in turn.text
    assert "expected something else for 6 × 5" in turn.text


def test_a_rejection_ends_the_turn_and_its_reason_is_acknowledged() -> None:
    turn = play("6 * 5 + 7", told=lambda _: "The user rejected this call. It was not run. The user's reason: too dear")
    assert len(turn.plans) == 2
    assert "You rejected `math__multiply` (reason: too dear)." in turn.text
    assert "**" not in turn.text


def test_a_failed_tool_ends_the_turn_with_its_words() -> None:
    turn = play("3 * 4 + 1 / 0")
    assert len(turn.plans) == 2
    assert "division by zero" in turn.text
    assert "3 × 4 → 12" in turn.text


def test_without_the_tools_nothing_is_computed() -> None:
    turn = play("6 * 5 + 7", tools=())
    assert "multiplication" in turn.text
    assert "37" not in turn.text
    assert "除法" in play("6 ÷ 5 等于多少", tools=TOOLS[:3]).text


def test_the_server_math_goes_first_and_others_stand_in_with_their_own_parameters() -> None:
    other = tool("sums__add", "augend", "addend", kind="number")
    assert play("1 + 2", [other, *TOOLS]).names == [["math__add"]]
    assert play("1 + 2", [other], told=lambda _: "3").arguments == [['{"augend":1,"addend":2}']]


@settings(max_examples=15)
@given(st.lists(st.integers(-99, 99), min_size=2, max_size=6), st.data())
def test_any_chain_of_operations_comes_to_what_python_makes_of_it(numbers: list[int], data: st.DataObject) -> None:
    text = str(numbers[0])
    for number in numbers[1:]:
        text = f"({text} {data.draw(st.sampled_from('+-*'))} {number})"
    expected: object = eval(text)  # noqa: S307 - our own text
    assert f"= **{expected}**" in play(text).text


@pytest.mark.parametrize(
    ("told", "number"),
    [
        ("37", "37"),
        ("-0.5", "-0.5"),
        ("6 * 5 = 30", "30"),
        ('{"result": 18.5}', "18.5"),
        ("1e+21", "1E+21"),
        ("The answer is 42.", "42"),
        ("nothing", "None"),
        ("", "None"),
    ],
)
def test_the_number_is_read_out_of_what_a_tool_told(told: str, number: str) -> None:
    assert str(read_number(told)) == number


@settings(max_examples=15)
@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_the_servers_take_every_number_that_the_model_writes(value: float) -> None:
    for operation in MATH.tools:
        arguments = {"a": value, "b": 1}
        told = told_by_servers(AskedCall(name=f"math__{operation.name}", arguments=json.dumps(arguments)))
        assert read_number(told) is not None or "too large" in told
