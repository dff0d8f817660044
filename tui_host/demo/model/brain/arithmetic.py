"""Rule: answers arithmetic in several steps, each by a tool call. The model itself computes nothing."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tui_host.demo.model.brain.toolbox import tool_for
from tui_host.demo.model.brain.turn import DemoTurn
from tui_host.demo.model.conversation import DemoCall
from tui_host.demo.model.json_values import parsed_object
from tui_host.demo.model.plan import Plan

_TOOLS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_SIGNS = str.maketrans({"×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "∕": "/", "−": "-", "–": "-"})
_WORDS = tuple(
    (re.compile(rf"(?<=[\d)])\s*(?:{words})\s*(?=[-\d(])", re.IGNORECASE), f" {sign} ")
    for words, sign in (
        ("plus|加上|加", "+"),
        ("minus|减去|减", "-"),
        ("multiplied by|times|x|乘以|乘", "*"),
        ("divided by|over|除以", "/"),
    )
)
_RUN = re.compile(r"[-+*/().\d\s]+")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}")
_RESULT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_MOST_CHARACTERS, _MOST_OPERATIONS = 300, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operator with two operands. Equal operations are asked for only once."""

    operator: str
    left: Expression
    right: Expression


Expression: TypeAlias = str | Operation
"""A number, in the digits of the user, or an operation."""


def find_expression(text: str) -> Operation | None:
    """Return the longest arithmetic expression in a text, None if there is none or it is too long for a demonstration."""
    plain = unicodedata.normalize("NFKC", text.translate(_SIGNS))
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", plain)
    for pattern, sign in _WORDS:
        plain = pattern.sub(sign, plain)
    for found in sorted(_RUN.findall(plain), key=len, reverse=True):
        run = " ".join(found.split()).rstrip(". ")
        if len(run) > _MOST_CHARACTERS or _DATE.fullmatch(run) or "**" in run or "//" in run:
            continue
        run = re.sub(r"(?<![\d.])0+(?=\d)", "", run)  # Python's grammar has no numbers with zeros in front
        try:
            tree = _tree(ast.parse(run, mode="eval").body, run)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(tree, Operation) and len(list(_operations(tree))) <= _MOST_OPERATIONS:
            return tree
    return None


def _tree(node: ast.expr, text: str) -> Expression:
    match node:
        case ast.Constant():
            return text[node.col_offset : node.end_col_offset]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            negated = _tree(operand, text)
            if isinstance(negated, str):
                return negated[1:] if negated.startswith("-") else f"-{negated}"
            return Operation(operator="-", left="0", right=negated)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return Operation(operator=_OPERATORS[type(operator)], left=_tree(left, text), right=_tree(right, text))
        case _:
            raise ValueError("no arithmetic")


def _operations(expression: Expression) -> Iterator[Operation]:
    """Yield all operations; the operands of an operation come first."""
    if isinstance(expression, Operation):
        yield from _operations(expression.left)
        yield from _operations(expression.right)
        yield expression


def written(expression: Expression) -> str:
    """Format an expression for a person, with parentheses that show the order of the steps."""
    if isinstance(expression, str):
        return expression
    sides: list[str] = []
    for side in (expression.left, expression.right):
        text = written(side)
        needs = text.startswith("-")
        if isinstance(side, Operation):
            binds, outer = side.operator in "*/", expression.operator in "*/"
            needs = binds < outer or (binds == outer and side is expression.right)
        sides.append(f"({text})" if needs else text)
    sign = {"*": "×", "-": "−"}.get(expression.operator, expression.operator)
    return f" {sign} ".join(sides)


def sums(turn: DemoTurn) -> Plan | None:
    """Ask for the operations whose operands are known, until the last operation has its result."""
    expression = find_expression(turn.question[:4_000])
    if expression is None:
        return None
    found = ((operator, tool_for(turn.tools, "math", name)) for operator, name in _TOOLS.items())
    tools = {operator: tool for operator, tool in found if tool is not None}
    missing = [operation for operation in _operations(expression) if operation.operator not in tools]
    if missing:
        return turn.answer(
            turn.words(
                f"For {written(missing[0])} I was offered no tool, and I compute nothing myself.",
                f"请求里没有工具可以算 {written(missing[0])}，我自己不做计算。",
            ),
            lacks_tool=True,
        )
    results: dict[Operation, str] = {}
    lines: list[str] = []
    # Each round asked for the operations whose operands were known then.
    for calls in turn.rounds:
        for operation, done in zip(_ready(expression, results), calls, strict=False):
            text = done.result.text
            value = parsed_object(text) or {}
            numbers = _RESULT.findall(str(value.get("result", text))[-2_000:])
            if done.fate != "answered" or not numbers:
                lines.append(turn.outcome(done))
                no_result = turn.words("I have no result for", "没有算出结果：")
                return turn.answer(f"{no_result} {written(expression)}.\n\n" + "\n".join(lines))
            results[operation] = numbers[-1]
            lines.append(f"{len(lines) + 1}. `{done.call.name}` {done.call.arguments} → {numbers[-1]}")
    if expression in results:
        steps = "\n".join(lines)
        return turn.answer(f"{written(expression)} = **{results[expression]}**\n\n{steps}")
    asked: list[DemoCall] = []
    for operation in _ready(expression, results):
        # Formatted here, so that digits stay as the user or the tool wrote them.
        left, right = (side if isinstance(side, str) else results[side] for side in (operation.left, operation.right))
        asked.append(DemoCall(name=tools[operation.operator], arguments=f'{{"a":{left},"b":{right}}}'))
    return Plan(calls=tuple(asked))


def _ready(expression: Expression, results: dict[Operation, str]) -> list[Operation]:
    """Return the operations without a result whose operands are known."""
    ready: list[Operation] = []
    for operation in _operations(expression):
        sides = (operation.left, operation.right)
        if operation not in results and all(isinstance(side, str) or side in results for side in sides):
            ready.append(operation)
    return list(dict.fromkeys(ready))
