"""Arithmetic found in sentences, and computed in several steps by tools."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.demo.played import TOOLS, play, told_by_servers, tool
from tui_host.demo.model.brain.arithmetic import find_expression, read_number, written
from tui_host.demo.model.plan import AskedCall


def test_without_parallel_calls_they_come_one_by_one() -> None:
    turn = play("(1 + 2) * (3 + 4)", parallel=False)
    assert turn.names == [["math__add"], ["math__add"], ["math__multiply"]]
    assert "**21**" in turn.text


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
    ("sentence", "shown"),
    [
        ("what is (6 × 5 + 7) / 2?", "(6 × 5 + 7) / 2"),
        ("What's 6 x 5 + 7? use the tools.", "6 × 5 + 7"),
        ("（６ × ５ ＋ ７）÷ ２ 等于多少？", "(6 × 5 + 7) / 2"),
        ("6 乘以 5 加 7 是多少", "6 × 5 + 7"),
        ("10 减去 4 除以 2", "10 − 4 / 2"),
        ("please divide 10 by 4", "10 / 4"),
        ("subtract 3 from 10", "10 − 3"),
        ("seven plus? no: 7 plus 8 times 2", "7 + 8 × 2"),
        ("1,250.50 − 0.5", "1250.50 − 0.5"),
        ("3² + 1", "3 × 3 + 1"),
        ("2 ** 3", "2 × 2 × 2"),
        ("-(2 + 3) * -4", "(0 − (2 + 3)) × (-4)"),
        ("8 - (3 - 1)", "8 − (3 − 1)"),
    ],
)
def test_arithmetic_is_found_in_a_sentence(sentence: str, shown: str) -> None:
    tree = find_expression(sentence)
    assert tree is not None
    assert written(tree) == shown


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "",
            "hello",
            "what is 7?",
            "on 2026-11-21",
            "ping 127.0.0.1",
            "order 1042",
            "2 +",
            "(2 + 3",
            "2 ^ 0.5",
            "9^99",
        ),
        *("((((", "+" * 9, "+".join("1" * 60), "(" * 150 + "1+1" + ")" * 140, "((2^10)^10)^10"),
    ],
)
def test_what_is_no_arithmetic_is_left_alone(sentence: str) -> None:
    assert find_expression(sentence) is None


def test_the_number_is_read_out_of_what_a_tool_told() -> None:
    told = {"-0.5": "-0.5", "6 * 5 = 30": "30", '{"result": 18.5}': "18.5", "1e+21": "1E+21", "nothing": "None"}
    assert {text: str(read_number(text)) for text in told} == told
