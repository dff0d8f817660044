"""How calls and results are written in the protocols `cherry`, `hermes`, `json`, `function` and `react`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from typing_extensions import override

from tui_host.demo.model.json_values import compact, is_object, parsed, text_at
from tui_host.demo.model.plan import AskedCall
from tui_host.demo.model.protocols.grammar import Attempt, Grammar, Results, is_arguments, joined, spoken
from tui_host.demo.model.request_content import Call

_CHERRY_CALL = re.compile(r"^[ \t]*<tool_use>(.*?)(?:</tool_use>|\Z)", re.DOTALL | re.MULTILINE)
_CHERRY_NAME = re.compile(r"<name>(.*?)</name>", re.DOTALL)
_CHERRY_ARGUMENTS = re.compile(r"<arguments>(.*?)(</arguments>|\Z)", re.DOTALL)
_CHERRY_RESULT = re.compile(
    r"<tool_use_result>\s*<name>(.*?)</name>\s*<result>(.*?)</result>\s*</tool_use_result>", re.DOTALL
)
_CHERRY_STUDIO_RESULT = re.compile(r"\s*Here is the result of (?:mcp )?tool use `?([^`\n]*?)`?:?\s*\n(.*)", re.DOTALL)
"""The form of results really sent by Cherry Studio."""
_HERMES_CALL = re.compile(r"^[ \t]*<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL | re.MULTILINE)
_HERMES_NAME = re.compile(r'"name"\s*:\s*"([^"\n]*)"')
_HERMES_RESULT = re.compile(r"<tool_response>(.*?)</tool_response>", re.DOTALL)
_OBJECT_RESULT = re.compile(
    r"^[ \t]*(?:Tool|Function)(?: execution)? (?:result|error)(?: (?:for|of) [^\n:]+)?[ \t]*:[ \t]*\n?|^[ \t]*Error executing tool:[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_ERROR = re.compile(r"error", re.IGNORECASE)
_ACTION = re.compile(r"^[ \t*]*Action[*]*[ \t]*[:：][ \t]*(?P<name>[^\n]+)$", re.MULTILINE)
_ACTION_INPUT = re.compile(r"^[ \t*]*Action Input[*]*[ \t]*[:：](?P<text>.*)", re.MULTILINE | re.DOTALL)
_OBSERVATION = re.compile(r"\s*Observation[ \t]*[:：][ \t]*(.*)", re.DOTALL)
_QUESTION_LABEL = re.compile(r"^[ \t]*(?:Question|Task|问题)[ \t]*[:：][ \t]*", re.IGNORECASE)
_NO_ACTION = ("none", "n/a")


class Cherry(Grammar):
    """Calls as `<tool_use>` elements, results as `<tool_use_result>` elements in a user message."""

    several = True
    opening = "<tool_use>"

    @override
    def attempts(self, text: str) -> list[Attempt]:
        attempts: list[Attempt] = []
        for block in _CHERRY_CALL.finditer(spoken(text)):
            name, arguments = _CHERRY_NAME.search(block[1]), _CHERRY_ARGUMENTS.search(block[1])
            given = arguments[1].strip() if arguments else ""
            is_whole = bool(name and arguments and arguments[2]) and is_arguments(given)
            attempts.append(Attempt(name=name[1].strip() if name else "", arguments=given, is_whole=is_whole))
        return attempts

    @override
    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        texts = tuple(result[2].strip() for result in _CHERRY_RESULT.finditer(text))
        if texts:
            return Results(texts=texts, rest=_CHERRY_RESULT.sub("", text).strip())
        result = _CHERRY_STUDIO_RESULT.match(text)
        return Results(texts=(result[2].strip(),)) if result and calls else None

    @override
    def call(self, call: AskedCall) -> str:
        return f"<tool_use>\n  <name>{call.name}</name>\n  <arguments>{call.arguments}</arguments>\n</tool_use>"

    @override
    def unclosed(self, call: AskedCall) -> str:
        return f"<tool_use>\n  <name>{call.name}</name>\n  <arguments>{call.arguments[:-1]}"

    @override
    def invented(self, call: AskedCall) -> str:
        return f"<tool_use_result>\n  <name>{call.name}</name>\n  <result>42</result>\n</tool_use_result>\n\nThe result is 42."


class Hermes(Grammar):
    """Calls as `<tool_call>` elements with a JSON object each, results as `<tool_response>` elements."""

    several = True
    opening = "<tool_call>"

    @override
    def attempts(self, text: str) -> list[Attempt]:
        attempts: list[Attempt] = []
        for block in _HERMES_CALL.finditer(spoken(text)):
            written = block[1].strip()
            value = parsed(written)
            arguments = value.get("arguments") if is_object(value) else None
            if is_object(arguments):
                attempts.append(Attempt(name=text_at(value, "name"), arguments=compact(arguments)))
                continue
            name = _HERMES_NAME.search(written)
            attempts.append(Attempt(name=name[1] if name else "", arguments=written, is_whole=False))
        return attempts

    @override
    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        texts = tuple(_hermes_content(result[1].strip()) for result in _HERMES_RESULT.finditer(text))
        return Results(texts=texts, rest=_HERMES_RESULT.sub("", text).strip()) if texts and calls else None

    @override
    def call(self, call: AskedCall) -> str:
        return f"<tool_call>\n{_object('name', call, 'arguments')}\n</tool_call>"

    @override
    def unclosed(self, call: AskedCall) -> str:
        return f"<tool_call>\n{_object('name', call, 'arguments')[:-2]}"

    @override
    def invented(self, call: AskedCall) -> str:
        content = json.dumps({"name": call.name, "content": "42"})
        return f"<tool_response>\n{content}\n</tool_response>\n\nThe result is 42."


def _object(tool_key: str, call: AskedCall, arguments_key: str) -> str:
    return f'{{"{tool_key}": {json.dumps(call.name)}, "{arguments_key}": {call.arguments}}}'


def _hermes_content(text: str) -> str:
    value = parsed(text)
    content = value.get("content", text) if is_object(value) else text
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


class Objects(Grammar):
    """An answer as a single JSON object: `{"tool": …, "arguments": …}`, or `{"function": …, "parameters": …}`.

    Args:
        tool: The key of the tool's name.
        arguments: The key of the arguments.
    """

    def __init__(self, tool: str, arguments: str) -> None:
        self._tool = tool
        self._arguments = arguments
        self._name = re.compile(rf'"{tool}"\s*:\s*"([^"\n]*)"')
        self.opening = f'{{"{tool}": …}}'

    @override
    def attempts(self, text: str) -> list[Attempt]:
        rest = spoken(text).strip()
        attempts: list[Attempt] = []
        while rest.startswith("{"):
            try:
                value, end = json.JSONDecoder().raw_decode(rest)
            except (ValueError, RecursionError):
                name = self._name.match(rest[1:].lstrip())
                return [*attempts, Attempt(name=name[1], arguments=rest, is_whole=False)] if name else attempts
            name, arguments = value.get(self._tool), value.get(self._arguments)
            if not isinstance(name, str) or not is_object(arguments):
                return attempts
            attempts.append(Attempt(name=name, arguments=compact(arguments)))
            rest = rest[end:].lstrip(" \t\r\n,")
        return attempts

    @override
    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        heads = list(_OBJECT_RESULT.finditer(text))[: len(calls)]
        if not heads or text[: heads[0].start()].strip():
            return None
        ends = [head.start() for head in heads[1:]] + [len(text)]
        texts = [text[head.end() : end].strip() for head, end in zip(heads, ends, strict=True)]
        return Results(texts=tuple(_with_error(head[0], result) for head, result in zip(heads, texts, strict=True)))

    @override
    def call(self, call: AskedCall) -> str:
        return _object(self._tool, call, self._arguments)

    @override
    def unclosed(self, call: AskedCall) -> str:
        return self.call(call)[:-2]

    @override
    def invented(self, call: AskedCall) -> str:
        return f"Tool result for {call.name}:\n42\n\nThe result is 42."

    @override
    def asking(self, calls: str, text: str, thought: str) -> str:
        # The object and nothing else: that is the rule of this protocol.
        return joined(thought, calls)


def _with_error(head: str, result: str) -> str:
    """Mark a result as an error where only the line before does."""
    return f"Error: {result}" if _ERROR.search(head) and not _ERROR.match(result) else result


class React(Grammar):
    """Lines with the labels Thought, Action, Action Input, Observation, Final Answer; a single action in an answer."""

    opening = "Action:"

    @override
    def question(self, text: str) -> str:
        return _QUESTION_LABEL.sub("", text)

    @override
    def attempts(self, text: str) -> list[Attempt]:
        words = spoken(text)
        action = _ACTION.search(words)
        if action is None or action["name"].strip().casefold() in _NO_ACTION:
            return []
        given = _ACTION_INPUT.search(words, action.end())
        arguments = given["text"].strip() if given else ""
        try:
            _, end = json.JSONDecoder().raw_decode(arguments)
        except (ValueError, RecursionError):
            end = len(arguments)
        arguments = arguments[:end]
        name = action["name"].strip(" \t`*")
        return [Attempt(name=name, arguments=arguments, is_whole=is_arguments(arguments))]

    @override
    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        observation = _OBSERVATION.match(text)
        return Results(texts=(observation[1].strip(),)) if observation and calls else None

    @override
    def call(self, call: AskedCall) -> str:
        return f"Action: {call.name}\nAction Input: {call.arguments}"

    @override
    def unclosed(self, call: AskedCall) -> str:
        return self.call(call)[:-1]

    @override
    def invented(self, call: AskedCall) -> str:
        return "Observation: 42\nThought: I have the answer.\nFinal Answer: The result is 42."

    @override
    def asking(self, calls: str, text: str, thought: str) -> str:
        words = " ".join((thought or text or "I need a tool for this.").split())
        return f"Thought: {words}\n{calls}"

    @override
    def ending(self, text: str, thought: str) -> str:
        words = " ".join((thought or "I have the answer.").split())
        return f"Thought: {words}\nFinal Answer: {text}"
