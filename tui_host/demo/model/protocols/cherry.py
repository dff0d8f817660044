"""`<tool_use>`: one or more of them in an answer, results as `<tool_use_result>`, in one user message."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui_host.demo.model.plan import AskedCall
from tui_host.demo.model.protocols.listed_tools import offered_in
from tui_host.demo.model.protocols.protocol_forms import Attempt, Results, is_arguments, joined, spoken
from tui_host.demo.model.request_content import Call, Tool

_BLOCK = re.compile(r"^[ \t]*<tool_use>(.*?)(?:</tool_use>|\Z)", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"<name>(.*?)</name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<arguments>(.*?)(</arguments>|\Z)", re.DOTALL)
_RESULT = re.compile(r"<tool_use_result>\s*<name>(.*?)</name>\s*<result>(.*?)</result>\s*</tool_use_result>", re.DOTALL)
_TOLD = re.compile(r"\s*Here is the result of (?:mcp )?tool use `?([^`\n]*?)`?:?\s*\n(.*)", re.DOTALL)


class Cherry:
    """See the module."""

    several = True
    opening = "<tool_use>"

    def tools(self, prompt: str) -> tuple[Tool, ...]:
        """The `<tool>` elements."""
        return offered_in(prompt)

    def question(self, text: str) -> str:
        """The text: the host puts nothing around it."""
        return text

    def attempts(self, text: str) -> list[Attempt]:
        """The `<tool_use>` elements that begin a line."""
        found: list[Attempt] = []
        for block in _BLOCK.finditer(spoken(text)):
            name, arguments = _NAME.search(block[1]), _ARGUMENTS.search(block[1])
            given = arguments[1].strip() if arguments else ""
            is_whole = bool(name and arguments and arguments[2]) and is_arguments(given)
            found.append(Attempt(name=name[1].strip() if name else "", arguments=given, is_whole=is_whole))
        return found

    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        """The `<tool_use_result>` elements, or what this host's own program really sends."""
        texts = tuple(found[2].strip() for found in _RESULT.finditer(text))
        if texts:
            return Results(texts=texts, rest=_RESULT.sub("", text).strip())
        told = _TOLD.match(text)
        return Results(texts=(told[2].strip(),)) if told and calls else None

    def call(self, call: AskedCall) -> str:
        """One element."""
        return f"<tool_use>\n  <name>{call.name}</name>\n  <arguments>{call.arguments}</arguments>\n</tool_use>"

    def unclosed(self, call: AskedCall) -> str:
        """The element without its ends."""
        return f"<tool_use>\n  <name>{call.name}</name>\n  <arguments>{call.arguments[:-1]}"

    def invented(self, call: AskedCall) -> str:
        """One element."""
        return f"<tool_use_result>\n  <name>{call.name}</name>\n  <result>42</result>\n</tool_use_result>\n\nThe result is 42."

    def asking(self, calls: str, text: str, thought: str) -> str:
        """The words, then the calls."""
        return joined(thought, text, calls)

    def ending(self, text: str, thought: str) -> str:
        """The words alone."""
        return joined(thought, text)
