"""`cherry`: Cherry Studio's `<tool_use>`, several calls in an answer. Source: Cherry Studio's system prompt."""

from __future__ import annotations

from collections.abc import Sequence

from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.grammar import BrokenCall, Found, Syntax, read_call
from tui_host.llm.protocols.tags import element, tag_grammar
from tui_host.llm.protocols.text_protocol import TextProtocol


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
    tool_form = (
        "<tool>\n  <name>%(name)s</name>\n  <description>%(description)s</description>\n"
        "  <arguments>\n    %(compact_schema)s\n  </arguments>\n</tool>"
    )
    list_form = ("<tools>\n\n", "\n\n", "\n\n</tools>")
    call_form = "<tool_use>\n  <name>%(name)s</name>\n  <arguments>%(written)s</arguments>\n</tool_use>"
    result_form = ("<tool_use_result>\n  <name>%(name)s</name>\n  <result>", "</result>\n</tool_use_result>")
    stops: tuple[str, ...] = ("<tool_use_result>",)
    envelope: str = "</result>"
    grammar: Syntax = tag_grammar({"tool_use": ("<name>", "<arguments>")}, _read, results="tool_use_result")
