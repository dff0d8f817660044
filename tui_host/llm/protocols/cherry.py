"""`cherry`: Cherry Studio's `<tool_use>`, several calls in an answer. Source: Cherry Studio's system prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from typing_extensions import override

from tui_host.llm.messages import ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.call_grammar import Broken, Ending, Read, ReadCall, elements, read_arguments
from tui_host.llm.protocols.tag_reader import TagReader
from tui_host.llm.protocols.text_protocol import TextProtocol, result_text

TAG = "tool_use"


class CherryGrammar:
    """`<tool_use><name>…</name><arguments>{…}</arguments></tool_use>`."""

    tags: Mapping[str, Sequence[str]] = {TAG: ("<name>", "<arguments>")}
    several: bool = True
    streamed: Mapping[str, str] = MappingProxyType({})
    results: Sequence[str] = ("tool_use_result",)
    thinking_with_calls: Sequence[str] = ("thinking",)  # Cherry removes <think> only after looking for calls

    def ending(self, tag: str) -> Ending:
        """Find the closing tag after the arguments, in which the same tag may occur."""
        return Ending(f"</{tag}>", json_from="<arguments>", json_to="</arguments>")

    def read(self, tag: str, inside: str, tools: Sequence[ToolSpec]) -> Read:
        """Read the call."""
        del tag, tools
        values = elements(inside, ("name", "arguments"), json_in="arguments")
        name = values.get("name")
        if not name:
            return Broken(reason="there is no <name> in it")
        if "arguments" not in values:
            return Broken(reason=f"the call of {name} has no <arguments> that end with </arguments>")
        read = read_arguments(values["arguments"])
        return (
            Broken(reason=f"{name}: {read.reason}") if isinstance(read, Broken) else ReadCall(name=name, arguments=read)
        )


class Cherry(TextProtocol):
    """Calls and results between tags, several at once."""

    name: str = "cherry"
    stops: tuple[str, ...] = ("<tool_use_result>",)
    envelope: str = "</result>"

    @override
    def reader(self, tools: Sequence[ToolSpec]) -> TagReader:
        return TagReader(CherryGrammar(), tools)

    @override
    def tool_list(self, tools: Sequence[ToolSpec]) -> str:
        """Write name, description and schema of each tool between tags."""
        listed = [
            f"<tool>\n  <name>{tool.name}</name>\n  <description>{tool.description}</description>\n"
            f"  <arguments>\n    {json.dumps(tool.schema, ensure_ascii=False, separators=(',', ':'))}\n  </arguments>\n</tool>"
            for tool in tools
        ]
        return "<tools>\n\n" + "\n\n".join(listed) + "\n\n</tools>"

    @override
    def call_words(self, call: ToolCall, tools: Sequence[ToolSpec]) -> str:
        del tools
        return f"<{TAG}>\n  <name>{call.name}</name>\n  <arguments>{call.arguments}</arguments>\n</{TAG}>"

    @override
    def framed(self, result: ToolResult, tools: Sequence[ToolSpec]) -> tuple[str, str, str]:
        del tools
        before = f"<tool_use_result>\n  <name>{result.call.name}</name>\n  <result>"
        return before, result_text(result), "</result>\n</tool_use_result>"
