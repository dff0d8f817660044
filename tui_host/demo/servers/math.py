"""The bundled server `math`: addition, subtraction, multiplication and division of two numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Context, Decimal, Overflow

from tui_host.demo.servers.bundled import Answer, BundledServer, BundledTool, ToolFailed, number_argument
from tui_host.errors import JSON

# Decimal, so that 0.1 + 0.2 is 0.3; with enough digits for whole numbers to stay exact.
_EXACT = Context(prec=700, Emax=10_000, Emin=-10_000)
_SHOWN_DIGITS = 17
"""Number of digits in a result that is not whole: as many as a double holds."""


def _in_decimal(operation: Callable[[Decimal, Decimal], Decimal]) -> Callable[[Mapping[str, object]], Answer]:
    def answer(arguments: Mapping[str, object]) -> Answer:
        a, b = (Decimal(repr(number_argument(arguments, name))) for name in ("a", "b"))
        number = _as_number(operation(a, b))
        return Answer(text=str(number), structured={"result": number})

    return answer


def _as_number(result: Decimal) -> int | float:
    if result == result.to_integral_value(context=_EXACT) and abs(result) < Decimal(10) ** 100:
        return int(result)
    try:
        number = float(Context(prec=_SHOWN_DIGITS).plus(result))
    except Overflow:
        number = float("inf")
    if number in {float("inf"), float("-inf")}:
        raise ToolFailed("the result is too large")
    return number


def _divide(a: Decimal, b: Decimal) -> Decimal:
    if b == 0:
        raise ToolFailed("division by zero: b must not be 0")
    return _EXACT.divide(a, b)


def _number(description: str) -> JSON:
    return {"type": "number", "description": description}


def _operation(
    name: str, title: str, description: str, words: tuple[str, str], operation: Callable[[Decimal, Decimal], Decimal]
) -> BundledTool:
    return BundledTool(
        name=name,
        title=title,
        description=description,
        properties={"a": _number(words[0]), "b": _number(words[1])},
        output={"result": _number("The result.")},
        answer=_in_decimal(operation),
    )


MATH = BundledServer(
    name="math",
    title="Arithmetic",
    instructions="Four operations on two numbers each. Ask for one call per operation; independent ones may run in parallel.",
    tools=(
        _operation("add", "Add", "Add two numbers: a + b.", ("First summand.", "Second summand."), _EXACT.add),
        _operation(
            "subtract",
            "Subtract",
            "Subtract one number from another: a - b.",
            ("Number to subtract from.", "Number to subtract."),
            _EXACT.subtract,
        ),
        _operation(
            "multiply", "Multiply", "Multiply two numbers.", ("First factor.", "Second factor."), _EXACT.multiply
        ),
        _operation(
            "divide",
            "Divide",
            "Divide one number by another: a / b. Dividing by zero is an error.",
            ("Dividend.", "Divisor, not 0."),
            _divide,
        ),
    ),
)
