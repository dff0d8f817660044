"""`cherry`: Cherry Studio's `<tool_use>`, several calls in an answer. Source: Cherry Studio's system prompt."""

from __future__ import annotations

import json
from collections.abc import Sequence

from typing_extensions import override

from tui_host.llm.messages import ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.grammar import BrokenCall, Found, Syntax, read_call
from tui_host.llm.protocols.tags import element, tag_grammar
from tui_host.llm.protocols.text_protocol import TextProtocol, result_text


def _read(tag: str, inside: str, tools: Sequence[ToolSpec]) -> Found:
    del tag
    name, arguments = element(inside, "name"), element(inside, "arguments", is_last=True)
    if not name:
        raise BrokenCall("there is no <name> in it")
    if arguments is None:
        raise BrokenCall(f"the call of {name} has no <arguments> that end with </arguments>")
    return read_call(name, arguments, tools)


class Cherry(TextProtocol):
    """`<tool_use><name>…</name><arguments>{…}</arguments></tool_use>`, and results between tags."""

    name = "cherry"
    stops: tuple[str, ...] = ("<tool_use_result>",)
    envelope: str = "</result>"
    grammar: Syntax = tag_grammar({"tool_use": ("<name>", "<arguments>")}, _read, results="tool_use_result")

    @override
    def tool_list(self, tools: Sequence[ToolSpec]) -> str:
        listed = [
            f"<tool>\n  <name>{tool.name}</name>\n  <description>{tool.description}</description>\n"
            f"  <arguments>\n    {json.dumps(tool.schema, ensure_ascii=False, separators=(',', ':'))}\n  </arguments>\n</tool>"
            for tool in tools
        ]
        return "<tools>\n\n" + "\n\n".join(listed) + "\n\n</tools>"

    @override
    def write(self, call: ToolCall, tools: Sequence[ToolSpec]) -> str:
        return f"<tool_use>\n  <name>{call.name}</name>\n  <arguments>{call.arguments}</arguments>\n</tool_use>"

    @override
    def framed(self, result: ToolResult, tools: Sequence[ToolSpec]) -> tuple[str, str, str]:
        before = f"<tool_use_result>\n  <name>{result.call.name}</name>\n  <result>"
        return before, result_text(result), "</result>\n</tool_use_result>"
