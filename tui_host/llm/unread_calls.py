"""Finds calls that nobody read: a model's own markers, which its server left in the text, and another protocol's form.

An explanation of markers is no call: they count at the beginning of a line or of a sentence, outside code, where a tool's name follows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.cherry import Cherry
from tui_host.llm.protocols.cline import Cline
from tui_host.llm.protocols.grammar import ReadCall
from tui_host.llm.protocols.hermes import Hermes
from tui_host.llm.protocols.json_calls import JsonCalls
from tui_host.llm.protocols.react import React
from tui_host.llm.protocols.reader import called_in
from tui_host.llm.tool_names import tool_meant

# Whose markers a model was trained on, the name of the parser for them in vLLM and SGLang, and how a call begins.
_MARKERS = (
    ("Kimi's <|tool_call_begin|>", "kimi_k2", r"<\|tool_calls?_(?:section_)?begin\|>|\S+\s*<\|tool_call_argument_"),
    ("DeepSeek's special tokens", "deepseek_v32", r"<[|｜]DSML[|｜]"),
    ("DeepSeek's special tokens", "deepseek_v3", r"(?:<[|｜]tool[▁_]calls?[▁_]begin[|｜]>\s*)+function\b"),
    ("DeepSeek's special tokens", "deepseek_v31", r"<[|｜]tool[▁_]calls?[▁_]begin[|｜]>"),
    ("MiniMax's <tool_call>", "minimax_m2", r"<minimax:tool_call>|<tool_calls>\s*\{"),
    ("Qwen's <tool_call><function=…>", "qwen3_coder", r"<tool_call>\s*<function=|<function=[^>\n]+>\s*<parameter="),
    ("GLM's <tool_call> with <arg_key>", "glm45", r"<tool_call>[^\n<{]+\s*(?:<arg_key>|</tool_call>)"),
    ("Granite's or Phi's <|tool_call|>", "granite", r"<\|tool_call\|>|<tool_call>\s*\["),
    ("Mistral's [TOOL_CALLS]", "mistral", r"\[TOOL_CALLS\]"),
    ("Qwen's or Hermes' <tool_call>", "hermes", r"<tool_call>\s*\{"),
    ("LM Studio's [TOOL_REQUEST]", "NAME", r"\[TOOL_REQUEST\]"),
    ("Llama's <|python_tag|>", "llama3_json", r"<\|python_tag\|>"),
    ("Llama's <function=…>", "llama3_json", r"<function="),
    ("gpt-oss's channels", "openai", r"(?:<\|start\|>assistant)?<\|channel\|>\w+ to="),
    ("FunctionGemma's <start_function_call>", "functiongemma", r"<start_function_call>"),
    ("Gemma's tool_code", "pythonic", r"```tool_(?:code|call)\b"),
)
_FORMS = tuple(
    (whose, parser, re.compile(rf"(?:^|[.!?。！？])[ \t]*(?:{begun})", re.MULTILINE))
    for whose, parser, begun in _MARKERS
)
_FENCE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})(?!tool_code|tool_call).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_NAME = re.compile(r"[\w.:-]+")
_BEHIND_WORDS = re.compile(r"^[^\n`{]+(?=\{)", re.MULTILINE)
_MOST, _MOST_NAMES = 20_000, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadCall:
    """A call that nobody read: what it is and what helps, for the user, and the reason, for the model."""

    what: str
    remedy: str
    reason: str


def unread_call(
    text: str, tools: Sequence[ToolSpec], *, besides: str = "native", is_thinking: bool = False
) -> UnreadCall | None:
    """Return the call of a known tool in a whole answer that the protocol `besides` has read, or in its thinking."""
    text = text[-_MOST:].strip()
    plain = _FENCE.sub("", text)
    is_native = besides == "native"
    if is_native and not text.endswith((">", "}", "]", ")", "`")):  # words behind a form explain it
        return None
    for whose, parser, begun in _FORMS:
        found = None if parser == besides else begun.search(plain)
        words = () if found is None else islice(_NAME.finditer(plain, found.start()), _MOST_NAMES)
        if any(tool_meant(word[0].removeprefix("call:"), tools) is not None for word in words):
            helps = f"the server's parser for them (vLLM, SGLang: --tool-call-parser {parser}; llama.cpp: --jinja)"
            return _unread(whose, f"{helps}, or the tool protocol hermes", is_thinking=is_thinking)
    for kind in (Cline, Cherry, Hermes, JsonCalls, React):
        if kind.name == besides or (kind is JsonCalls and besides == "function"):
            continue
        names = called_in(plain if is_native else text, kind.grammar, tools)
        if any(tool_meant(name, tools) for name in names):
            return _unread(kind.name, f"the tool protocol {kind.name}", is_thinking=is_thinking)
    # An object that ends the answer, but stands behind words in its line, may be an example: it is not run.
    for words in _BEHIND_WORDS.finditer(plain) if besides in {"json", "function"} else ():
        parsed = JsonCalls.grammar.parse(plain[words.end() :], tools, "end")
        is_last = parsed is not None and words.end() + parsed.size == len(plain)
        if parsed is not None and is_last and any(isinstance(call, ReadCall) for call in parsed.found):
            reason = "the object stands behind words in its line; it must stand alone"
            return UnreadCall(what=reason, remedy="", reason=reason)
    return None


def _unread(form: str, helps: str, *, is_thinking: bool) -> UnreadCall:
    where = "thinking" if is_thinking else "text"
    reason = f"it uses the form of {form}, not the agreed one"
    return UnreadCall(
        what=f"the model called a tool, but its call stands unread in the {where}, in the form of {form}",
        remedy=f"use {helps} (/model, --protocol)",
        reason="the call stands in the thinking alone; write it in the answer" if is_thinking else reason,
    )
