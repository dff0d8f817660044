"""The bundled server `math`: addition, subtraction, multiplication and division of two numbers."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from typing import Annotated, TypeAlias

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import WithJsonSchema

from tui_host.demo.servers.annotations import READS, VERSION

# Whole numbers stay whole, so that they are exact at any size.
Number: TypeAlias = Annotated[int | float, WithJsonSchema({"type": "number"})]
# Decimal, so that 0.1 + 0.2 is 0.3.
_EXACT = Context(prec=700, Emax=10_000, Emin=-10_000)
_AS_SHOWN = Context(prec=17)  # as many digits as a double holds

SERVER = MCPServer(
    "math",
    title="Arithmetic",
    version=VERSION,
    log_level="ERROR",
    instructions="Four operations on two numbers each. Ask for one call per operation; independent ones may run in parallel.",
)


def _number(operation: Callable[[Decimal, Decimal], Decimal], a: float, b: float) -> Number:
    try:
        result = operation(Decimal(repr(a)), Decimal(repr(b)))
        return int(result) if result == result.to_integral_value(context=_EXACT) else float(_AS_SHOWN.plus(result))
    except ArithmeticError as error:
        raise ToolError("the numbers are too large") from error


@SERVER.tool(title="Add", annotations=READS)
def add(a: Number, b: Number) -> Number:
    """Add two numbers: a + b."""
    return _number(_EXACT.add, a, b)


@SERVER.tool(title="Subtract", annotations=READS)
def subtract(a: Number, b: Number) -> Number:
    """Subtract one number from another: a - b."""
    return _number(_EXACT.subtract, a, b)


@SERVER.tool(title="Multiply", annotations=READS)
def multiply(a: Number, b: Number) -> Number:
    """Multiply two numbers."""
    return _number(_EXACT.multiply, a, b)


@SERVER.tool(title="Divide", annotations=READS)
def divide(a: Number, b: Number) -> Number:
    """Divide one number by another: a / b. Dividing by zero is an error."""
    if b == 0:
        raise ToolError("division by zero: b must not be 0")
    return _number(_EXACT.divide, a, b)
