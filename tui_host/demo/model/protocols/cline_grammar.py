"""Cline's XML: `use_mcp_tool` and more, one tool in an answer; the turn ends with `attempt_completion`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from typing_extensions import override

from tui_host.demo.model.json_values import is_object
from tui_host.demo.model.plan import AskedCall
from tui_host.demo.model.protocols.grammar import Attempt, Grammar, Results, is_arguments, joined, spoken
from tui_host.demo.model.protocols.listed_tools import inner, made, objects_in, once
from tui_host.demo.model.request_content import Call, Tool

USE_TOOL, READ_RESOURCE, ASK = "use_mcp_tool", "access_mcp_resource", "ask_followup_question"

_CHAPTER = re.compile(r"^#+[ \t]*Connected MCP Servers[ \t]*$", re.MULTILINE | re.IGNORECASE)
_SERVER = re.compile(r"^##[ \t]+[`*]*([A-Za-z0-9_-]{1,40})[`*]*(?:[ \t]*[(:（—–][^\n]*)?[ \t]*$", re.MULTILINE)
_TOOL = re.compile(r"^- [`*]*([^\s:`*]+)[`*]*[ \t]*(?:[:：][ \t]*([^\n]*))?$", re.MULTILINE)
_AVAILABLE = re.compile(r"^###[ \t]+Available Tools\b[^\n]*$", re.MULTILINE | re.IGNORECASE)
_RESOURCES = re.compile(r"^###[ \t]+(?:Resource Templates|Direct Resources|Resources)\b", re.MULTILINE | re.IGNORECASE)
_BLOCK = re.compile(rf"^[ \t]*<({USE_TOOL}|{READ_RESOURCE}|{ASK})>(.*?)(?:</\1>|\Z)", re.DOTALL | re.MULTILINE)
_ARGUMENTS = re.compile(r"<arguments>(.*?)(</arguments>|\Z)", re.DOTALL)
_RESULT = re.compile(r"\s*\[\w+(?: for '[^'\n]*')?\] Result:[ \t]*\n?", re.IGNORECASE)
_AROUND = re.compile(r"<environment_details>.*?(?:</environment_details>|\Z)", re.DOTALL)
_OTHERS = re.compile(r"\s*(?:The user denied|The tool execution failed)", re.IGNORECASE)
_OWN = {READ_RESOURCE: ("server_name", "uri"), ASK: ("question", "options")}


class Cline(Grammar):
    """See the module."""

    opening = f"<{USE_TOOL}>"

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
            for name, names in _OWN.items()
            if f"<{name}>" in prompt
        ]
        return once((*listed_tools, *own))

    @override
    def question(self, text: str) -> str:
        plain = _AROUND.sub("", text).strip()
        return inner(plain, "task") or inner(plain, "feedback") or plain

    @override
    def attempts(self, text: str) -> list[Attempt]:
        match = _BLOCK.search(spoken(text))
        if match is None:
            return []
        name, block = match[1], match[2]
        if name == USE_TOOL:
            arguments = _ARGUMENTS.search(block)
            given = arguments[1].strip() if arguments else ""
            server, tool = inner(block, "server_name"), inner(block, "tool_name")
            is_whole = bool(server and tool and arguments and arguments[2]) and is_arguments(given)
            return [Attempt(name=f"{server}__{tool}", arguments=given, is_whole=is_whole)]
        values = {key: inner(block, key) for key in _OWN[name]}
        is_whole = all(values[key] for key in _OWN[name] if key != "options")
        return [Attempt(name=name, arguments=json.dumps(values, ensure_ascii=False), is_whole=is_whole)]

    @override
    def results(self, text: str, calls: Sequence[Call]) -> Results | None:
        head = _RESULT.match(text)
        if not calls or (head is None and not _OTHERS.match(text)):
            return None
        result = _AROUND.sub("", text[head.end() if head else 0 :]).strip()
        reason = inner(result, "feedback")
        if reason:
            result = f"{result.partition('<feedback>')[0].strip()} Reason: {reason}"
        return Results(texts=(inner(result, "answer") or result,))

    @override
    def call(self, call: AskedCall) -> str:
        if call.name in _OWN:
            return _own_call(call)
        server, _, tool = call.name.partition("__")
        head = f"<server_name>{server}</server_name>\n<tool_name>{tool}</tool_name>"
        return f"<{USE_TOOL}>\n{head}\n<arguments>\n{call.arguments}\n</arguments>\n</{USE_TOOL}>"

    @override
    def unclosed(self, call: AskedCall) -> str:
        return self.call(call).partition("</arguments>")[0].rstrip()[:-1]

    @override
    def invented(self, call: AskedCall) -> str:
        server = call.name.partition("__")[0]
        return f"[{USE_TOOL} for '{server}'] Result:\n42\n\nThe result is 42."

    @override
    def asking(self, calls: str, text: str, thought: str) -> str:
        return joined(_thinking(thought), text, calls)

    @override
    def ending(self, text: str, thought: str) -> str:
        return joined(_thinking(thought), f"<attempt_completion>\n<result>\n{text}\n</result>\n</attempt_completion>")


def _thinking(thought: str) -> str:
    return f"<thinking>\n{thought}\n</thinking>" if thought else ""


def _tools_of(server: str, text: str) -> list[Tool]:
    listed, resources = _AVAILABLE.search(text), _RESOURCES.search(text)
    text = text[listed.end() if listed else 0 : resources.start() if resources else len(text)]
    entries = list(_TOOL.finditer(text))
    ends = [entry.start() for entry in entries[1:]] + [len(text)]
    schemas = [next(objects_in(text[entry.end() : end]), None) for entry, end in zip(entries, ends, strict=True)]
    # Lists of other things under a heading have no schemas.
    return [
        made(f"{server}__{entry[1]}", entry[2] or "", schema)
        for entry, schema in zip(entries, schemas, strict=True)
        if listed or schema is not None
    ]


def _own_call(call: AskedCall) -> str:
    values: object = json.loads(call.arguments)
    lines = [
        f"<{name}>{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}</{name}>"
        for name, value in (values if is_object(values) else {}).items()
    ]
    return "\n".join([f"<{call.name}>", *lines, f"</{call.name}>"])
