"""What an action of `react` is: a name with an input, or a call as one writes it in code. Source: tool-protocols.md, section 5."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Literal

from tui_host.errors import JSON
from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.call_grammar import Broken, ReadCall, read_arguments

_NOTHING = frozenset(("none", "n/a", "na", "no action", "无"))
_CALLED = re.compile(r"(?P<name>[^\s(]+)\((?P<inside>.*)\)\s*", re.DOTALL)

_MEANT = re.compile(r"[`*]*(?P<name>[^\s(`*]+)[`*]*\s*(?P<open>\(?)")


def is_prose(action: str, tools: Mapping[str, ToolSpec]) -> bool:
    """Whether what stands behind `Action:` so far is no action: a sentence, or a word that is no tool's with other lines below."""
    action = action.lstrip()
    meant = _MEANT.match(action)
    if meant is None or meant.group("open") or meant.group("name") in tools:
        return False
    return bool("\n" in action and action.partition("\n")[2].strip())


def read_action(
    action: str, given: str | None, tools: Mapping[str, ToolSpec], *, is_cut: bool
) -> ReadCall | Broken | Literal["prose"] | None:
    """The call of an action with its input; None for one that says that there is none, and what is no action but prose.

    Args:
        action: What stands behind `Action:`.
        given: What stands behind `Action Input:`, None where there is none.
        tools: What may be called, by name.
        is_cut: The answer ended at the token limit.
    """
    name = action.strip().strip("`*").strip()
    if name.lower() in _NOTHING:
        return None
    if given is None:
        called = _CALLED.fullmatch(name)
        if called is not None:
            return _called(called.group("name"), called.group("inside"), tools)
        if " " in name:
            return "prose"
        if is_cut:
            return Broken(reason="the action was cut at the token limit")
        return Broken(reason=f"there is no Action Input behind the Action {name[:60]!r}")
    if not name:
        return Broken(reason="there is an Action Input without an Action")
    read = read_arguments(given.strip().strip("`").removeprefix("json").strip())
    return Broken(reason=f"{name}: {read.reason}") if isinstance(read, Broken) else ReadCall(name=name, arguments=read)


def _called(name: str, inside: str, tools: Mapping[str, ToolSpec]) -> ReadCall | Broken:
    """An action written as `NAME(…)`: its values are read as literals, nothing is run."""
    wrong = Broken(reason=f"{name}: the arguments of {name}(…) are no plain values; write Action Input: with JSON")
    try:
        tree = ast.parse(f"f({inside})", mode="eval").body
        if not isinstance(tree, ast.Call):
            return wrong
        values: list[JSON] = [ast.literal_eval(each) for each in tree.args]
        named: dict[str, JSON] = {
            each.arg: ast.literal_eval(_constants(each.value)) for each in tree.keywords if each.arg is not None
        }
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return wrong
    names = _parameters(tools.get(name))
    if len(values) > len(names):
        return wrong
    arguments = {**dict(zip(names, values, strict=False)), **named}
    try:
        return ReadCall(name=name, arguments=json.dumps(arguments, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError):
        return wrong


def _parameters(tool: ToolSpec | None) -> list[str]:
    schema: Mapping[str, JSON] = tool.schema if tool is not None and isinstance(tool.schema, dict) else {}
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []


def _constants(node: ast.expr) -> ast.expr:
    """JSON's own words for Python's."""
    words = {"true": True, "false": False, "null": None}
    return ast.Constant(words[node.id]) if isinstance(node, ast.Name) and node.id in words else node
