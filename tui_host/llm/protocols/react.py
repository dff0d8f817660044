"""`react`: Thought, Action, Action Input, Observation, Final Answer. Source: Yao et al., ReAct."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Literal, Self

from typing_extensions import override

from tui_host.errors import JSON
from tui_host.llm.events import (
    CallArguments,
    CallMalformed,
    CallStarted,
    CutOff,
    ModelEvent,
    PartEnded,
    TextDelta,
    ThinkingDelta,
)
from tui_host.llm.messages import Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.call_grammar import Balance, Broken, ReadCall, read_arguments
from tui_host.llm.protocols.text_protocol import TextProtocol, result_text
from tui_host.llm.protocols.text_reader import FENCE, MARKS, Fence, TextReader, may_become_fence

_NOTHING = frozenset(("none", "n/a", "na", "no action", "无"))
_OBJECT = re.compile(r"(?:json)?\s*\{")
_CALLED = re.compile(r"(?P<name>[^\s(]+)\((?P<inside>.*)\)\s*", re.DOTALL)

_MEANT = re.compile(r"[`*]*(?P<name>[^\s(`*]+)[`*]*\s*(?P<open>\(?)")


def is_prose(action: str, tools: Mapping[str, ToolSpec]) -> bool:
    """Tell whether the text after `Action:` is a sentence, or a word followed by more lines, and so no action."""
    action = action.lstrip()
    if action.startswith(("{", "```")):
        return False
    meant = _MEANT.match(action)
    if meant is None or meant.group("open") or meant.group("name") in tools:
        return False
    return bool("\n" in action and action.partition("\n")[2].strip())


def read_action(
    action: str, given: str | None, tools: Mapping[str, ToolSpec], *, is_cut: bool
) -> ReadCall | Broken | Literal["prose"] | None:
    """Read an action with its input. None for an explicit «none».

    Args:
        action: The text after `Action:`.
        given: The text after `Action Input:`, None without the label.
        tools: The offered tools by name.
        is_cut: The answer ended at the token limit.
    """
    name = action.strip().strip("`*").strip()
    if name.lower() in _NOTHING:
        return None
    if given is None:
        return _without_input(name, tools, is_cut=is_cut)
    if not name:
        return Broken(reason="there is an Action Input without an Action")
    value = given.strip().strip("`").removeprefix("json").strip()
    read = read_arguments(value)
    parameter = _only_text(tools.get(name))
    if isinstance(read, Broken) and parameter and value and value[0] not in "{[":
        return ReadCall(name=name, arguments=json.dumps({parameter: _unquoted(value)}, ensure_ascii=False))
    return Broken(reason=f"{name}: {read.reason}") if isinstance(read, Broken) else ReadCall(name=name, arguments=read)


def _without_input(name: str, tools: Mapping[str, ToolSpec], *, is_cut: bool) -> ReadCall | Broken | Literal["prose"]:
    """Read an action without an input line, whose arguments may stand in the action."""
    whole = _OBJECT.match(name)
    if whole is not None:
        return _object_action(name[whole.end() - 1 :])
    called = _CALLED.fullmatch(name)
    if called is not None:
        return _called(called.group("name"), called.group("inside"), tools)
    if " " in name:
        return "prose"
    if is_cut:
        return Broken(reason="the action was cut at the token limit")
    return Broken(reason=f"there is no Action Input behind the Action {name[:60]!r}")


def _object_action(text: str) -> ReadCall | Broken:
    """Read an action written as an object that holds name and input."""
    whole = read_arguments(text)
    if isinstance(whole, Broken):
        return Broken(reason=whole.reason.replace("the arguments are", "what follows Action: is", 1))
    value: dict[str, JSON] = json.loads(whole)
    name = next((value[key] for key in ("action", "name", "tool") if isinstance(value.get(key), str)), None)
    given = next((value[key] for key in ("action_input", "arguments", "input", "parameters") if key in value), None)
    if not isinstance(name, str) or not isinstance(given, dict | None):
        return Broken(reason='the object behind Action: needs "action" and "action_input", an object')
    return ReadCall(name=name, arguments=json.dumps(given or {}, ensure_ascii=False))


def _only_text(tool: ToolSpec | None) -> str:
    """Return the name of a tool's only parameter if that parameter is a string, else an empty text."""
    names = _parameters(tool)
    schema = tool.schema if tool is not None and isinstance(tool.schema, dict) else {}
    properties = schema.get("properties")
    only = properties.get(names[0]) if isinstance(properties, dict) and len(names) == 1 else None
    return names[0] if isinstance(only, dict) and only.get("type") == "string" else ""


def _unquoted(text: str) -> str:
    try:
        value: JSON = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def _called(name: str, inside: str, tools: Mapping[str, ToolSpec]) -> ReadCall | Broken:
    """Read an action written as `NAME(…)`. The values are parsed as literals; no code is run."""
    wrong = Broken(reason=f"{name}: the arguments of {name}(…) are no plain values; write Action Input: with JSON")
    try:
        tree = ast.parse(f"f({inside})", mode="eval").body
        if not isinstance(tree, ast.Call):
            return wrong
        values: list[JSON] = [ast.literal_eval(value) for value in tree.args]
        named: dict[str, JSON] = {
            value.arg: ast.literal_eval(_constants(value.value)) for value in tree.keywords if value.arg is not None
        }
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return wrong
    names = _parameters(tools.get(name))
    if len(values) > len(names):
        return wrong
    arguments = {**dict(zip(names, values, strict=False)), **named}
    try:
        return ReadCall(name=name, arguments=json.dumps(arguments, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError):
        return wrong


def _parameters(tool: ToolSpec | None) -> list[str]:
    schema: Mapping[str, JSON] = tool.schema if tool is not None and isinstance(tool.schema, dict) else {}
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []


def _constants(node: ast.expr) -> ast.expr:
    """Replace the constants of JSON by Python's."""
    words = {"true": True, "false": False, "null": None}
    return ast.Constant(words[node.id]) if isinstance(node, ast.Name) and node.id in words else node


_COLON = r"\**[ \t]*[:：][ \t]*\**[ \t]?"
_CHINESE = {
    "思考": "thought",
    "行动输入": "actioninput",
    "行动": "action",
    "观察": "observation",
    "最终答案": "finalanswer",
    "问题": "question",
}
"""The labels that models write in Chinese."""
_THOUGHTS = frozenset(("Thought", "thought", "THOUGHT", "思考"))
_LABEL = re.compile(
    rf"[ \t]*\**(?P<label>Thought|Action Input|Action|Observation|Final ?Answer|Question|{'|'.join(_CHINESE)}){_COLON}",
    re.IGNORECASE,
)
_BEGINNING = re.compile(rf"[ \t]*\**[A-Za-z{''.join(_CHINESE)} ]{{0,14}}\**[ \t]*")
_AT_FIRST = frozenset(("question", "actioninput"))
"""Labels that count only after another label or at the beginning of the answer."""
_CLOSING = re.compile(r"\n[ \t]*(`{3,}|~{3,})[ \t]*(?=\n|$)")
_LONGEST_LABEL = 60
_LONGEST_FENCE = 16 << 10
"""The most characters of a fence that are held to see whether the fence holds only a call."""
Part = Literal["text", "thought", "action", "input", "final", "over"]


def _name_of(label: re.Match[str]) -> str:
    name = label.group("label").lower().replace(" ", "")
    return _CHINESE.get(name, name)


class ReactReader(TextReader):
    """Reads an answer. The label of a line says what the line and the lines below are.

    Args:
        tools: The offered tools; arguments without names go to the parameters in order.
    """

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        super().__init__()
        self._tools = {tool.name: tool for tool in tools}
        self._part: Part = "text"
        self._thought = ""  # the label of the current thought
        self._written: list[str] = []  # the words since the last event, for the history
        self._action: list[str] = []  # the tool's name, or all of NAME(…)
        self._given: list[str] = []  # the action's input
        self._balance = Balance()  # for the input's end
        self._size = 0  # the input's length
        self._start = -1
        self._end = 0
        self._is_line_start = True
        self._code: Fence | None = None  # the fence that is open in text or thought
        self._has_said = False  # whether any text was given out

    @override
    def _fresh(self) -> Self:
        return type(self)(list(self._tools.values()))

    @override
    def _read_piece(self, piece: TextDelta) -> list[ModelEvent]:
        self._buffer.add(piece)
        return self._scan()

    @override
    def _read_rest(self) -> list[ModelEvent]:
        return [*self._scan(), *self._end_part()]

    def _scan(self) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        while text := self._buffer.text:
            may_begin = self._is_line_start and self._code is None and self._part not in {"final", "over"}
            if may_begin and self._part in {"text", "thought"} and text.lstrip(" \t").startswith(tuple(MARKS)):
                step = self._at_fence(text)
                if step is None:
                    break
                events += step
                continue
            if may_begin:
                label = self._label_of(text)
                is_short = len(text) <= _LONGEST_LABEL
                if label is not None and label.end() == len(text) and is_short and not self._is_final:
                    break  # the label may go on
                if label is not None:
                    events += self._label(label)
                    continue
                if not self._is_final and "\n" not in text and is_short and _BEGINNING.fullmatch(text):
                    break
            newline = text.find("\n")
            events += self._more(len(text) if newline < 0 else newline + 1)
        return events

    def _label_of(self, text: str) -> re.Match[str] | None:
        """Find the label at the beginning of a line. Some labels count as words in the middle of a text."""
        label = _LABEL.match(text)
        is_prose = self._part == "text" and self._has_said
        return None if label is not None and is_prose and _name_of(label) in _AT_FIRST else label

    def _at_fence(self, text: str) -> list[ModelEvent] | None:
        """Read a line that begins with a backtick: words, code, or a fence around an action. None if more text is needed."""
        opening = FENCE.match(text)
        if opening is None:
            is_open = may_become_fence(text) and not self._is_final
            return None if is_open else self._more(text.find("\n") + 1 or len(text))
        inside = text[opening.end() :]
        label = _LABEL.match(inside)
        if label is None and not self._is_final and len(inside) <= _LONGEST_LABEL and _BEGINNING.fullmatch(inside):
            return None
        if label is not None and _name_of(label) in {"thought", "action"}:
            closing = _CLOSING.search(text, label.end() + opening.end())
            is_whole = closing is not None and closing.end() < len(text)
            if not is_whole and not self._is_final and len(text) <= _LONGEST_FENCE:
                return None
            size = closing.start() - opening.end() if closing is not None else len(inside)
            if self._is_action(inside[:size]):
                return self._fenced(opening.end(), size, len(closing[0]) if closing is not None else 0)
        events = self._more(opening.end())
        self._code = Fence(opening[0])
        return events

    def _is_action(self, text: str) -> bool:
        reader = self._inner()
        events = [*reader.feed(TextDelta(text=text, start=0, end=0)), *reader.finish()]
        is_asked = any(isinstance(event, CallStarted) for event in events)
        rest = (
            event.text for event in events if isinstance(event, CutOff) or (is_asked and isinstance(event, TextDelta))
        )
        return not "".join(rest).strip() and any(isinstance(event, CallStarted | CallMalformed) for event in events)

    def _inner(self) -> ReactReader:
        reader = ReactReader(list(self._tools.values()))
        reader._stop = self._stop
        return reader

    def _fenced(self, before: int, size: int, behind: int) -> list[ModelEvent]:
        """Read the action in a fence; the fence's own lines are dropped."""
        events = self._end_part()
        self._buffer.take(before)
        reader = self._inner()
        events += [event for piece in self._buffer.take(size) for event in reader.feed(piece)]
        events += reader.finish()
        self._buffer.take(behind)
        self._part = "over"
        return events

    def _label(self, label: re.Match[str]) -> list[ModelEvent]:
        name = _name_of(label)
        if name == "actioninput" and self._part == "action":
            self._part = "input"
            self._written.append(self._take(label.end())[0])
            self._is_line_start = False
            return []
        events = self._end_part()
        if self._part == "over":
            return events
        written, start, end = self._take(label.end())
        self._start, self._written, self._action = start, [written], []
        self._is_line_start = False
        match name:
            case "thought" | "question":
                self._part, self._thought = "thought", label.group("label")
            case "action":
                self._part = "action"
            case "actioninput":
                self._part = "input"
            case "finalanswer":
                self._part = "final"
                events.append(PartEnded(kind="text", start=start, end=start))  # the text before is not the answer
            case _:
                self._part = "over"  # only the host writes observations
                events.append(CutOff(text=written, start=start, end=end))
        return events

    def _take(self, size: int) -> tuple[str, int, int]:
        piece = self._buffer.cut(size)
        self._end = piece[2]
        return piece

    def _more(self, size: int) -> list[ModelEvent]:
        """Read more of the current part."""
        if self._part in {"text", "thought", "over"}:
            pieces = self._buffer.take(size)
            self._is_line_start = pieces[-1].text.endswith("\n")
            self._said("".join(piece.text for piece in pieces))
            if self._part == "thought":
                return [
                    ThinkingDelta(text=piece.text, start=piece.start, end=piece.end, tag=self._thought)
                    for piece in pieces
                ]
            kind = TextDelta if self._part == "text" else CutOff
            return [kind(text=piece.text, start=piece.start, end=piece.end) for piece in pieces]
        if self._part == "final":
            pieces = self._buffer.take(size)
            self._written += [piece.text for piece in pieces]
            self._end = pieces[-1].end
            return list(pieces)
        if self._part == "input":
            return self._more_input(size)
        text, *_ = self._take(size)
        self._is_line_start = text.endswith("\n")
        self._written.append(text)
        self._action.append(text)
        return self._as_words() if is_prose("".join(self._action), self._tools) else []

    def _said(self, text: str) -> None:
        """Note that text or a thought was given out, at most up to a line's end."""
        self._has_said = self._has_said or (self._part == "text" and not text.isspace())
        if self._code is not None and self._code.closes(text):
            self._code = None

    def _as_words(self) -> list[ModelEvent]:
        """Turn text that was wrongly read as an action back into text."""
        words = TextDelta(text="".join(self._written), start=self._start, end=self._end)
        self._part, self._has_said = "text", True
        return [words]

    def _more_input(self, size: int) -> list[ModelEvent]:
        """Read more of an action's input. The answer ends with the input's object."""
        end = self._balance.feed(self._buffer.text[:size])
        text, *_ = self._take(size if end < 0 else end - self._size)
        self._size += len(text)
        self._is_line_start = text.endswith("\n")
        self._written.append(text)
        self._given.append(text)
        return self._end_part() if end >= 0 else []

    def _end_part(self) -> list[ModelEvent]:
        """Return the events for the action, or the answer, just read."""
        part, start, end = self._part, self._start, self._end
        if part != "over":
            self._part = "text"
        if part == "final":
            return [PartEnded(kind="text", written="".join(self._written).rstrip(), start=start, end=end)]
        if part not in {"action", "input"}:
            return []
        given = "".join(self._given) if part == "input" else None
        read = read_action("".join(self._action), given, self._tools, is_cut=self._stop == "length")
        written = "".join(self._written)
        if read is None:
            return []
        if read == "prose":
            return self._as_words()
        self._part = "over"
        if isinstance(read, Broken):
            words = TextDelta(text=written, start=start, end=end)
            return [words, CallMalformed(reason=read.reason, start=start, end=end)]
        return [
            CallStarted(index=0, wire_id="", name=read.name, start=start, end=end, written=written.rstrip()),
            CallArguments(index=0, text=read.arguments, start=start, end=end),
        ]


class React(TextProtocol):
    """An answer holds one action, and an observation follows each."""

    name: str = "react"
    stops: tuple[str, ...] = ("\nObservation:",)
    given: str = "input"

    @override
    def reader(self, tools: Sequence[ToolSpec]) -> ReactReader:
        return ReactReader(tools)

    @override
    def tool_list(self, tools: Sequence[ToolSpec]) -> str:
        """Write one line per tool: name, description, schema."""
        return "\n".join(
            f"- {tool.name}: {tool.description} Input schema: {json.dumps(tool.schema, ensure_ascii=False)}"
            for tool in tools
        )

    @override
    def call_words(self, call: ToolCall, tools: Sequence[ToolSpec]) -> str:
        """Write the call as an action."""
        del tools
        return f"Action: {call.name}\nAction Input: {call.arguments.strip() or '{}'}"

    @override
    def thought_words(self, thought: Thinking) -> str:
        """Write the thought as the model wrote it: a ReAct prompt holds all thoughts, actions and observations."""
        return f"{thought.tag}: {thought.text.rstrip()}\n" if thought.tag in _THOUGHTS else ""

    @override
    def framed(self, result: ToolResult, tools: Sequence[ToolSpec]) -> tuple[str, str, str]:
        """Return an observation."""
        del tools
        text = result_text(result)
        return "Observation: ", f"Error: {text}" if result.is_error and not text.startswith("Error") else text, ""
