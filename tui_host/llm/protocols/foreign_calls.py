"""Recognises calls in a foreign grammar: another tool protocol's, or a model's own markup.

If a server does not parse a model's own markup, the markup arrives as text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui_host.llm.events import CallStarted, TextDelta
from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.cherry import Cherry
from tui_host.llm.protocols.cline import Cline
from tui_host.llm.protocols.hermes import Hermes
from tui_host.llm.protocols.json_calls import JsonCalls
from tui_host.llm.protocols.react import React

_MARKS = re.compile(
    r"""<use_mcp_tool>|<tool_use>|<tool_call>|"(?:tool|function|name)"\s*:\s*"|^[ \t*]*Action[ \t*]*[:：]""",
    re.MULTILINE,
)
_MARKUPS = (
    ("Mistral's [TOOL_CALLS]", re.compile(r"(?m)^[ \t]*\[TOOL_CALLS\]")),
    ("LM Studio's [TOOL_REQUEST]", re.compile(r"(?m)^[ \t]*\[TOOL_REQUEST\]")),
    ("Llama's <|python_tag|>", re.compile(r"(?m)^[ \t]*<\|python_tag\|>")),
    ("Qwen's <tool_call><function=…>", re.compile(r"(?m)^[ \t]*<tool_call>\s*<function=")),
    ("Llama's <function=…>", re.compile(r"(?m)^[ \t]*<function=")),
    ("DeepSeek's special tokens", re.compile(r"(?m)^[ \t]*<[|｜]tool[▁_]calls?[▁_]begin[|｜]>")),
    ("gpt-oss's channels", re.compile(r"(?m)^[ \t]*(?:<\|start\|>assistant)?<\|channel\|>\w+ to=")),
)
"""The markups that models are trained on, recognised by a call's beginning."""
_WORDS = (re.compile(r"[\w.-]+"), re.compile(r"[\w-]+"))
_MOST = 20_000
"""The most characters of an answer that are searched."""


def grammar_of(text: str, tools: Sequence[ToolSpec], *, besides: str) -> str:
    """Return the foreign grammar in which a known tool is called: a protocol's name, or the markup's; empty if none.

    Args:
        text: A whole answer.
        tools: The offered tools.
        besides: The tool protocol that has already read the text.
    """
    text = text[:_MOST].strip()
    markup = _markup_of(text, tools)
    if markup:
        return markup
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


def _markup_of(text: str, tools: Sequence[ToolSpec]) -> str:
    """Return the markup at the beginning of a line, if a tool's name follows. Calls in code fences are examples."""
    for words, markup in _MARKUPS:
        begun = markup.search(text)
        if begun is not None and "```" not in text[: begun.start()] and _named_in(text[begun.start() :], tools):
            return words
    return ""


def _named_in(text: str, tools: Sequence[ToolSpec]) -> bool:
    words = {word for pattern in _WORDS for word in pattern.findall(text)}
    return any(tool.name in words or tool.tool in words for tool in tools)
