"""`cline`: Cline's XML, one tool per answer, questions to the user, an explicit end. Source: Cline's system prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from typing_extensions import override

from tui_host.errors import JSON
from tui_host.llm.messages import Message, ResourceSpec, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.grammar import Broken, Found, Grammar, ReadText, read_call
from tui_host.llm.protocols.tags import element, elements, tag_grammar
from tui_host.llm.protocols.text_protocol import TextProtocol, Words, result_text
from tui_host.llm.request_writing import json_lines
from tui_host.llm.thinktags import beginning_of

USE, RESOURCE, ASK, END = "use_mcp_tool", "access_mcp_resource", "ask_followup_question", "attempt_completion"
_OTHERS = (
    "execute_command|read_file|write_to_file|replace_in_file|search_files|list_files|list_code_definition_names|"
    "browser_action|load_mcp_documentation|new_task|plan_mode_respond"
)
"""Cline's own tools. They are not offered, but a model trained on Cline may call them."""


def _read(tag: str, inside: str, tools: Sequence[ToolSpec]) -> Found:
    """Read a call, a question, the final answer, or a fault. The tag names the tool, the inner tags are parameters."""
    match tag:
        case "use_mcp_tool":
            return _use(inside, tools)
        case "ask_followup_question":
            return _question(inside)
        case "attempt_completion":
            result = element(inside, "result", is_last=True)
            if result is None:  # the end of the answer may have cut the closing tag, or stand within it
                whole = inside[: len(inside) - beginning_of("</result>", inside)]
                result = element(f"{whole}</result>", "result", is_last=True)
            return ReadText(text=result[0]) if result is not None else Broken(reason=f"{END} has no <result>")
        case "access_mcp_resource":
            return _access(inside, tools)
        case _:
            reads = f" {RESOURCE}," if any(spec.resources is not None for spec in tools) else ""
            return Broken(reason=f"there is no tool {tag} here; there are {USE},{reads} {ASK} and {END}")


def _use(inside: str, tools: Sequence[ToolSpec]) -> Found:
    values = elements(inside, "server_name", "tool_name", "arguments", json_in="arguments")
    missing = next((name for name in ("server_name", "tool_name") if not values.get(name)), "")
    if missing:
        return Broken(reason=f"missing value for the required parameter {missing}")
    server, tool = values["server_name"], values["tool_name"]
    if "arguments" not in values and "<arguments>" in inside:
        return Broken(reason=f"{server} {tool}: the <arguments> do not end with </arguments>")
    name = next((spec.name for spec in tools if (spec.server, spec.tool) == (server, tool)), f"{server}__{tool}")
    read = read_call(name, values.get("arguments", ""), tools)
    if isinstance(read, Broken):
        return Broken(reason=read.reason.replace(name, f"{server} {tool}", 1))
    return read


def _access(inside: str, tools: Sequence[ToolSpec]) -> Found:
    values = elements(inside, "server_name", "uri")
    missing = next((name for name in ("server_name", "uri") if not values.get(name)), "")
    if missing:
        return Broken(reason=f"missing value for the required parameter {missing}")
    server = values["server_name"]
    readers = {spec.server: spec.name for spec in tools if spec.resources is not None}
    if server not in readers:
        readable = f"only {', '.join(readers)} does" if readers else f"no server does; use {USE}"
        return Broken(reason=f"{server} offers no resources; {readable}")
    return read_call(readers[server], json.dumps({"uri": values["uri"]}, ensure_ascii=False), tools)


def _question(inside: str) -> Found:
    question = element(inside, "question")
    if question is None or not question[0]:
        return Broken(reason=f"{ASK} has no <question>")
    options = element(inside, "options")
    try:
        value: JSON = json.loads(options[0]) if options is not None else []
    except ValueError:
        value = None
    if not isinstance(value, list):  # malformed, so it is shown unchanged
        return ReadText(text=f"{question[0]}\n\n{options[0] if options is not None else ''}".strip(), options=())
    texts = (option for option in value if isinstance(option, str) and option)
    return ReadText(text=question[0], options=tuple(texts)[:9])


class Cline(TextProtocol):
    """Cline's protocol, without its file and terminal tools."""

    name: str = "cline"
    any_name: str = "SERVER__TOOL"
    reads_resources: bool = True
    between: str = "\n\n"
    grammar: Grammar = tag_grammar(
        {
            USE: ("<server_name>", "<tool_name>", "<arguments>"),
            RESOURCE: ("<server_name>", "<uri>"),
            ASK: ("<question>", "<options>"),
            END: ("<result>", "<command>"),
            _OTHERS: ("<",),
        },
        _read,
        json_after="<arguments>",
        json_before="</arguments>",
        several=False,
        thinking_with_calls=("thinking", "think"),
    )

    @override
    def tool_list(self, tools: Sequence[ToolSpec]) -> str:
        return "\n\n".join(_server(name, own) for name, own in _by_server(tools))

    @override
    def thought_words(self, thought: Thinking) -> str:
        """Write the thinking in the tags of Cline's prompt, since Cline keeps thinking in the history."""
        return f"<thinking>{thought.text}</thinking>" if thought.tag == "thinking" else ""

    @override
    def user_words(self, words: Words, text: str, before: Message | None, tools: Sequence[ToolSpec]) -> None:
        """Write the user's words as the task, as the answer to a question, or plain.

        The environment details follow only the task, and hold no time. Thus earlier messages never change, and
        providers can cache them.
        """
        tag = "task" if before is None else "answer" if _asks(before) else ""
        if tag:
            words.add(f"<{tag}>\n", "frames what you said")
        words.add(text)
        if tag:
            words.add(f"\n</{tag}>", "frames what you said")
        if tag == "task":
            names = "\n".join(f"- {name}" for name, _ in _by_server(tools)) or "(none)"
            details = f"# Connected MCP Servers\n{names}"
            words.add(f"\n\n<environment_details>\n{details}\n</environment_details>", "details of the environment")

    @override
    def write(self, call: ToolCall, tools: Sequence[ToolSpec]) -> str:
        server, tool = _place_of(call.name, tools)
        uri = _uri_of(call, tools)
        if uri:
            return f"<{RESOURCE}>\n<server_name>{server}</server_name>\n<uri>{uri}</uri>\n</{RESOURCE}>"
        return (
            f"<{USE}>\n<server_name>{server}</server_name>\n<tool_name>{tool}</tool_name>\n"
            f"<arguments>\n{call.arguments.strip() or '{}'}\n</arguments>\n</{USE}>"
        )

    @override
    def framed(self, result: ToolResult, tools: Sequence[ToolSpec]) -> tuple[str, str, str]:
        asked = RESOURCE if _uri_of(result.call, tools) else USE
        return f"[{asked} for '{_place_of(result.call.name, tools)[0]}'] Result:\n", result_text(result), ""

    @override
    def spoken(self, name: str, tools: Sequence[ToolSpec]) -> str:
        """Return server and tool, which are separate elements in Cline's XML."""
        return " ".join(_place_of(name, tools)).strip()

    @override
    def command(self, message: Message) -> str:
        """Return the command that accompanies the result in the turn's last block."""
        ending = next(
            (part.written for part in message.parts if isinstance(part, Text) and f"<{END}>" in part.written), ""
        )
        beside = ending.partition("<result>")[0] + ending.rpartition("</result>")[2]
        element_found = element(beside, "command", is_last=True)
        return "" if element_found is None else element_found[0]


def _place_of(name: str, tools: Sequence[ToolSpec]) -> tuple[str, str]:
    """Return server and tool of a call, or the names in the call if the tool is unknown."""
    server, _, tool = name.rpartition("__")
    return next(((tool.server, tool.tool) for tool in tools if tool.name == name), (server, tool))


def _uri_of(call: ToolCall, tools: Sequence[ToolSpec]) -> str:
    """Return the URI of a resource call, empty for tool calls."""
    if not any(tool.name == call.name and tool.resources is not None for tool in tools):
        return ""
    try:
        value: JSON = json.loads(call.arguments)
    except ValueError:
        return ""
    uri = value.get("uri") if isinstance(value, Mapping) else None
    return uri if isinstance(uri, str) else ""


def _asks(message: Message) -> bool:
    return any(isinstance(part, Text) and f"<{ASK}>" in part.written for part in message.parts)


def _by_server(tools: Sequence[ToolSpec]) -> Iterator[tuple[str, list[ToolSpec]]]:
    for name in dict.fromkeys(tool.server for tool in tools):
        yield name, [tool for tool in tools if tool.server == name]


def _server(name: str, tools: Sequence[ToolSpec]) -> str:
    lines = [f"## {name}"]
    own = [tool for tool in tools if tool.resources is None]
    resources = [resource for tool in tools for resource in tool.resources or ()]
    if own:
        lines += ["", "### Available Tools"]
    for tool in own:
        schema = json_lines(tool.schema, "\n    ")
        lines.append(f"- {tool.tool}: {tool.description}\n    Input Schema:\n    {schema}")
    for title, is_template in (("Resource Templates", True), ("Direct Resources", False)):
        listed = [_resource(resource) for resource in resources if resource.is_template == is_template]
        lines += ["", f"### {title}", *listed] if listed else []
    return "\n".join(lines)


def _resource(resource: ResourceSpec) -> str:
    about = f" ({resource.name})" if resource.name else ""
    return f"- {resource.uri}{about}: {resource.description}".rstrip(": ")
