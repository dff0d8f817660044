"""An answer that is one JSON object: `{"tool": …, "arguments": …}`, or `{"function": …, "parameters": …}`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tui_host.demo.model.narrow import is_object
from tui_host.demo.model.plan import AskedCall
from tui_host.demo.model.protocols.listed_tools import offered_in
from tui_host.demo.model.protocols.protocol_forms import Attempt, Results, joined, spoken
from tui_host.demo.model.request_content import Call, Tool

_RESULT = re.compile(
    r"^[ \t]*(?:Tool|Function)(?: execution)? (?:result|error)(?: (?:for|of) [^\n:]+)?[ \t]*:[ \t]*\n?|^[ \t]*Error executing tool:[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_ERROR = re.compile(r"error", re.IGNORECASE)


class Objects:
    """See the module.

    Args:
        tool: The key of the tool's name.
        arguments: The key of its arguments.
    """

    several = False

    def __init__(self, tool: str, arguments: str) -> None:
        self._tool = tool
        self._arguments = arguments
        self._named = re.compile(rf'"{tool}"\s*:\s*"([^"\n]*)"')
        self.opening = f'{{"{tool}": …}}'

    def tools(self, prompt: str) -> tuple[Tool, ...]:
        """The tools, however they are listed."""
        return offered_in(prompt)

    def question(self, text: str) -> str:
        """The text: the host puts nothing around it."""
        return text

    def attempts(self, text: str) -> list[Attempt]:
        """The object that the answer is, or those that stand one after the other."""
        said = spoken(text).strip()
        found: list[Attempt] = []
        while said.startswith("{"):
            try:
                value, end = json.JSONDecoder().raw_decode(said)
            except (ValueError, RecursionError):
                named = self._named.match(said[1:].lstrip())
                return [*found, Attempt(name=named[1], arguments=said, is_whole=False)] if named else found
            name, arguments = value.get(self._tool), value.get(self._arguments)
            if not isinstance(name, str) or not is_object(arguments):
                return found
            written = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
            found.append(Attempt(name=name, arguments=written))
            said = said[end:].lstrip(" \t\r\n,")
        return found

    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        """What follows `Tool result for NAME:`, once or several times."""
        heads = list(_RESULT.finditer(text))[: len(calls)]
        if not heads or text[: heads[0].start()].strip():
            return None
        ends = [head.start() for head in heads[1:]] + [len(text)]
        told = [text[head.end() : end].strip() for head, end in zip(heads, ends, strict=True)]
        return Results(texts=tuple(_marked(head[0], one) for head, one in zip(heads, told, strict=True)))

    def call(self, call: AskedCall) -> str:
        """The object."""
        return f'{{"{self._tool}": {json.dumps(call.name)}, "{self._arguments}": {call.arguments}}}'

    def unclosed(self, call: AskedCall) -> str:
        """The object without its end."""
        return self.call(call)[:-2]

    def invented(self, call: AskedCall) -> str:
        """A result in the host's words."""
        return f"Tool result for {call.name}:\n42\n\nThe result is 42."

    def asking(self, calls: str, text: str, thought: str) -> str:
        """The object and nothing else: that is the rule of this protocol."""
        del text
        return joined(thought, calls)

    def ending(self, text: str, thought: str) -> str:
        """The words alone."""
        return joined(thought, text)


def _marked(head: str, told: str) -> str:
    """What was told, saying that it is an error where only the line before it says so."""
    return f"Error: {told}" if _ERROR.search(head) and not _ERROR.match(told) else told
