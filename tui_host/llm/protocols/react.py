"""`react`: Thought, Action, Action Input, Observation, Final Answer. Source: Yao et al., ReAct."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence

from typing_extensions import override

from tui_host.errors import JSON
from tui_host.llm.messages import Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.grammar import (
    CUT,
    Broken,
    Ending,
    Found,
    Grammar,
    Parsed,
    ReadCall,
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
_NEXT_LABEL = re.compile(rf"\n(?={_LABELS}|{_INPUT})", re.IGNORECASE)
_TAKES = re.compile(rf"{_ACTION}(?P<action>.*?)(?:\n(?P<label>{_INPUT})(?P<given>.*))?\Z", re.IGNORECASE | re.DOTALL)
_BEGINS = re.compile(r"\**[A-Za-z思考行动输入观察最终答案问题 ]{0,14}\**[ \t]*")
_THOUGHTS = frozenset(("Thought", "thought", "THOUGHT", "思考"))
_NOTHING = frozenset(("none", "n/a", "na", "no action", "无"))
_OBJECT = re.compile(r"(?:json)?\s*\{")
_CALLED = re.compile(r"(?P<name>[^\s(]+)\((?P<inside>.*)\)\s*", re.DOTALL)
_MEANT = re.compile(r"\s*[`*]*(?P<name>[^\s(`*]+)[`*]*\s*(?P<open>\(?)")


def _parse(text: str, tools: Sequence[ToolSpec], ending: Ending) -> Parsed | None:
    """Parse an action: its line, and the input up to the end of its object, the next label, or the end of the answer."""
    size, is_whole = len(text), ending != "open"
    for label in _NEXT_LABEL.finditer(text, 1):
        if re.compile(_INPUT, re.IGNORECASE).match(text, label.end()) is None:
            size, is_whole = label.end(), True
            break
    taken = _TAKES.match(text[:size])
    if taken is None:
        return Parsed(size=size)
    action, given = taken["action"], taken["given"]
    last = action.rpartition("\n")
    may_grow = ending == "open" and _BEGINS.fullmatch(last[2]) is not None  # the last line may become a label
    if _is_prose(last[0] if may_grow else action, tools):
        return Parsed(size=text.find("\n") + 1 or len(text))
    if given is not None:
        start = taken.start("given")
        value = re.compile(r"\s*`*(?:json)?\s*(?=[{\[])").match(text, start)
        end = end_of_value(text[:size], value.end()) if value is not None else -1
        if end >= 0:
            size, is_whole, given = end, True, text[start:end]
    if not is_whole:
        return None
    if action.strip().strip("`*").lower() in _NOTHING:
        return Parsed(size=size, is_dropped=True)
    found = _read(action, given, tools, is_cut=ending == "length")
    return Parsed(size=size, found=() if found is None else (found,))


def _is_prose(action: str, tools: Sequence[ToolSpec]) -> bool:
    """Tell whether the text after `Action:` is a sentence, or a word followed by more lines, and so no action."""
    if action.lstrip().startswith(("{", "```")) or not action.strip().partition("\n")[2].strip():
        return False
    meant = _MEANT.match(action)
    return meant is not None and not meant["open"] and tool_meant(meant["name"], tools) is None


def _read(action: str, given: str | None, tools: Sequence[ToolSpec], *, is_cut: bool) -> Found | None:
    """Read an action with its input, None without the label. None for a sentence."""
    name = action.strip().strip("`*").strip()
    if given is None:
        return _without_input(name, tools, is_cut=is_cut)
    if not name:
        return Broken(reason="there is an Action Input without an Action")
    value = given.strip().strip("`").removeprefix("json").strip()
    parameter = _text_parameter(name, tools)
    if parameter and value and value[0] not in "{[" and isinstance(read_arguments(value), Broken):
        return _text_call(name, parameter, _unquoted(value))
    return read_call(name, value, tools)


def _without_input(name: str, tools: Sequence[ToolSpec], *, is_cut: bool) -> Found | None:
    """Read an action without an input line, whose arguments may stand in the action."""
    whole = _OBJECT.match(name)
    if whole is not None:
        return _object_action(name[whole.end() - 1 :], tools)
    called = _CALLED.fullmatch(name)
    if called is not None:
        return _called(called["name"], called["inside"], tools)
    if " " in name:
        return None
    return Broken(reason=CUT if is_cut else f"there is no Action Input behind the Action {name[:60]!r}")


def _object_action(text: str, tools: Sequence[ToolSpec]) -> Found:
    """Read an action written as an object that holds name and input, as LangChain teaches it."""
    whole = read_arguments(text, "what follows Action: is")
    if isinstance(whole, Broken):
        return whole
    value: dict[str, JSON] = json.loads(whole)
    name = next((value[key] for key in ("action", "name", "tool") if isinstance(value.get(key), str)), None)
    given = next((value[key] for key in ("action_input", "arguments", "input", "parameters") if key in value), None)
    parameter = _text_parameter(name, tools) if isinstance(name, str) else ""
    if isinstance(name, str) and isinstance(given, str) and parameter:
        return _text_call(name, parameter, given)
    if not isinstance(name, str) or not isinstance(given, dict | None):
        return Broken(reason='the object behind Action: needs "action" and "action_input", an object')
    return ReadCall(name=name, arguments=json.dumps(given or {}, ensure_ascii=False))


def _text_parameter(name: str, tools: Sequence[ToolSpec]) -> str:
    """Return the name of a tool's only parameter if that parameter is a text; empty otherwise."""
    schemas = parameters(tool_meant(name, tools))
    texts = [key for key, schema in schemas.items() if isinstance(schema, dict) and schema.get("type") == "string"]
    return texts[0] if len(schemas) == 1 and texts else ""


def _text_call(name: str, parameter: str, text: str) -> ReadCall:
    return ReadCall(name=name, arguments=json.dumps({parameter: text}, ensure_ascii=False))


def _unquoted(text: str) -> str:
    try:
        value: JSON = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def _called(name: str, inside: str, tools: Sequence[ToolSpec]) -> ReadCall | Broken:
    """Read an action written as `NAME(…)`. The values are parsed as literals; no code is run."""
    wrong = Broken(reason=f"{name}: the arguments of {name}(…) are no plain values; write Action Input: with JSON")
    names = list(parameters(tool_meant(name, tools)))
    try:
        tree = ast.parse(f"f({inside})", mode="eval").body
        if not isinstance(tree, ast.Call) or len(tree.args) > len(names):
            return wrong
        values = [ast.literal_eval(_constant(value)) for value in tree.args]
        named = {value.arg: ast.literal_eval(_constant(value.value)) for value in tree.keywords if value.arg}
        arguments: dict[str, JSON] = {**dict(zip(names, values, strict=False)), **named}
        return ReadCall(name=name, arguments=json.dumps(arguments, ensure_ascii=False, allow_nan=False))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return wrong


def _constant(node: ast.expr) -> ast.expr:
    """Replace a constant of JSON by Python's."""
    words = {"true": True, "false": False, "null": None}
    return ast.Constant(words[node.id]) if isinstance(node, ast.Name) and node.id in words else node


class React(TextProtocol):
    """An answer holds one action, and an observation follows each."""

    name: str = "react"
    stops: tuple[str, ...] = ("\nObservation:",)
    given: str = "input"
    grammar: Grammar = Grammar(signs=_SIGNS, begins=_BEGINS, closes="}])\n:：", parse=_parse)

    @override
    def tool_list(self, tools: Sequence[ToolSpec]) -> str:
        """Write one line per tool: name, description, schema."""
        return "\n".join(
            f"- {tool.name}: {tool.description} Input schema: {json.dumps(tool.schema, ensure_ascii=False)}"
            for tool in tools
        )

    @override
    def write(self, call: ToolCall, tools: Sequence[ToolSpec]) -> str:
        return f"Action: {call.name}\nAction Input: {call.arguments.strip() or '{}'}"

    @override
    def thought_words(self, thought: Thinking) -> str:
        """Write the thought as the model wrote it: a ReAct prompt holds all thoughts, actions and observations."""
        return f"{thought.tag}: {thought.text.rstrip()}\n" if thought.tag in _THOUGHTS else ""

    @override
    def framed(self, result: ToolResult, tools: Sequence[ToolSpec]) -> tuple[str, str, str]:
        """Return an observation."""
        text = result_text(result)
        return "Observation: ", f"Error: {text}" if result.is_error and not text.startswith("Error") else text, ""
