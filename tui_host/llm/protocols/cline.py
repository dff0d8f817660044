"""`cline`: Cline's XML, one tool per answer, questions to the user, an explicit end. Source: Cline's system prompt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress

from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.errors import JSON
from tui_host.llm.messages import Message, Text, ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.grammar import BrokenCall, Found, ReadText, Syntax, read_call
from tui_host.llm.protocols.tags import element, tag_grammar
from tui_host.llm.protocols.text_protocol import TextProtocol, Wording, result_text

_USE, _READ, _ASK, _END = "use_mcp_tool", "access_mcp_resource", "ask_followup_question", "attempt_completion"
# Cline's own tools. They are not offered, but a model trained on Cline may call them.
_OTHERS = (
    "execute_command|read_file|write_to_file|replace_in_file|search_files|list_files|list_code_definition_names|"
    "browser_action|load_mcp_documentation|new_task|plan_mode_respond"
)


def _read(tag: str, inside: str, tools: Sequence[ToolSpec]) -> Found:
    if tag == _END:
        result = element(inside, "result", is_last=True)
        if result is None:
            result = element(f"{inside}</result>", "result")  # the answer's end may have cut the tag
        if result is None:
            raise BrokenCall(f"{_END} has no <result>")
        return ReadText(text=result)
    if tag == _ASK:
        question = element(inside, "question")
        if not question:
            raise BrokenCall(f"{_ASK} has no <question>")
        proposed: JSON = None
        with suppress(ValueError):
            proposed = json.loads(element(inside, "options") or "[]")
        options = tuple(option for option in items(proposed) if isinstance(option, str) and option)
        return ReadText(text=question, options=options[:9])
    if tag not in {_USE, _READ}:
        reads = f" {_READ}," if any(spec.resources is not None for spec in tools) else ""
        raise BrokenCall(f"there is no tool {tag} here; there are {_USE},{reads} {_ASK} and {_END}")
    server = _demanded(inside, "server_name")
    if tag == _READ:
        uri = _demanded(inside, "uri")
        readers = {spec.server: spec.name for spec in tools if spec.resources is not None}
        if server not in readers:
            readable = f"only {', '.join(readers)} does" if readers else f"no server does; use {_USE}"
            raise BrokenCall(f"{server} offers no resources; {readable}")
        return read_call(readers[server], json.dumps({"uri": uri}, ensure_ascii=False), tools)
    tool, arguments = _demanded(inside, "tool_name"), element(inside, "arguments", is_last=True)
    if arguments is None and "<arguments>" in inside:
        raise BrokenCall(f"{server} {tool}: the <arguments> do not end with </arguments>")
    name = next((spec.name for spec in tools if (spec.server, spec.tool) == (server, tool)), f"{server}__{tool}")
    return read_call(name, arguments or "", tools, spoken=f"{server} {tool}")


def _demanded(inside: str, name: str) -> str:
    value = element(inside, name)
    if not value:
        raise BrokenCall(f"missing value for the required parameter {name}")
    return value


class Cline(TextProtocol):
    """Cline's protocol, without its file and terminal tools."""

    name = "cline"
    any_name: str = "SERVER__TOOL"
    reads_resources = True
    thought_tags = ("thinking",)  # Cline keeps thinking in the history
    thought_form = "<thinking>{text}</thinking>"
    between: str = "\n\n"
    grammar: Syntax = tag_grammar(
        {
            _USE: ("<server_name>", "<tool_name>", "<arguments>"),
            _READ: ("<server_name>", "<uri>"),
            _ASK: ("<question>", "<options>"),
            _END: ("<result>", "<command>"),
            _OTHERS: ("<",),
        },
        _read,
        several=False,
    )

    @override
    def tool_list(self, tools: Sequence[ToolSpec]) -> str:
        servers: list[str] = []
        for name in dict.fromkeys(tool.server for tool in tools):
            lines, of_server = [f"## {name}"], [tool for tool in tools if tool.server == name]
            own = [tool for tool in of_server if tool.resources is None]
            lines += ["", "### Available Tools"] if own else []
            for tool in own:
                schema = json.dumps(tool.schema, ensure_ascii=False, indent=2).replace("\n", "\n    ")
                lines.append(f"- {tool.tool}: {tool.description}\n    Input Schema:\n    {schema}")
            resources = [resource for tool in of_server for resource in tool.resources or ()]
            for title, is_template in (("Resource Templates", True), ("Direct Resources", False)):
                listed = [resource for resource in resources if resource.is_template == is_template]
                lines += ["", f"### {title}"] if listed else []
                for resource in listed:
                    about = f" ({resource.name})" if resource.name else ""
                    lines.append(f"- {resource.uri}{about}: {resource.description}".rstrip(": "))
            servers.append("\n".join(lines))
        return "\n\n".join(servers)

    @override
    def user_words(self, words: Wording, text: str, before: Message | None, tools: Sequence[ToolSpec]) -> None:
        tag = "task" if before is None else ""
        if before is not None and any(isinstance(part, Text) and f"<{_ASK}>" in part.written for part in before.parts):
            tag = "answer"
        words.add(f"<{tag}>\n" if tag else "", "frames what you said")
        words.add(text)
        words.add(f"\n</{tag}>" if tag else "", "frames what you said")
        if tag == "task":
            # Cline writes them, with the time, into each message. Here earlier messages never change: providers cache them.
            servers = dict.fromkeys(tool.server for tool in tools)
            names = "\n".join(f"- {name}" for name in servers) or "(none)"
            details = f"# Connected MCP Servers\n{names}"
            words.add(f"\n\n<environment_details>\n{details}\n</environment_details>", "details of the environment")

    @override
    def write(self, call: ToolCall, tools: Sequence[ToolSpec]) -> str:
        server, tool = _place_of(call.name, tools)
        uri = _uri_of(call, tools)
        if uri:
            return f"<{_READ}>\n<server_name>{server}</server_name>\n<uri>{uri}</uri>\n</{_READ}>"
        return (
            f"<{_USE}>\n<server_name>{server}</server_name>\n<tool_name>{tool}</tool_name>\n"
            f"<arguments>\n{call.arguments.strip() or '{}'}\n</arguments>\n</{_USE}>"
        )

    @override
    def framed(self, result: ToolResult, tools: Sequence[ToolSpec]) -> tuple[str, str, str]:
        asked = _READ if _uri_of(result.call, tools) else _USE
        return f"[{asked} for '{_place_of(result.call.name, tools)[0]}'] Result:\n", result_text(result), ""

    @override
    def spoken(self, name: str, tools: Sequence[ToolSpec]) -> str:
        """Return server and tool, which are separate elements in Cline's XML."""
        return " ".join(_place_of(name, tools)).strip()


def _place_of(name: str, tools: Sequence[ToolSpec]) -> tuple[str, str]:
    server, _, tool = name.rpartition("__")
    return next(((tool.server, tool.tool) for tool in tools if tool.name == name), (server, tool))


def _uri_of(call: ToolCall, tools: Sequence[ToolSpec]) -> str:
    reads = any(tool.name == call.name and tool.resources is not None for tool in tools)
    with suppress(ValueError):
        return text_or_empty(mapping(json.loads(call.arguments)).get("uri")) if reads else ""
    return ""
