"""`<tool_call>` with one JSON object each, results as `<tool_response>`: what open-weight models are trained on."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tui_host.demo.model.narrow import is_object
from tui_host.demo.model.plan import AskedCall
from tui_host.demo.model.protocols.listed_tools import offered_in
from tui_host.demo.model.protocols.protocol_forms import Attempt, Results, joined, spoken
from tui_host.demo.model.request_content import Call, Tool

_BLOCK = re.compile(r"^[ \t]*<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r'"name"\s*:\s*"([^"\n]*)"')
_RESULT = re.compile(r"<tool_response>(.*?)</tool_response>", re.DOTALL)


class Hermes:
    """See the module."""

    several = True
    opening = "<tool_call>"

    def tools(self, prompt: str) -> tuple[Tool, ...]:
        """The objects within `<tools>`."""
        return offered_in(prompt)

    def question(self, text: str) -> str:
        """The text: the host puts nothing around it."""
        return text

    def attempts(self, text: str) -> list[Attempt]:
        """The `<tool_call>` elements that begin a line."""
        return [_attempt(block[1].strip()) for block in _BLOCK.finditer(spoken(text))]

    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        """The `<tool_response>` elements, each with a text or an object that names the tool."""
        texts = tuple(_content(found[1].strip()) for found in _RESULT.finditer(text))
        return Results(texts=texts, rest=_RESULT.sub("", text).strip()) if texts and calls else None

    def call(self, call: AskedCall) -> str:
        """One element."""
        return f"<tool_call>\n{_object(call)}\n</tool_call>"

    def unclosed(self, call: AskedCall) -> str:
        """The element without its ends."""
        return f"<tool_call>\n{_object(call)[:-2]}"

    def invented(self, call: AskedCall) -> str:
        """One element."""
        content = json.dumps({"name": call.name, "content": "42"})
        return f"<tool_response>\n{content}\n</tool_response>\n\nThe result is 42."

    def asking(self, calls: str, text: str, thought: str) -> str:
        """The words, then the calls."""
        return joined(thought, text, calls)

    def ending(self, text: str, thought: str) -> str:
        """The words alone."""
        return joined(thought, text)


def _object(call: AskedCall) -> str:
    return f'{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}'


def _attempt(text: str) -> Attempt:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    arguments = value.get("arguments") if is_object(value) else None
    if is_object(value) and is_object(arguments):
        name = str(value.get("name"))
        return Attempt(name=name, arguments=json.dumps(arguments, ensure_ascii=False, separators=(",", ":")))
    named = _NAME.search(text)
    return Attempt(name=named[1] if named else "", arguments=text, is_whole=False)


def _content(text: str) -> str:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not is_object(value) or "content" not in value:
        return text
    content = value["content"]
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
