"""`react`: Thought, Action, Action Input, Observation, Final Answer. Source: Yao et al., ReAct."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from contextlib import suppress

from typing_extensions import override

from tui_host.errors import JSON
from tui_host.llm.messages import ToolResult, ToolSpec
from tui_host.llm.protocols.grammar import (
    CUT,
    BrokenCall,
    Ending,
    Parsed,
    ReadCall,
    Syntax,
    end_of_value,
    parameters,
    read_arguments,
    read_call,
)
from tui_host.llm.protocols.text_protocol import TextProtocol, result_text
from tui_host.llm.tool_names import tool_meant

_COLON = r"\**[ \t]*[:：][ \t]*\**[ \t]?"
_ACTION, _INPUT = rf"[ \t]*\**(?:Action|行动){_COLON}", rf"[ \t]*\**(?:Action Input|行动输入){_COLON}"
_LABELS = (
    rf"[ \t]*\**(?P<thought>Thought|Question|思考|问题){_COLON}"
    rf"|[ \t]*\**(?P<answer>Final ?Answer|最终答案){_COLON}"
    rf"|[ \t]*\**(?P<made_up>Observation|观察){_COLON}"
    rf"|(?P<call>{_ACTION})"
)
"""What a line may begin with, in English and as models write it in Chinese."""
_SIGNS = re.compile(_LABELS, re.IGNORECASE)
_NEXT_LABEL = re.compile(rf"\n(?={_LABELS})", re.IGNORECASE)
_TAKES = re.compile(rf"{_ACTION}(?P<action>.*?)(?:\n{_INPUT}(?P<given>.*))?\Z", re.IGNORECASE | re.DOTALL)
_BEGINS = re.compile(r"\**[A-Za-z思考行动输入观察最终答案问题 ]{0,14}\**[ \t]*")
_NOTHING = frozenset(("none", "n/a", "na", "no action", "无"))
_VALUE = re.compile(r"\s*`*(?:json)?\s*(?=[{\[])")
_CALLED = re.compile(r"(?P<name>[^\s(]+)\((?P<inside>.*)\)\s*", re.DOTALL)
_MEANT = re.compile(r"\s*[`*]*(?P<name>[^\s(`*]+)[`*]*\s*(?P<open>\(?)")


def _parse(text: str, tools: Sequence[ToolSpec], ending: Ending) -> Parsed | None:
    """Parse an action: its line, and the input up to the end of its object, the next label, or the end of the answer."""
    label = _NEXT_LABEL.search(text, 1)
    size = len(text) if label is None else label.end()
    taken = _TAKES.match(text[:size])
    if taken is None:
        return Parsed(size=size)
    action, given = taken["action"], taken["given"]
    lines, _, last = action.rpartition("\n")
    may_grow = ending == "open" and _BEGINS.fullmatch(last) is not None  # the last line may become a label
    # A sentence after `Action:`, or a word that more lines follow, is no action.
    said = lines if may_grow else action
    may_be_prose = not said.lstrip().startswith(("{", "```")) and said.strip().partition("\n")[2].strip()
    meant = _MEANT.match(said) if may_be_prose else None
    if meant is not None and not meant["open"] and tool_meant(meant["name"], tools) is None:
        return Parsed(size=text.find("\n") + 1 or len(text))
    value = None if given is None else _VALUE.match(given)
    end = -1 if value is None or given is None else end_of_value(given, value.end())
    if end >= 0 and given is not None:
        size, given = taken.start("given") + end, given[:end]
    elif label is None and ending == "open":
        return None
    if action.strip().strip("`*").lower() in _NOTHING:
        return Parsed(size=size, is_dropped=True)
    try:
        call = _read(action.strip().strip("`*").strip(), given, tools, is_cut=ending == "length")
    except BrokenCall as broken:
        return Parsed(size=size, fault=str(broken))
    return Parsed(size=size, found=() if call is None else (call,))


def _read(name: str, given: str | None, tools: Sequence[ToolSpec], *, is_cut: bool) -> ReadCall | None:
    """Read an action with its input; without one it may be an object, or `NAME(…)`. None for a sentence."""
    if given is not None:
        value = given.strip().strip("`").removeprefix("json").strip()
        return _plain_call(name, value, tools) or read_call(name, value, tools)
    whole, called = _VALUE.match(name), _CALLED.fullmatch(name)
    if whole is not None:  # an object that holds name and input, as LangChain teaches it
        action: dict[str, JSON] = json.loads(read_arguments(name[whole.end() :], "what follows Action: is"))
        name = next((said for key in ("action", "name", "tool") if isinstance(said := action.get(key), str)), "")
        keys = ("action_input", "arguments", "input", "parameters")
        inside: JSON = next((found for key in keys if (found := action.get(key)) is not None), None) or {}
        if isinstance(inside, str) and (plain := _plain_call(name, inside, tools)):
            return plain
        if not name or not isinstance(inside, dict):
            raise BrokenCall('the object behind Action: needs "action" and "action_input", an object')
        return ReadCall(name=name, arguments=json.dumps(inside, ensure_ascii=False))
    if called is None and " " in name:
        return None
    if called is None:
        raise BrokenCall(CUT if is_cut else f"there is no Action Input behind the Action {name[:60]!r}")
    name, names = called["name"], list(parameters(tool_meant(called["name"], tools)))
    with suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        # The values are literals; no code is run.
        tree = ast.parse(f"f({called['inside']})", mode="eval").body
        if isinstance(tree, ast.Call) and len(tree.args) <= len(names):
            arguments = dict(zip(names, map(_literal, tree.args), strict=False))
            arguments |= {value.arg: _literal(value.value) for value in tree.keywords if value.arg}
            return ReadCall(name=name, arguments=json.dumps(arguments, ensure_ascii=False, allow_nan=False))
    raise BrokenCall(f"{name}: the arguments of {name}(…) are no plain values; write Action Input: with JSON")


def _plain_call(name: str, text: str, tools: Sequence[ToolSpec]) -> ReadCall | None:
    """Return the call of a tool whose only parameter is a text, if its input is a plain text."""
    schemas = parameters(tool_meant(name, tools))
    names = [key for key, schema in schemas.items() if isinstance(schema, dict) and schema.get("type") == "string"]
    if len(schemas) != 1 or not names or not text or text[0] in "{[":
        return None
    with suppress(ValueError):
        value: JSON = json.loads(text)
        text = value if isinstance(value, str) else text
    return ReadCall(name=name, arguments=json.dumps({names[0]: text}, ensure_ascii=False))


def _literal(node: ast.expr) -> JSON:
    # JSON's constants count too.
    words: dict[str, JSON] = {"true": True, "false": False, "null": None}
    return words[node.id] if isinstance(node, ast.Name) and node.id in words else ast.literal_eval(node)


class React(TextProtocol):
    """An answer holds one action, and an observation follows each."""

    name = "react"
    tool_form = "- %(name)s: %(description)s Input schema: %(schema)s"
    call_form = "Action: %(name)s\nAction Input: %(given)s"
    stops: tuple[str, ...] = ("\nObservation:",)
    thought_tags = frozenset(("Thought", "thought", "THOUGHT", "思考"))  # a ReAct prompt holds them all
    given: str = "input"
    grammar: Syntax = Syntax(signs=_SIGNS, begins=_BEGINS, parse=_parse)

    @override
    def framed(self, result: ToolResult, tools: Sequence[ToolSpec]) -> tuple[str, str, str]:
        text = result_text(result)
        return "Observation: ", f"Error: {text}" if result.is_error and not text.startswith("Error") else text, ""
