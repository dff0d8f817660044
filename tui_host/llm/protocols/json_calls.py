"""`json` and `function`: an answer is a JSON object, or a list of objects. Source: MCP documentation, simple chatbot.

Only the first object counts: the model was told to wait, so anything after that object is made up.

The two protocols differ in spelling: `{"tool": …, "arguments": …}` comes from the simple chatbot, `{"function": …,
"parameters": …}` from tutorials. JSON that is meant for the user is no call: the name must be a tool's, or similar to
one, which is then reported to the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Literal, Self, TypeAlias

from typing_extensions import override

from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import Node, spans
from tui_host.errors import JSON
from tui_host.llm.events import CallArguments, CallMalformed, CallStarted, CutOff, ModelEvent, TextDelta
from tui_host.llm.messages import ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.call_grammar import Balance, Broken, ReadCall, json_fault, read_arguments
from tui_host.llm.protocols.text_protocol import TextProtocol, result_text
from tui_host.llm.protocols.text_reader import (
    FENCE,
    FENCE_END,
    FENCE_END_MADE_OF,
    LONGEST_BLANK,
    MARKS,
    Fence,
    Line,
    TextReader,
    may_become_fence,
)
from tui_host.llm.tool_names import nearest

SPELLINGS: tuple[tuple[str, str], ...] = (("tool", "arguments"), ("function", "parameters"), ("name", "arguments"))
"""The keys for name and arguments, in every spelling that models use."""
_MEANT = re.compile(r"""["'](?:tool|function|name)["']\s*:\s*["']([^"'\n]{1,200})["']""")
_MOST_HELD = 1 << 22
_ALIKE = 0.8
"""How similar a name must be to a tool's name to count as misspelt."""
_MOST_GUESSED = 16
"""The most names in an answer that are compared with all tool names."""

_Step: TypeAlias = Sequence[ModelEvent] | None
"""The result of reading the buffered text. None if more text is needed."""


class JsonReader(TextReader):
    """Reads an answer. A line that begins as JSON is held until its brackets close; all other text is given out at once.

    Args:
        tools: What the answer may ask for.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        super().__init__()
        self._tools = tools
        self._names = {tool.name for tool in tools}
        self._guessed: dict[str, bool] = {}  # whether each unknown name is a misspelt tool name
        self._line = Line()
        self._mode: Literal["text", "code", "value", "over"] = "text"
        self._balance: Balance | None = None  # finds the value's end, while unknown
        self._start = 0  # where the value begins in the held text
        self._end = -1
        self._is_fenced = False
        self._code: Fence | None = None  # the open fence
        self._size = 0

    @override
    def _fresh(self) -> Self:
        return type(self)(self._tools)

    @override
    def _read_rest(self) -> Sequence[ModelEvent]:
        self._balance = None
        return self._scan()

    @override
    def _read_piece(self, piece: TextDelta) -> list[ModelEvent]:
        self._buffer.add(piece)
        if self._balance is not None:
            self._size += len(piece.text)
            self._end = self._balance.feed(piece.text)
            if self._end < 0 and self._size <= _MOST_HELD:
                return []
            self._balance = None
        return self._scan()

    def _scan(self) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        while self._balance is None and self._buffer.text:
            match self._mode:
                case "text":
                    step = self._in_text()
                case "code":
                    step = self._in_code()
                case "value":
                    step = self._in_value()
                case "over":
                    text, start, end = self._buffer.cut(len(self._buffer.text))
                    step = [CutOff(text=text, start=start, end=end)]
            if step is None:
                break
            events += step
        return events

    def _in_text(self) -> _Step:
        """Read up to a line that may begin a call."""
        text = self._buffer.text
        begun = text.lstrip(" \t")
        lead = len(text) - len(begun)
        if not self._line.is_blank or not begun or begun[0] not in "{[" + MARKS:
            if not begun and self._line.is_blank and self._may_wait(text):
                return None
            return self._say(text.find("\n") + 1 or len(text))
        if begun[0] in MARKS:
            return self._at_fence(text)
        inside = begun[1:].lstrip()
        if begun[0] == "[" and not inside.startswith("{"):
            return None if not inside and self._may_wait(begun) else self._say(lead + 1)
        return self._begin(text, lead, is_fenced=False)

    def _at_fence(self, text: str) -> _Step:
        opening = FENCE.match(text)
        if opening is None:
            is_open = may_become_fence(text) and not self._is_final
            return None if is_open else self._say(text.find("\n") + 1 or len(text))
        inside = text[opening.end() :]
        if not inside and self._may_wait(text):
            return None
        if inside.startswith(("{", "[")):
            return self._begin(text, opening.end(), is_fenced=True)
        return self._is_code(opening.end())

    def _is_code(self, size: int) -> Sequence[ModelEvent]:
        pieces = self._say(size)
        self._mode, self._code = "code", Fence("".join(piece.text for piece in pieces))
        return pieces

    def _in_code(self) -> _Step:
        text = self._buffer.text
        newline = text.find("\n")
        pieces = self._say(newline + 1 or len(text))
        if self._code is not None and self._code.closes("".join(piece.text for piece in pieces)):
            self._mode = "text"
        return pieces

    def _may_wait(self, text: str) -> bool:
        return not self._is_final and len(text) <= LONGEST_BLANK

    def _begin(self, text: str, start: int, *, is_fenced: bool) -> _Step:
        self._mode, self._start, self._is_fenced, self._size = "value", start, is_fenced, len(text)
        balance = Balance()
        self._end = balance.feed(text[start:])
        self._balance = balance if self._end < 0 and not self._is_final else None
        return []

    def _in_value(self) -> _Step:
        text = self._buffer.text
        is_whole = self._end >= 0
        end = self._start + self._end if is_whole else len(text)
        size = end
        if self._is_fenced and is_whole:
            closing = FENCE_END.match(text, end)
            if closing is None and text[end:].strip(FENCE_END_MADE_OF):  # the fence holds more than a call
                return self._is_code(self._start)
            if (closing is None or closing.end() == len(text)) and self._may_wait(text[end:]):
                return None  # more backticks may follow
            size = closing.end() if closing is not None else len(text)
        calls = self._calls_in(text[self._start : end], is_whole=is_whole)
        self._mode = "text"
        return self._say(size) if calls is None else self._tell(calls, size)

    def _tell(self, calls: Sequence[ReadCall | Broken], size: int) -> list[ModelEvent]:
        broken = [call.reason for call in calls if isinstance(call, Broken)]
        if broken:
            self._mode = "over"
            words = self._buffer.take(size)
            return [*words, CallMalformed(reason="; ".join(broken), start=words[0].start, end=words[-1].end)]
        self._mode = "over"
        written, start, end = self._buffer.cut(size)
        events: list[ModelEvent] = []
        for index, call in enumerate(call for call in calls if isinstance(call, ReadCall)):
            own = call.written if len(calls) > 1 else written.strip()  # of several calls each keeps its own object
            events += [
                CallStarted(index=index, wire_id="", name=call.name, start=start, end=end, written=own),
                CallArguments(index=index, text=call.arguments, start=start, end=end),
            ]
        return events

    def _say(self, size: int) -> list[TextDelta]:
        pieces = self._buffer.take(size)
        for piece in pieces:
            self._line.add(piece.text)
        return pieces

    def _calls_in(self, text: str, *, is_whole: bool) -> list[ReadCall | Broken] | None:
        """Return the calls in a text. None if the text is no call."""
        try:
            value = read_json(text)
        except ValueError as error:
            return self._unreadable(text, error, is_whole=is_whole)
        body = text.encode("utf-8", "replace")
        root = spans(body)
        if root is None:
            return None
        nodes = list(root.elements) if isinstance(value, list) else [root]
        calls = [self._call(body, node) for node in nodes]
        return [call for call in calls if call is not None] if calls and None not in calls else None

    def _unreadable(self, text: str, error: ValueError, *, is_whole: bool) -> list[ReadCall | Broken] | None:
        """Return a fault if the broken JSON names a tool. None for plain text."""
        if not any(match[1] in self._names for match in _MEANT.finditer(text)):
            return None
        if self._stop == "length" and not is_whole:
            return [Broken(reason="the call was cut at the token limit")]
        return [Broken(reason=f"the call is not JSON: {json_fault(text, error)}"[:300])]

    def _call(self, body: bytes, node: Node) -> ReadCall | Broken | None:
        """Read an object as a call. A misspelt tool name counts only if the object holds nothing else."""
        for called, given in SPELLINGS:
            name = node.get(called)
            if name is None or not (named := name.text(body)):
                continue
            arguments = node.get(given)
            is_exact = arguments is not None and arguments.kind == "object" and len(node.members) == 2
            if named not in self._names and not (is_exact and called != "name" and self._means_tool(named)):
                continue
            if arguments is None:
                arguments = next((value for _, key in SPELLINGS if (value := node.get(key)) is not None), None)
            if arguments is None:
                if called == "name":  # a list of names is data
                    continue
                return Broken(reason=f'the call of {named} has no "{given}"')
            read = read_arguments(body[arguments.start : arguments.end].decode())
            if isinstance(read, Broken):
                return Broken(reason=f"{named}: {read.reason}")
            return ReadCall(name=named, arguments=read, written=body[node.start : node.end].decode())
        return None

    def _means_tool(self, name: str) -> bool:
        """Tell whether a name is a misspelt tool name."""
        if name not in self._guessed and len(self._guessed) < _MOST_GUESSED:
            self._guessed[name] = bool(nearest(name, self._tools, alike=_ALIKE))
        return self._guessed.get(name, False)


class JsonCalls(TextProtocol):
    """An answer is a call if it is a JSON object and nothing else.

    Args:
        template: The system prompt.
    """

    name: str = "json"
    keys: tuple[str, str] = SPELLINGS[0]
    between: str = "\n\n"
    given: str = keys[1]

    @override
    def reader(self, tools: Sequence[ToolSpec]) -> JsonReader:
        return JsonReader(tools)

    @override
    def tool_list(self, tools: Sequence[ToolSpec]) -> str:
        return "\n\n".join(self._described(tool) for tool in tools)

    def _described(self, tool: ToolSpec) -> str:
        schema: Mapping[str, JSON] = tool.schema if isinstance(tool.schema, dict) else {}
        properties, required = schema.get("properties"), schema.get("required")
        needed: Sequence[JSON] = required if isinstance(required, list) else []
        lines = [f"Tool: {tool.name}", f"Description: {tool.description}", "Arguments:"]
        parameters: Mapping[str, JSON] = properties if isinstance(properties, dict) else {}
        for name, value in parameters.items():
            must = " (required)" if name in needed else ""
            lines.append(f"- {name}: {json.dumps(value, ensure_ascii=False)}{must}")
        return "\n".join(lines)

    @override
    def call_words(self, call: ToolCall, tools: Sequence[ToolSpec]) -> str:
        """Write the call as an object."""
        del tools
        name, arguments = self.keys
        return f'{{"{name}": {json.dumps(call.name)}, "{arguments}": {call.arguments.strip() or "{}"}}}'

    @override
    def framed(self, result: ToolResult, tools: Sequence[ToolSpec]) -> tuple[str, str, str]:
        """Return a paragraph."""
        del tools
        kind = "error" if result.is_error else "result"
        return f"Tool {kind} for {result.call.name}:\n", result_text(result), ""


class FunctionCalls(JsonCalls):
    """Like `json`, with the keys that tutorials use."""

    name: str = "function"
    keys: tuple[str, str] = SPELLINGS[1]
    given: str = keys[1]
