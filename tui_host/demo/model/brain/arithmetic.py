"""Rule: answers arithmetic in several steps, each by a tool call. Computes itself only to notice a surprising result."""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from typing import Literal, TypeAlias, assert_never

from tui_host.demo.model.brain.quoting import outcome
from tui_host.demo.model.json_values import is_object
from tui_host.demo.model.plan import AskedCall, Plan
from tui_host.demo.model.question_turn import DoneCall, Turn
from tui_host.demo.model.request_content import Tool
from tui_host.demo.model.toolbox import parameter

Operator: TypeAlias = Literal["+", "-", "*", "/"]

_OPERATORS: dict[type[ast.operator], Operator] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_LEADING_ZEROS = re.compile(r"(?<![\d.])0+(?=\d)")
_LONGEST = 300
_MOST_OPERATIONS = 40
_CONTEXT = Context(prec=40, Emax=10_000, Emin=-10_000)
_COMPUTE: dict[Operator, Callable[[Decimal, Decimal], Decimal]] = {
    "+": _CONTEXT.add,
    "-": _CONTEXT.subtract,
    "*": _CONTEXT.multiply,
    "/": _CONTEXT.divide,
}

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
    """A number, with the digits as written."""

    value: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operator with two operands. Equal operations are asked for only once."""

    operator: Operator
    left: Expression
    right: Expression


Expression: TypeAlias = Number | Operation


def find_expression(text: str) -> Expression | None:
    """Return the longest arithmetic expression in a text that has at least one operation, None if there is none."""
    plain = unicodedata.normalize("NFKC", text.translate(_SIGNS)).replace("**", "^")
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", plain)
    for pattern, words in _REWRITTEN:
        plain = pattern.sub(words, plain)
    for pattern, sign in _WORDS:
        plain = pattern.sub(sign, plain)
    trees = (parse(run) for run in sorted(_RUN.findall(plain), key=len, reverse=True) if len(run.strip()) > 2)
    return next((tree for tree in trees if isinstance(tree, Operation)), None)


def parse(text: str) -> Expression | None:
    """Parse a text as an expression; None if it is not one, or is too long for a demonstration."""
    text = text.strip().rstrip(".").strip()
    if len(text) > _LONGEST or _DATE.fullmatch(text):
        return None
    plain = _LEADING_ZEROS.sub("", " ".join(text.split())).replace("^", "**")
    try:
        tree = _tree(ast.parse(plain, mode="eval").body, plain)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if _size(tree) <= _MOST_OPERATIONS else None


def _tree(node: ast.expr, text: str) -> Expression:
    """Convert Python's syntax tree into an expression. Numbers are read from the text, to keep their digits."""
    match node:
        case ast.Constant():
            return Number(value=Decimal(text[node.col_offset : node.end_col_offset]))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _tree(operand, text)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            negated = _tree(operand, text)
            if isinstance(negated, Number):
                return Number(value=-negated.value)
            return Operation(operator="-", left=Number(value=Decimal(0)), right=negated)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_tree(left, text), _tree(right, text))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return Operation(operator=_OPERATORS[type(operator)], left=_tree(left, text), right=_tree(right, text))
        case _:
            raise ValueError("no arithmetic")


def _power(base: Expression, exponent: Expression) -> Expression:
    # No tool computes powers: a small whole exponent becomes a number of multiplications.
    if not isinstance(exponent, Number) or exponent.value not in range(1, 11) or _size(base) > _MOST_OPERATIONS:
        raise ValueError("a power that takes too many multiplications")
    tree = base
    for _ in range(int(exponent.value) - 1):
        tree = Operation(operator="*", left=tree, right=base)
    return tree


def _size(expression: Expression) -> int:
    return sum(1 for _ in operations(expression))


def operations(expression: Expression) -> Iterator[Operation]:
    """Yield all operations; the operands of an operation come first."""
    if isinstance(expression, Operation):
        yield from operations(expression.left)
        yield from operations(expression.right)
        yield expression


def written(expression: Expression, *, in_operation: bool = False) -> str:
    """Format the expression for a person, with parentheses that show the order of the steps."""
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
    """Format a number as JSON, without an exponent if it is short."""
    if value == value.to_integral_value() and abs(value) < Decimal(10) ** 30:
        return str(int(value))
    return format(value, "f") if -30 < value.adjusted() < 30 else str(value)


_TOOLS: dict[Operator, tuple[str, ...]] = {
    "+": ("add", "plus", "sum", "addition"),
    "-": ("subtract", "minus", "sub", "subtraction"),
    "*": ("multiply", "times", "mul", "product", "multiplication"),
    "/": ("divide", "div", "quotient", "division"),
}
_RESULT_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
Results: TypeAlias = dict[Operation, Decimal]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    operation: Operation
    left: Decimal
    right: Decimal
    done: DoneCall
    result: Decimal | None

    @property
    def sum_text(self) -> str:
        return written(
            Operation(operator=self.operation.operator, left=Number(value=self.left), right=Number(value=self.right))
        )

    @property
    def is_surprising(self) -> bool:
        """Whether the tool's result differs from the correct one: the user may have edited its arguments."""
        if self.result is None or (self.operation.operator == "/" and not self.right):
            return False
        expected = _COMPUTE[self.operation.operator](self.left, self.right)
        return abs(self.result - expected) > max(abs(expected), Decimal(1)) * Decimal("1e-9")


def sums(turn: Turn) -> Plan | None:
    """Ask for the operations whose operands are known, until the last operation has its result."""
    expression = find_expression(turn.head)
    if expression is None:
        return None
    tools = {operator: turn.tools.ending(*names, prefer="math") for operator, names in _TOOLS.items()}
    used = {operation.operator for operation in operations(expression)}
    missing: list[Operator] = [operator for operator in _TOOLS if operator in used and tools[operator] is None]
    if missing:
        return _no_tool(turn, expression, missing)
    steps, results = _replay(turn, expression)
    if any(step.result is None for step in steps):
        return _gave_up(turn, expression, steps)
    ready = _ready(expression, results)
    if not ready:
        return _result(turn, expression, steps)
    return turn.ask([call for operation in ready if (call := _asked(operation, results, tools[operation.operator]))])


def _replay(turn: Turn, expression: Expression) -> tuple[list[_Step], Results]:
    """Repeat the turn's rounds in order. Each round asked for the operations whose operands were known then."""
    steps: list[_Step] = []
    results: Results = {}
    for calls in turn.rounds:
        ready = _ready(expression, results)
        for operation, done in zip(ready, calls, strict=False):
            step = _Step(
                operation=operation,
                left=_value(operation.left, results),
                right=_value(operation.right, results),
                done=done,
                result=read_number(done.result) if done.fate == "answered" else None,
            )
            steps.append(step)
        results |= {step.operation: step.result for step in steps if step.result is not None}
        if any(step.result is None for step in steps):
            break
    return steps, results


def _ready(expression: Expression, results: Results) -> list[Operation]:
    def is_known(part: Expression) -> bool:
        return isinstance(part, Number) or part in results

    ready = [
        operation
        for operation in operations(expression)
        if operation not in results and is_known(operation.left) and is_known(operation.right)
    ]
    return list(dict.fromkeys(ready))


def _value(expression: Expression, results: Results) -> Decimal:
    return expression.value if isinstance(expression, Number) else results[expression]


def _asked(operation: Operation, results: Results, tool: Tool | None) -> AskedCall | None:
    if tool is None:
        return None
    names = list(tool.types)
    first, second = ("a", "b") if "a" in tool.types or len(names) != 2 else (names[0], names[1])
    left, right = (number_text(_value(part, results)) for part in (operation.left, operation.right))
    # Formatted here, so that digits stay as the user or the tool wrote them.
    text = f"{{{json.dumps(parameter(tool, first))}:{left},{json.dumps(parameter(tool, second))}:{right}}}"
    return AskedCall(name=tool.name, arguments=text)


def read_number(text: str) -> Decimal | None:
    """Return the last number in a tool's text, None if there is none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None  # not JSON but plain text, as most tools return
    if is_object(value) and "result" in value:
        text = str(value["result"])
    numbers = _RESULT_NUMBER.findall(text[-2_000:])
    try:
        return Decimal(numbers[-1]) if numbers else None
    except InvalidOperation:
        return None


def _lines(steps: list[_Step]) -> str:
    return "\n".join(
        f"{number}. `{step.done.call.name}`: {step.sum_text} → {_shown(step.result)}"
        for number, step in enumerate(steps, 1)
    )


def _shown(value: Decimal | None) -> str:
    return "–" if value is None else number_text(value)


def _result(turn: Turn, expression: Expression, steps: list[_Step]) -> Plan:
    last = steps[-1].result if steps else None
    text = f"{written(expression)} = **{_shown(last)}**\n\n{_lines(steps)}"
    surprising = [step for step in steps if step.is_surprising]
    for step in surprising:
        text += turn.words(
            f"\n\nI expected something else for {step.sum_text}. I used what the tool told me, {_shown(step.result)}: "
            "were its arguments changed?",
            f"\n\n{step.sum_text} 的结果出乎意料。我按工具给出的 {_shown(step.result)} 继续计算：它的参数被改过吗？",
        )
    return turn.answer(text)


def _gave_up(turn: Turn, expression: Expression, steps: list[_Step]) -> Plan:
    troubles = [step for step in steps if step.result is None]
    lines = "\n".join(f"- {step.sum_text}: {outcome(turn, step.done)}" for step in troubles)
    finished = [step for step in steps if step.result is not None]
    text = turn.words(
        f"I have no result for {written(expression)}, and I compute nothing myself.\n\n{lines}",
        f"{written(expression)} 没有算出结果，我自己不做计算。\n\n{lines}",
    )
    if finished:
        text += turn.words("\n\nDone before that:\n\n", "\n\n在此之前完成的：\n\n") + _lines(finished)
    return turn.answer(text)


def _no_tool(turn: Turn, expression: Expression, missing: list[Operator]) -> Plan:
    english = {"+": "addition", "-": "subtraction", "*": "multiplication", "/": "division"}
    chinese = {"+": "加法", "-": "减法", "*": "乘法", "/": "除法"}
    return turn.answer(
        turn.words(
            f"For {written(expression)} I need tools for {', '.join(english[o] for o in missing)}, and I was offered none. "
            "I compute nothing myself.",
            f"要算 {written(expression)}，我需要做{'、'.join(chinese[o] for o in missing)}的工具，但请求里没有。我自己不做计算。",
        )
    )
