"""`json` and `function`: an answer that is one JSON object, or a list of them, and nothing else. Source: tool-protocols.md, section 4.

Two spellings of one idea, read by one reader: `{"tool": …, "arguments": …}` of the official simple chatbot, and
`{"function": …, "parameters": …}` of teaching texts. JSON that a person asked for is no call: the name must be a tool's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from typing_extensions import override

from tui_host.errors import JSON
from tui_host.llm.jsonspans import Node, read_json, spans
from tui_host.llm.messages import (
    CallArguments,
    CallMalformed,
    CallStarted,
    ModelEvent,
    Stop,
    Stopped,
    TextDelta,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from tui_host.llm.protocols.grammar import Broken, ReadCall, read_arguments
from tui_host.llm.protocols.held import Held
from tui_host.llm.protocols.plain import Plain, Words, result_text

SPELLINGS: tuple[tuple[str, str], ...] = (("tool", "arguments"), ("function", "parameters"), ("name", "arguments"))
"""The keys of the name and of the arguments, in every spelling that models use."""
_FENCED = re.compile(r"\s*```[a-zA-Z]*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)
_LAST_OBJECT = re.compile(r"(?m)^[ \t]*(?=[{\[]|```)")
_MOST_HELD = 1 << 22


class JsonReader:
    """One answer's reader: what begins as JSON is held until its end tells what it is; all else is text at once.

    Args:
        tools: What the answer may ask for: a name that is none makes it text.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._names = {tool.name for tool in tools}
        self._held = Held()
        self._is_line_start = True
        self._holds = False  # what is held may be a call
        self._size = 0
        self._stop: Stop | None = None

    def feed(self, event: ModelEvent) -> list[ModelEvent]:
        """What an event becomes."""
        if isinstance(event, Stopped):
            self._stop = event.stop
            return [*self.finish(), event]
        if not isinstance(event, TextDelta):
            return [event]
        self._held.add(event)
        if self._holds:
            self._size += len(event.text)
            return self._as_text() if self._size > _MOST_HELD else []
        return self._look()

    def _look(self) -> list[ModelEvent]:
        """Give out the text before a line that begins with what may be a call."""
        text = self._held.text
        start = next((at.start() for at in _LAST_OBJECT.finditer(text) if at.start() or self._is_line_start), -1)
        if start >= 0:
            said = self._say(start)
            self._holds, self._size = True, len(self._held.text)
            return said
        # The spaces and ticks at its end may begin one.
        line = text.rpartition("\n")[2]
        is_open = not line.strip(" \t`") and (self._is_line_start or "\n" in text)
        return self._say(len(text) - len(line) if is_open else len(text))

    def _say(self, size: int) -> list[ModelEvent]:
        found = self._held.take(size)
        if found:
            self._is_line_start = found[-1].text.endswith("\n")
        return list(found)

    def finish(self) -> list[ModelEvent]:
        """What was still held back."""
        if not self._holds:
            return self._say(len(self._held.text))
        text = self._held.text
        fenced = _FENCED.fullmatch(text)
        body = fenced.group(1) if fenced is not None else text
        calls = self._calls(body.strip())
        if calls is None:
            return self._as_text()
        broken = [call for call in calls if isinstance(call, Broken)]
        if broken:
            words = self._held.take(len(text))
            reason = "; ".join(each.reason for each in broken)
            return [*words, CallMalformed(reason=reason, start=words[0].start, end=words[-1].end)]
        written, start, end = self._held.cut(len(text))
        found: list[ModelEvent] = []
        for index, call in enumerate(call for call in calls if isinstance(call, ReadCall)):
            own = call.written if len(calls) > 1 else written.strip()  # of a list each call keeps its own object
            found += [
                CallStarted(index=index, wire_id="", name=call.name, start=start, end=end, written=own),
                CallArguments(index=index, text=call.arguments, start=start, end=end),
            ]
        return found

    def _as_text(self) -> list[ModelEvent]:
        self._holds = False
        return self._say(len(self._held.text))

    def _calls(self, text: str) -> list[ReadCall | Broken] | None:
        """The calls that a text is; None if it is no call at all."""
        try:
            value = read_json(text)
        except ValueError as error:
            return self._unreadable(text, error)
        root = spans(text.encode("utf-8", "replace"))
        if root is None:
            return None
        nodes = list(root.elements) if isinstance(value, list) else [root]
        found = [self._call(text.encode("utf-8", "replace"), node) for node in nodes]
        return [call for call in found if call is not None] if found and None not in found else None

    def _unreadable(self, text: str, error: ValueError) -> list[ReadCall | Broken] | None:
        """What is no JSON is a broken call if it names a tool as one does, else text."""
        is_meant = any(
            re.search(rf'"{key}"\s*:\s*"{re.escape(name)}"', text) for key, _ in SPELLINGS for name in self._names
        )
        if not is_meant:
            return None
        if self._stop == "length":
            return [Broken(reason="the call was cut at the token limit")]
        return [Broken(reason=f"the call is not JSON: {error}"[:300])]

    def _call(self, body: bytes, node: Node) -> ReadCall | Broken | None:
        for called, given in SPELLINGS:
            name = node.get(called)
            if name is None or name.text(body) not in self._names:
                continue
            arguments = node.get(given)
            if arguments is None:
                other = next((key for _, key in SPELLINGS if node.get(key) is not None), "")
                arguments = node.get(other) if other else None
            if arguments is None:
                return Broken(reason=f'the call of {name.text(body)} has no "{given}"')
            read = read_arguments(body[arguments.start : arguments.end].decode())
            if isinstance(read, Broken):
                return Broken(reason=f"{name.text(body)}: {read.reason}")
            own = body[node.start : node.end].decode()
            return ReadCall(name=name.text(body), arguments=read, written=own)
        return None


class JsonCalls(Plain):
    """Calls as a JSON object that is the whole answer.

    Args:
        template: The system prompt.
    """

    name: str = "json"
    keys: tuple[str, str] = SPELLINGS[0]

    @override
    def reader(self, tools: Sequence[ToolSpec]) -> JsonReader:
        """A reader for one answer."""
        return JsonReader(tools)

    @override
    def tool_list(self, tools: Sequence[ToolSpec]) -> str:
        """Name and description of each, and a line for each of its parameters, with its type."""
        return "\n\n".join(self._described(tool) for tool in tools)

    def _described(self, tool: ToolSpec) -> str:
        schema: Mapping[str, JSON] = tool.schema if isinstance(tool.schema, dict) else {}
        properties, required = schema.get("properties"), schema.get("required")
        needed: Sequence[JSON] = required if isinstance(required, list) else []
        lines = [f"Tool: {tool.name}", f"Description: {tool.description}", "Arguments:"]
        known: Mapping[str, JSON] = properties if isinstance(properties, dict) else {}
        for name, value in known.items():
            must = " (required)" if name in needed else ""
            lines.append(f"- {name}: {json.dumps(value, ensure_ascii=False)}{must}")
        return "\n".join(lines)

    @override
    def call_words(self, call: ToolCall, tools: Sequence[ToolSpec]) -> str:
        """The call as an object."""
        del tools
        name, arguments = self.keys
        return f'{{"{name}": {json.dumps(call.name)}, "{arguments}": {call.arguments.strip() or "{}"}}}'

    @override
    def result_words(self, words: Words, results: Sequence[ToolResult], tools: Sequence[ToolSpec]) -> None:
        """A paragraph for each, in the order of the calls."""
        del tools
        for number, result in enumerate(results):
            words.add("\n\n" if number else "")
            kind = "error" if result.is_error else "result"
            words.add(f"Tool {kind} for {result.call.name}:\n", "frames a result")
            words.tell(result.call.id, result_text(result))

    @override
    def form(self, tool: ToolSpec | None) -> str:
        """A call, and the schema of its arguments."""
        name, arguments = self.keys
        called = json.dumps(tool.name if tool is not None else "NAME")
        schema = (
            f"\n\nwith {arguments} by this schema: {json.dumps(tool.schema, ensure_ascii=False)}"
            if tool is not None
            else ""
        )
        return f'{{"{name}": {called}, "{arguments}": {{"key": "value"}}}}{schema}'


class FunctionCalls(JsonCalls):
    """The same in the words of teaching texts."""

    name: str = "function"
    keys: tuple[str, str] = SPELLINGS[1]
