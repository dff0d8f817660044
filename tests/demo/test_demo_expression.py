"""Arithmetic found in sentences."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_host.demo.model.brain.expression import (
    find_expression,
    number_text,
    operations,
    parse,
    written,
)

_NUMBERS = st.decimals(min_value=0, max_value=9999, places=2).map(lambda value: format(value, "f"))


@st.composite
def _expressions(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(_NUMBERS)
    left, right = draw(_expressions(depth - 1)), draw(_expressions(depth - 1))
    sign = draw(st.sampled_from(["+", "-", "*", "/", " + ", " - ", " * ", " / "]))
    text = f"{left}{sign}{right}"
    return draw(st.sampled_from([text, f"({text})", f"-({text})", f"( {text} )"]))


@settings(max_examples=15)
@given(_expressions())
def test_an_expression_written_for_a_person_means_the_same(text: str) -> None:
    tree = parse(text)
    if tree is None:
        return
    again = parse(written(tree).replace("×", "*").replace("−", "-"))
    if again is None:
        assert len(written(tree)) > 300
    else:
        assert again == tree


@settings(max_examples=15)
@given(st.text(max_size=200))
def test_any_text_is_an_expression_or_is_not(text: str) -> None:
    tree = find_expression(text)
    assert tree is None or list(operations(tree))


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
        "((((",
        "+" * 9,
    ],
)
def test_what_is_no_arithmetic_is_left_alone(sentence: str) -> None:
    assert find_expression(sentence) is None


def test_too_long_an_expression_is_not_taken_up() -> None:
    assert find_expression("+".join("1" * 60)) is None
    assert find_expression("(" * 150 + "1+1" + ")" * 140) is None
    assert find_expression("((2^10)^10)^10") is None


@settings(max_examples=15)
@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_number_keeps_its_value_as_json(value: Decimal) -> None:
    assert Decimal(number_text(value)) == value
