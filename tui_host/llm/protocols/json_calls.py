"""`json` and `function`: an answer is a JSON object, or a list of objects. Source: MCP documentation, simple chatbot.

The two protocols differ in spelling: `{"tool": …, "arguments": …}` comes from the simple chatbot, `{"function": …,
"parameters": …}` from tutorials. JSON that is meant for the user is no call. Only the first object counts: what follows
it is made up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from typing_extensions import override

from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import Node, spans
from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.grammar import (
    CUT,
    BrokenCall,
    Ending,
    Parsed,
    ReadCall,
    Syntax,
    end_of_value,
    json_fault,
    parameters,
    read_call,
)
from tui_host.llm.protocols.text_protocol import TextProtocol
from tui_host.llm.tool_names import tool_meant

_SPELLINGS = (("tool", "arguments"), ("function", "parameters"), ("name", "arguments"))
"""The keys for name and arguments, in every spelling that models use."""
_MEANT = re.compile(r"""["'](?:tool|function|name)["']\s*:\s*["']([^"'\n]{1,200})["']""")
_MOST_GUESSED = 16  # names in broken JSON that are compared with all tool names


def _parse(text: str, tools: Sequence[ToolSpec], ending: Ending) -> Parsed | None:
    end = end_of_value(text)
    if end < 0 and ending == "open":
        return None
    size = end if end >= 0 else len(text)
    try:
        read_json(text[:size])
    except ValueError as error:
        if not any(tool_meant(found[1], tools) for found in islice(_MEANT.finditer(text, 0, size), _MOST_GUESSED)):
            return Parsed(size=size)
        reason = f"the call is not JSON: {json_fault(text[:size], error)}"[:300]
        return Parsed(size=size, fault=CUT if end < 0 and ending == "length" else reason)
    body = text[:size].encode("utf-8", "replace")
    root = spans(body)
    objects = () if root is None else root.elements or (root,)
    try:
        calls = [_call(body, node, tools) for node in objects]
    except BrokenCall as broken:
        return Parsed(size=size, fault=str(broken))
    found = tuple(call for call in calls if call is not None)
    if len(found) == 1:  # of several calls each keeps its own object
        found = (replace(found[0], written=""),)
    return Parsed(size=size, found=found if len(found) == len(calls) else ())


def _call(body: bytes, node: Node, tools: Sequence[ToolSpec]) -> ReadCall | None:
    for called, given in _SPELLINGS:
        name, arguments = node.get(called), node.get(given)
        if name is None or not (named := name.text(body)):
            continue
        if tool_meant(named, tools) is None:
            # Nobody gives a user an object of just these two keys: the model has misspelt or invented a tool.
            is_exact = arguments is not None and arguments.kind == "object" and len(node.members) == 2
            if not is_exact or called == "name":
                continue
        arguments = arguments or next((value for _, key in _SPELLINGS if (value := node.get(key)) is not None), None)
        if arguments is not None:
            read = read_call(named, body[arguments.start : arguments.end].decode(), tools)
            return replace(read, written=body[node.start : node.end].decode())
        if called != "name":  # a list of names is data
            raise BrokenCall(f'the call of {named} has no "{given}"')
    return None


class JsonCalls(TextProtocol):
    """An answer is a call if it is a JSON object and nothing else."""

    name = "json"
    call_form = '{"tool": %(ascii)s, "arguments": %(given)s}'
    result_form = ("Tool %(kind)s for %(name)s:\n", "")
    between: str = "\n\n"
    grammar: Syntax = Syntax(signs=re.compile(r"(?P<call>\{|\[\s*\{)"), begins=re.compile(r"\[\s*"), parse=_parse)

    @override
    def tool_list(self, tools: Sequence[ToolSpec]) -> str:
        described: list[str] = []
        for tool in tools:
            required = tool.schema.get("required") if isinstance(tool.schema, dict) else None
            needed = required if isinstance(required, list) else []
            lines = [f"Tool: {tool.name}", f"Description: {tool.description}", "Arguments:"]
            for name, value in parameters(tool).items():
                must = " (required)" if name in needed else ""
                lines.append(f"- {name}: {json.dumps(value, ensure_ascii=False)}{must}")
            described.append("\n".join(lines))
        return "\n\n".join(described)


class FunctionCalls(JsonCalls):
    """Like `json`, with the keys that tutorials use."""

    name = "function"
    call_form = '{"function": %(ascii)s, "parameters": %(given)s}'
    given: str = "parameters"
