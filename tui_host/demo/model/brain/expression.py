"""Arithmetic found in a sentence, as a tree."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Literal, TypeAlias, assert_never

Operator: TypeAlias = Literal["+", "-", "*", "/"]

_OPERATORS: dict[type[ast.operator], Operator] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_LEADING_ZEROS = re.compile(r"(?<![\d.])0+(?=\d)")
_LONGEST = 300
_MOST_OPERATIONS = 40
_CONTEXT = Context(prec=40, Emax=10_000, Emin=-10_000)

_SIGNS = str.maketrans(
    {"×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "∕": "/", "−": "-", "–": "-", "²": "^2", "³": "^3"}
)
_PHRASES = (
    (r"\b(?:add|the sum of|sum of)\s+({n})\s+(?:and|to|plus)\s+({n})", r"\1 + \2"),
    (r"\bsubtract\s+({n})\s+from\s+({n})", r"\2 - \1"),
    (r"\b(?:the difference of|difference between)\s+({n})\s+and\s+({n})", r"\1 - \2"),
    (r"\b(?:multiply|the product of|product of)\s+({n})\s+(?:and|by|with|times)\s+({n})", r"\1 * \2"),
    (r"\bdivide\s+({n})\s+by\s+({n})", r"\1 / \2"),
)
_NUMBER = r"-?\d+(?:\.\d+)?"
_REWRITTEN = tuple((re.compile(pattern.replace("{n}", _NUMBER), re.IGNORECASE), text) for pattern, text in _PHRASES)
_WORDS = tuple(
    (re.compile(rf"(?<=[\d)])\s*(?:{words})\s*(?=[-\d(])", re.IGNORECASE), sign)
    for words, sign in (
        (r"plus|加上|加", " + "),
        (r"minus|减去|减", " - "),
        (r"multiplied by|times|x|乘以|乘", " * "),
        (r"divided by|over|除以", " / "),
        (r"to the power of|的?(?=\d+\s*次方)", " ^ "),
    )
)
_RUN = re.compile(r"[-+*/^().\d\s]+")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number as written."""

    value: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operator on two expressions; equal operations are asked for once."""

    operator: Operator
    left: Expression
    right: Expression


Expression: TypeAlias = Number | Operation


def find_expression(text: str) -> Expression | None:
    """Return the longest arithmetic expression in a text with at least an operation. None if absent."""
    plain = unicodedata.normalize("NFKC", text.translate(_SIGNS)).replace("**", "^")
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", plain)
    for pattern, words in _REWRITTEN:
        plain = pattern.sub(words, plain)
    for pattern, sign in _WORDS:
        plain = pattern.sub(sign, plain)
    trees = (parse(run) for run in sorted(_RUN.findall(plain), key=len, reverse=True) if len(run.strip()) > 2)
    return next((tree for tree in trees if isinstance(tree, Operation)), None)


def parse(text: str) -> Expression | None:
    """Parse a text as an expression. None if it is none, or too long for a demonstration."""
    text = text.strip().rstrip(".").strip()
    if len(text) > _LONGEST or _DATE.fullmatch(text):
        return None
    plain = _LEADING_ZEROS.sub("", " ".join(text.split())).replace("^", "**")
    try:
        return _Converter(plain).convert(ast.parse(plain, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, _NoExpressionError):
        return None


def operations(expression: Expression) -> Iterator[Operation]:
    """Yield all operations, operands first."""
    if isinstance(expression, Operation):
        yield from operations(expression.left)
        yield from operations(expression.right)
        yield expression


def compute(operator: Operator, left: Decimal, right: Decimal) -> Decimal | None:
    """Return the result expected from a tool, to notice a surprising result. None for a division by zero."""
    match operator:
        case "+":
            return _CONTEXT.add(left, right)
        case "-":
            return _CONTEXT.subtract(left, right)
        case "*":
            return _CONTEXT.multiply(left, right)
        case "/":
            return _CONTEXT.divide(left, right) if right else None
    assert_never(operator)


def written(expression: Expression, *, in_operation: bool = False) -> str:
    """Write the expression for a person, with the parentheses needed for the order of steps."""
    match expression:
        case Number(value=value):
            return f"({number_text(value)})" if value < 0 and in_operation else number_text(value)
        case Operation(operator=operator, left=left, right=right):
            sign = {"*": "×", "-": "−"}.get(operator, operator)
            parts = [
                _part(left, needs=_binds(left) < _binds(expression)),
                # Also where mathematics needs none, as in 1 + (2 + 3), to show the order of the tool calls.
                _part(right, needs=_binds(right) <= _binds(expression)),
            ]
            return f" {sign} ".join(parts)
    assert_never(expression)


def _part(expression: Expression, *, needs: bool) -> str:
    text = written(expression, in_operation=True)
    return f"({text})" if needs else text


def _binds(expression: Expression) -> int:
    return 3 if isinstance(expression, Number) else (2 if expression.operator in "*/" else 1)


def number_text(value: Decimal) -> str:
    """Write a number as JSON, without an exponent where short."""
    if value == value.to_integral_value() and abs(value) < Decimal(10) ** 30:
        return str(int(value))
    return format(value, "f") if -30 < value.adjusted() < 30 else str(value)


class _NoExpressionError(Exception):
    """The text is no expression."""


class _Converter:
    """Turns Python's tree of an expression into ours. Numbers are read from the text, to keep their digits."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._operations = 0

    def convert(self, node: ast.expr) -> Expression:
        match node:
            case ast.Constant():
                return Number(value=Decimal(self._text[node.col_offset : node.end_col_offset]))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.convert(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.convert(operand)
                if isinstance(inner, Number):
                    return Number(value=-inner.value)
                return self._operation("-", Number(value=Decimal(0)), inner)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(self.convert(left), self.convert(right))
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                return self._operation(_OPERATORS[type(operator)], self.convert(left), self.convert(right))
            case _:
                raise _NoExpressionError

    def _power(self, base: Expression, exponent: Expression) -> Expression:
        # No tool raises to a power: a small whole exponent becomes as many multiplications.
        if not isinstance(exponent, Number) or exponent.value not in range(1, 11):
            raise _NoExpressionError
        tree = base
        size = sum(1 for _ in operations(base))
        for _ in range(int(exponent.value) - 1):
            self._operations += size
            tree = self._operation("*", tree, base)
        return tree

    def _operation(self, operator: Operator, left: Expression, right: Expression) -> Operation:
        self._operations += 1
        if self._operations > _MOST_OPERATIONS:
            raise _NoExpressionError
        return Operation(operator=operator, left=left, right=right)
