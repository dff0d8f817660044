"""Rule: arithmetic of several steps, each made by a tool; nothing is computed here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from tui_host.demo.model.brain.expression import (
    Expression,
    Number,
    Operation,
    Operator,
    compute,
    find_expression,
    number_text,
    operations,
    written,
)
from tui_host.demo.model.brain.quoting import what_went_wrong
from tui_host.demo.model.json_values import is_object
from tui_host.demo.model.plan import AskedCall, Plan
from tui_host.demo.model.question_turn import DoneCall, Turn
from tui_host.demo.model.request_content import Tool
from tui_host.demo.model.toolbox import parameter

_TOOLS: dict[Operator, tuple[str, ...]] = {
    "+": ("add", "plus", "sum", "addition"),
    "-": ("subtract", "minus", "sub", "subtraction"),
    "*": ("multiply", "times", "mul", "product", "multiplication"),
    "/": ("divide", "div", "quotient", "division"),
}
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_Known: TypeAlias = dict[Operation, Decimal]


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
        """Whether the tool's answer differs from arithmetic: its arguments may have been edited."""
        expected = compute(self.operation.operator, self.left, self.right)
        if expected is None or self.result is None:
            return False
        return abs(self.result - expected) > max(abs(expected), Decimal(1)) * Decimal("1e-9")


def sums(turn: Turn) -> Plan | None:
    """Ask for operations with known operands, until the last has its result."""
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


def _replay(turn: Turn, expression: Expression) -> tuple[list[_Step], _Known]:
    """Replay the turn's rounds: each asked for the operations ready then, in order."""
    steps: list[_Step] = []
    results: _Known = {}
    for calls in turn.rounds:
        ready = _ready(expression, results)
        for operation, done in zip(ready, calls, strict=False):
            step = _Step(
                operation=operation,
                left=_value(operation.left, results),
                right=_value(operation.right, results),
                done=done,
                result=read_number(done.told) if done.fate == "answered" else None,
            )
            steps.append(step)
        results |= {step.operation: step.result for step in steps if step.result is not None}
        if any(step.result is None for step in steps):
            break
    return steps, results


def _ready(expression: Expression, known: _Known) -> list[Operation]:
    def is_known(part: Expression) -> bool:
        return isinstance(part, Number) or part in known

    ready = [
        operation
        for operation in operations(expression)
        if operation not in known and is_known(operation.left) and is_known(operation.right)
    ]
    return list(dict.fromkeys(ready))


def _value(expression: Expression, known: _Known) -> Decimal:
    return expression.value if isinstance(expression, Number) else known[expression]


def _asked(operation: Operation, known: _Known, tool: Tool | None) -> AskedCall | None:
    if tool is None:
        return None
    names = list(tool.types)
    first, second = ("a", "b") if "a" in tool.types or len(names) != 2 else (names[0], names[1])
    left, right = (number_text(_value(part, known)) for part in (operation.left, operation.right))
    # Written out by hand: the digits stay those that the person or the tool wrote.
    text = f"{{{json.dumps(parameter(tool, first))}:{left},{json.dumps(parameter(tool, second))}:{right}}}"
    return AskedCall(name=tool.name, arguments=text)


def read_number(text: str) -> Decimal | None:
    """Return the number in a tool's text, the last if several. None if absent."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None  # plain text, as most tools give it
    if is_object(value) and "result" in value:
        text = str(value["result"])
    numbers = _NUMBER.findall(text[-2_000:])
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
    lines = "\n".join(f"- {step.sum_text}: {what_went_wrong(turn, step.done)}" for step in troubles)
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
