"""`hermes`: calls as JSON in `<tool_call>`, several in an answer. Source: NousResearch, Hermes function calling."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import spans
from tui_host.errors import JSON
from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.grammar import BrokenCall, Found, ReadCall, Syntax, parameters, read_arguments, read_call
from tui_host.llm.protocols.tags import tag_grammar
from tui_host.llm.protocols.text_protocol import TextProtocol, spaced_json
from tui_host.llm.tool_names import tool_meant

_FUNCTION = re.compile(r"<function=([^>\s]+)\s*>(.*?)(?:</function>)?\s*", re.DOTALL)
_PARAMETER = re.compile(r"\s*<parameter=([^>]+)>\n?(.*?)\n?</parameter>\s*", re.DOTALL)
"""The form of Qwen's coder models. Source: the chat template of Qwen3-Coder."""


def _read(tag: str, inside: str, tools: Sequence[ToolSpec]) -> Found:
    """Read an object with `name` and `arguments`, whose bytes stay unchanged, or `<function=…>` with parameters."""
    del tag
    text = inside.strip()
    if text.startswith("<function="):
        return _function_call(text, tools)
    body = read_arguments(text, "what stands between the tags is").encode("utf-8", "replace")
    root = spans(body)
    name = root.get("name") if root is not None else None
    called = name.text(body) if name is not None else ""
    if root is None or not called:
        raise BrokenCall('there is no "name" in it')
    node = root.get("arguments") or root.get("parameters")
    if node is None:
        raise BrokenCall(f'the call of {called} has no "arguments"')
    # Arguments may be a string that holds the object: it is decoded once.
    return read_call(called, node.text(body) if node.kind == "string" else body[node.start : node.end].decode(), tools)


def _function_call(text: str, tools: Sequence[ToolSpec]) -> Found:
    """Read a function with parameters. A value is text if the schema says so; else it is JSON, if it can be parsed."""
    function = _FUNCTION.fullmatch(text)
    if function is None or _PARAMETER.sub("", function[2]).strip():
        raise BrokenCall("<function=NAME> is not followed by <parameter=NAME>…</parameter> alone, and </function>")
    schemas = parameters(tool_meant(function[1], tools))
    arguments: dict[str, JSON] = {}
    for name, value in _PARAMETER.findall(function[2]):
        arguments[name.strip()] = value
        if mapping(schemas.get(name.strip())).get("type") != "string":
            with suppress(ValueError, RecursionError):
                arguments[name.strip()] = read_json(value)
    return ReadCall(name=function[1], arguments=spaced_json(arguments))


class Hermes(TextProtocol):
    """Calls as JSON between tags, several at once."""

    name = "hermes"
    tool_form = (
        '{"type": "function", "function": {"name": %(quoted)s, "description": %(quoted_description)s, '
        '"parameters": %(schema)s}}'
    )
    list_form = ("<tools>\n", "\n", "\n</tools>")
    call_form = '<tool_call>\n{"name": %(quoted)s, "arguments": %(given)s}\n</tool_call>'
    # The tool's name tells parallel calls apart.
    result_form = ('<tool_response>\n{"name": %(quoted)s, "content": ', "}\n</tool_response>")
    quotes_results = True
    stops: tuple[str, ...] = ("<tool_response>",)
    envelope: str = "</tool_response>"
    grammar: Syntax = tag_grammar({"tool_call": ("{", "<function=")}, _read, results="tool_response")
