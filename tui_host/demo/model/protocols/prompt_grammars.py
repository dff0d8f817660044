"""The tool protocols in plain text, on the model's side: reads the host's messages, and writes the model's answers."""

from __future__ import annotations

import abc
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override

from tui_host.demo.model.json_values import compact, is_object, parsed, text_at
from tui_host.demo.model.plan import AskedCall
from tui_host.demo.model.protocols.listed_tools import inner, objects_in, offered_in, once
from tui_host.demo.model.request_content import Call, Tool, tool_of

_THINKING = re.compile(r"<(thinking|think)>.*?</\1>", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_ARGUMENTS = re.compile(r"<arguments>(.*?)(</arguments>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCall:
    """A call found in the text of an answer.

    Attributes:
        is_whole: Whether the call has exactly the form that the protocol demands.
    """

    name: str
    arguments: str
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results found in a user message.

    Attributes:
        texts: The texts in the order of the calls.
        rest: The rest of the message.
    """

    texts: tuple[str, ...]
    rest: str = ""


class Grammar(abc.ABC):
    """A tool protocol in plain text.

    Attributes:
        several: Whether an answer may contain several calls.
        opening: The beginning of a call, to mention in prose.
        invention: A result in the host's form, to imitate models that invent results.
    """

    several = False
    opening: str
    invention: str

    def tools(self, prompt: str) -> tuple[Tool, ...]:
        """Read the tools in a system prompt."""
        return offered_in(prompt)

    def question(self, text: str) -> str:
        """Return the user's words in a user message."""
        return text

    @abc.abstractmethod
    def written_calls(self, text: str) -> list[WrittenCall]:
        """Find the calls in an answer of the model, which is passed without thinking and fences."""

    @abc.abstractmethod
    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        """Read the results of calls from a user message; None if the message has another form."""

    @abc.abstractmethod
    def call(self, call: AskedCall) -> str:
        """Write a call."""

    def unclosed(self, call: AskedCall) -> str:
        """Write a call that breaks off after the last bracket of its arguments."""
        head, _, _ = self.call(call).rpartition(call.arguments)
        return f"{head}{call.arguments[:-1]}"

    def asking(self, calls: str, text: str, thought: str) -> str:
        """Write an answer with calls, which follow the text and the thinking."""
        return joined(thought, text, calls)

    def ending(self, text: str, thought: str) -> str:
        """Write the answer that ends a turn."""
        return joined(thought, text)


def spoken(text: str) -> str:
    """Return an answer's text without thinking. Removes fences too, unless a fence contains the whole text."""
    plain = _THINKING.sub("", text).strip()
    whole = _FENCE.fullmatch(plain)
    return whole[1] if whole else _FENCE.sub("", plain)


def joined(*texts: str) -> str:
    """Join the non-empty texts with blank lines."""
    return "\n\n".join(text for text in texts if text)


def _is_arguments(text: str) -> bool:
    return is_object(parsed(text))


_CHERRY_CALL = re.compile(r"^[ \t]*<tool_use>(.*?)(?:</tool_use>|\Z)", re.DOTALL | re.MULTILINE)
_CHERRY_RESULT = re.compile(
    r"<tool_use_result>\s*<name>(.*?)</name>\s*<result>(.*?)</result>\s*</tool_use_result>", re.DOTALL
)
_CHERRY_STUDIO_RESULT = re.compile(r"\s*Here is the result of (?:mcp )?tool use `?([^`\n]*?)`?:?\s*\n(.*)", re.DOTALL)
"""The form in which Cherry Studio really sends results."""


class Cherry(Grammar):
    """Calls as `<tool_use>` elements, results as `<tool_use_result>` elements in a user message."""

    several = True
    opening = "<tool_use>"
    invention = "<tool_use_result>\n  <name>{name}</name>\n  <result>42</result>\n</tool_use_result>"

    @override
    def written_calls(self, text: str) -> list[WrittenCall]:
        calls: list[WrittenCall] = []
        for block in _CHERRY_CALL.finditer(text):
            name, element = inner(block[1], "name"), _ARGUMENTS.search(block[1])
            arguments = element[1].strip() if element else ""
            is_whole = bool(name and element and element[2]) and _is_arguments(arguments)
            calls.append(WrittenCall(name=name, arguments=arguments, is_whole=is_whole))
        return calls

    @override
    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        texts = tuple(result[2].strip() for result in _CHERRY_RESULT.finditer(text))
        if texts:
            return Results(texts=texts, rest=_CHERRY_RESULT.sub("", text).strip())
        result = _CHERRY_STUDIO_RESULT.match(text)
        return Results(texts=(result[2].strip(),)) if result else None

    @override
    def call(self, call: AskedCall) -> str:
        return f"<tool_use>\n  <name>{call.name}</name>\n  <arguments>{call.arguments}</arguments>\n</tool_use>"


_HERMES_CALL = re.compile(r"^[ \t]*<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL | re.MULTILINE)
_HERMES_NAME = re.compile(r'"name"\s*:\s*"([^"\n]*)"')
_HERMES_RESULT = re.compile(r"<tool_response>(.*?)</tool_response>", re.DOTALL)


class Hermes(Grammar):
    """Calls as `<tool_call>` elements with a JSON object in each, results as `<tool_response>` elements."""

    several = True
    opening = "<tool_call>"
    invention = '<tool_response>\n{"name": "{name}", "content": "42"}\n</tool_response>'

    @override
    def written_calls(self, text: str) -> list[WrittenCall]:
        calls: list[WrittenCall] = []
        for block in _HERMES_CALL.finditer(text):
            value = parsed(block[1].strip())
            arguments = value.get("arguments") if is_object(value) else None
            if is_object(arguments):
                calls.append(WrittenCall(name=text_at(value, "name"), arguments=compact(arguments)))
                continue
            name = _HERMES_NAME.search(block[1])
            calls.append(WrittenCall(name=name[1] if name else "", arguments=block[1].strip(), is_whole=False))
        return calls

    @override
    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        texts = tuple(_hermes_content(result[1].strip()) for result in _HERMES_RESULT.finditer(text))
        return Results(texts=texts, rest=_HERMES_RESULT.sub("", text).strip()) if texts else None

    @override
    def call(self, call: AskedCall) -> str:
        return f"<tool_call>\n{_object('name', call, 'arguments')}\n</tool_call>"


def _object(tool_key: str, call: AskedCall, arguments_key: str) -> str:
    return f'{{"{tool_key}": {json.dumps(call.name)}, "{arguments_key}": {call.arguments}}}'


def _hermes_content(text: str) -> str:
    value = parsed(text)
    content = value.get("content", text) if is_object(value) else text
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


_OBJECT_RESULT = re.compile(
    r"^[ \t]*(?:Tool|Function)(?: execution)? (?:result|error)(?: (?:for|of) [^\n:]+)?[ \t]*:[ \t]*\n?|^[ \t]*Error executing tool:[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_ERROR = re.compile(r"error", re.IGNORECASE)


class Objects(Grammar):
    """An answer as a single JSON object: `{"tool": …, "arguments": …}`, or `{"function": …, "parameters": …}`.

    Args:
        tool: The key that holds the tool's name.
        arguments: The key that holds the arguments.
    """

    invention = "Tool result for {name}:\n42"

    def __init__(self, tool: str, arguments: str) -> None:
        self._tool = tool
        self._arguments = arguments
        self._name = re.compile(rf'"{tool}"\s*:\s*"([^"\n]*)"')
        self.opening = f'{{"{tool}": …}}'

    @override
    def written_calls(self, text: str) -> list[WrittenCall]:
        rest = text.strip()
        calls: list[WrittenCall] = []
        while rest.startswith("{"):
            try:
                value, end = json.JSONDecoder().raw_decode(rest)
            except (ValueError, RecursionError):
                name = self._name.match(rest[1:].lstrip())
                return [*calls, WrittenCall(name=name[1], arguments=rest, is_whole=False)] if name else calls
            name, arguments = value.get(self._tool), value.get(self._arguments)
            if not isinstance(name, str) or not is_object(arguments):
                return calls
            calls.append(WrittenCall(name=name, arguments=compact(arguments)))
            rest = rest[end:].lstrip(" \t\r\n,")
        return calls

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
    def asking(self, calls: str, text: str, thought: str) -> str:
        # This protocol demands the object and nothing else.
        return joined(thought, calls)


def _with_error(head: str, result: str) -> str:
    """Mark a result as an error if the line before it says so."""
    return f"Error: {result}" if _ERROR.search(head) and not _ERROR.match(result) else result


_ACTION = re.compile(r"^[ \t*]*Action[*]*[ \t]*[:：][ \t]*(?P<name>[^\n]+)$", re.MULTILINE)
_ACTION_INPUT = re.compile(r"^[ \t*]*Action Input[*]*[ \t]*[:：](?P<text>.*)", re.MULTILINE | re.DOTALL)
_OBSERVATION = re.compile(r"\s*Observation[ \t]*[:：][ \t]*(.*)", re.DOTALL)
_QUESTION_LABEL = re.compile(r"^[ \t]*(?:Question|Task|问题)[ \t]*[:：][ \t]*", re.IGNORECASE)
_NO_ACTION = ("none", "n/a")


class React(Grammar):
    """Lines with the labels Thought, Action, Action Input, Observation, Final Answer; one action in an answer."""

    opening = "Action:"
    invention = "Observation: 42\nThought: I have the answer.\nFinal Answer: 42."

    @override
    def question(self, text: str) -> str:
        return _QUESTION_LABEL.sub("", text)

    @override
    def written_calls(self, text: str) -> list[WrittenCall]:
        action = _ACTION.search(text)
        if action is None or action["name"].strip().casefold() in _NO_ACTION:
            return []
        line = _ACTION_INPUT.search(text, action.end())
        arguments = line["text"].strip() if line else ""
        try:
            _, end = json.JSONDecoder().raw_decode(arguments)
        except (ValueError, RecursionError):
            end = len(arguments)
        arguments = arguments[:end]
        name = action["name"].strip(" \t`*")
        return [WrittenCall(name=name, arguments=arguments, is_whole=_is_arguments(arguments))]

    @override
    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        observation = _OBSERVATION.match(text)
        return Results(texts=(observation[1].strip(),)) if observation else None

    @override
    def call(self, call: AskedCall) -> str:
        return f"Action: {call.name}\nAction Input: {call.arguments}"

    @override
    def asking(self, calls: str, text: str, thought: str) -> str:
        return f"Thought: {' '.join((thought or text or 'I need a tool for this.').split())}\n{calls}"

    @override
    def ending(self, text: str, thought: str) -> str:
        return f"Thought: {' '.join((thought or 'I have the answer.').split())}\nFinal Answer: {text}"


USE_TOOL, READ_RESOURCE, ASK = "use_mcp_tool", "access_mcp_resource", "ask_followup_question"

_CHAPTER = re.compile(r"^#+[ \t]*Connected MCP Servers[ \t]*$", re.MULTILINE | re.IGNORECASE)
_SERVER = re.compile(r"^##[ \t]+[`*]*([A-Za-z0-9_-]{1,40})[`*]*(?:[ \t]*[(:（—–][^\n]*)?[ \t]*$", re.MULTILINE)
_TOOL = re.compile(r"^- [`*]*([^\s:`*]+)[`*]*[ \t]*(?:[:：][ \t]*([^\n]*))?$", re.MULTILINE)
_AVAILABLE = re.compile(r"^###[ \t]+Available Tools\b[^\n]*$", re.MULTILINE | re.IGNORECASE)
_RESOURCES = re.compile(r"^###[ \t]+(?:Resource Templates|Direct Resources|Resources)\b", re.MULTILINE | re.IGNORECASE)
_CLINE_CALL = re.compile(rf"^[ \t]*<({USE_TOOL}|{READ_RESOURCE}|{ASK})>(.*?)(?:</\1>|\Z)", re.DOTALL | re.MULTILINE)
_CLINE_RESULT = re.compile(r"\s*\[\w+(?: for '[^'\n]*')?\] Result:[ \t]*\n?", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"<environment_details>.*?(?:</environment_details>|\Z)", re.DOTALL)
_CLINE_FAILURE = re.compile(r"\s*(?:The user denied|The tool execution failed)", re.IGNORECASE)
_CLINE_OWN = {READ_RESOURCE: ("server_name", "uri"), ASK: ("question", "options")}
"""The parameters of the host's own tools."""


class Cline(Grammar):
    """Cline's XML: `use_mcp_tool` and others, one tool in an answer. A turn ends with `attempt_completion`."""

    opening = f"<{USE_TOOL}>"
    invention = f"[{USE_TOOL} for '{{server}}'] Result:\n42"

    @override
    def tools(self, prompt: str) -> tuple[Tool, ...]:
        chapter = _CHAPTER.search(prompt)
        text = prompt[chapter.end() :] if chapter else prompt
        servers = list(_SERVER.finditer(text))
        ends = [section.start() for section in servers[1:]] + [len(text)]
        listed_tools = [
            tool
            for server, end in zip(servers, ends, strict=True)
            for tool in _tools_of(server[1], text[server.end() : end])
        ]
        own = [
            Tool(name=name, description="", types=dict.fromkeys(names, ""), required=names, is_of_host=True)
            for name, names in _CLINE_OWN.items()
            if f"<{name}>" in prompt
        ]
        return once((*listed_tools, *own))

    @override
    def question(self, text: str) -> str:
        plain = _ENVIRONMENT.sub("", text).strip()
        return inner(plain, "task") or inner(plain, "feedback") or plain

    @override
    def written_calls(self, text: str) -> list[WrittenCall]:
        match = _CLINE_CALL.search(text)
        if match is None:
            return []
        name, block = match[1], match[2]
        if name == USE_TOOL:
            element = _ARGUMENTS.search(block)
            arguments = element[1].strip() if element else ""
            server, tool = inner(block, "server_name"), inner(block, "tool_name")
            is_whole = bool(server and tool and element and element[2]) and _is_arguments(arguments)
            return [WrittenCall(name=f"{server}__{tool}", arguments=arguments, is_whole=is_whole)]
        values = {key: inner(block, key) for key in _CLINE_OWN[name]}
        is_whole = all(values[key] for key in _CLINE_OWN[name] if key != "options")
        return [WrittenCall(name=name, arguments=json.dumps(values, ensure_ascii=False), is_whole=is_whole)]

    @override
    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        head = _CLINE_RESULT.match(text)
        if head is None and not _CLINE_FAILURE.match(text):
            return None
        result = _ENVIRONMENT.sub("", text[head.end() if head else 0 :]).strip()
        reason = inner(result, "feedback")
        if reason:
            result = f"{result.partition('<feedback>')[0].strip()} Reason: {reason}"
        return Results(texts=(inner(result, "answer") or result,))

    @override
    def call(self, call: AskedCall) -> str:
        if call.name in _CLINE_OWN:
            values = parsed(call.arguments)
            lines = [
                f"<{name}>{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}</{name}>"
                for name, value in (values if is_object(values) else {}).items()
            ]
            return "\n".join([f"<{call.name}>", *lines, f"</{call.name}>"])
        server, _, tool = call.name.partition("__")
        head = f"<server_name>{server}</server_name>\n<tool_name>{tool}</tool_name>"
        return f"<{USE_TOOL}>\n{head}\n<arguments>\n{call.arguments}\n</arguments>\n</{USE_TOOL}>"

    @override
    def asking(self, calls: str, text: str, thought: str) -> str:
        return joined(_in_tags(thought), text, calls)

    @override
    def ending(self, text: str, thought: str) -> str:
        return joined(_in_tags(thought), f"<attempt_completion>\n<result>\n{text}\n</result>\n</attempt_completion>")


def _in_tags(thought: str) -> str:
    return f"<thinking>\n{thought}\n</thinking>" if thought else ""


def _tools_of(server: str, text: str) -> list[Tool]:
    listed, resources = _AVAILABLE.search(text), _RESOURCES.search(text)
    text = text[listed.end() if listed else 0 : resources.start() if resources else len(text)]
    entries = list(_TOOL.finditer(text))
    ends = [entry.start() for entry in entries[1:]] + [len(text)]
    schemas = [next(objects_in(text[entry.end() : end]), None) for entry, end in zip(entries, ends, strict=True)]
    # Lists of anything but tools have no schemas.
    return [
        tool_of(f"{server}__{entry[1]}", entry[2] or "", schema)
        for entry, schema in zip(entries, schemas, strict=True)
        if listed or schema is not None
    ]
