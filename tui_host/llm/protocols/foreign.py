"""Recognises a call that is written in the grammar of another tool protocol than the one that was taught."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui_host.llm.messages import CallStarted, TextDelta, ToolSpec
from tui_host.llm.protocols.cherry import Cherry
from tui_host.llm.protocols.cline import Cline
from tui_host.llm.protocols.hermes import Hermes
from tui_host.llm.protocols.json_calls import JsonCalls
from tui_host.llm.protocols.react import React

_MARKS = re.compile(
    r"""<use_mcp_tool>|<tool_use>|<tool_call>|"(?:tool|function)"\s*:\s*"|^[ \t*]*Action[ \t*]*[:：]""", re.MULTILINE
)
_MOST = 20_000
"""Characters of an answer that are looked through."""


def grammar_of(text: str, tools: Sequence[ToolSpec], *, besides: str) -> str:
    """The tool protocol in whose grammar a text asks for one of the tools; empty if it does not.

    Args:
        text: A whole answer.
        tools: What may be asked for.
        besides: The tool protocol that has read it already.
    """
    text = text[:_MOST]
    if _MARKS.search(text) is None:
        return ""
    names = {tool.name for tool in tools}
    for kind in (Cline, Cherry, Hermes, JsonCalls, React):
        if kind.name == besides or (kind is JsonCalls and besides == "function"):
            continue
        reader = kind("").reader(tools)
        events = [*reader.feed(TextDelta(text=text, start=0, end=0)), *reader.finish()]
        if any(isinstance(event, CallStarted) and event.name in names for event in events):
            return kind.name
    return ""
