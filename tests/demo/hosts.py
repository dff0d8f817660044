"""Hosts that speak each protocol in plain text, in its essential form: the prompt, what is read, how results go back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.demo.played import BUNDLED
from tui_host.demo.model.json_values import is_object
from tui_host.demo.model.plan import Plan
from tui_host.demo.model.protocols.respond import respond
from tui_host.demo.model.request_content import AssistantSaid, Conversation, Message, SystemSaid, Thinking, UserSaid
from tui_host.demo.servers.bundled import ToolFailed
from tui_host.errors import JSON

Asked = list[tuple[str, str]]

SCHEMAS: dict[str, JSON] = {
    name: {"type": "object", "properties": dict(tool.properties), "required": list(tool.properties)}
    for name, tool in BUNDLED.items()
}


def run(name: str, arguments: str) -> str:
    """What the bundled server says."""
    values: object = json.loads(arguments)
    assert is_object(values)
    try:
        return BUNDLED[name].call(values).text
    except ToolFailed as failure:
        return f"Error: {failure}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One protocol, as a host speaks it.

    Attributes:
        calls: Names and arguments in an answer.
        results: The user message for names and texts.
        around: What is put around the person's question.
        final: The answer in the last text.
    """

    name: str
    prompt: str
    calls: Callable[[str], Asked]
    results: Callable[[Asked], str]
    around: Callable[[str], str] = str
    final: Callable[[str], str] = str


def _cline_prompt() -> str:
    servers: dict[str, list[str]] = {}
    for name in BUNDLED:
        servers.setdefault(name.partition("__")[0], []).append(name)
    chapters = "\n\n".join(
        f"## {server}\n\n### Available Tools\n"
        + "\n\n".join(
            f"- {name.partition('__')[2]}: {BUNDLED[name].description}\n    Input Schema:\n"
            + "\n".join(f"    {line}" for line in json.dumps(SCHEMAS[name], indent=2).split("\n"))
            for name in names
        )
        + f"\n\n### Resource Templates\n- {server}://{{x}} (X): something\n\n### Direct Resources\n- {server}://all (All): y"
        for server, names in servers.items()
    )
    return f"""You are an assistant.

====

TOOL USE

You use tools by XML tags, one in a message. Think in <thinking></thinking> first.

# Tools

## use_mcp_tool
Description: runs a tool of a server.
Parameters:
- server_name: (required) the server
- tool_name: (required) the tool
- arguments: (required) JSON
Usage:
<use_mcp_tool>
<server_name>server name here</server_name>
<tool_name>tool name here</tool_name>
<arguments>
{{"param": "value"}}
</arguments>
</use_mcp_tool>

## access_mcp_resource
<access_mcp_resource>
<server_name>server name here</server_name>
<uri>uri here</uri>
</access_mcp_resource>

## ask_followup_question
<ask_followup_question>
<question>question here</question>
<options>["Option 1", "Option 2"]</options>
</ask_followup_question>

## attempt_completion
<attempt_completion>
<result>
answer here
</result>
</attempt_completion>

====

MCP SERVERS

# Connected MCP Servers

{chapters}

====

RULES

- Wait for the result after each use.
"""


def inner(text: str, tag: str) -> str:
    found = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return found[1].strip() if found else ""


def _cline_calls(text: str) -> Asked:
    block = inner(text, "use_mcp_tool")
    name = f"{inner(block, 'server_name')}__{inner(block, 'tool_name')}"
    return [(name, inner(block, "arguments"))] if block else []


ENVIRONMENT = "<environment_details>\n# Current Time\n12:00 (1 + 1 minutes)\n</environment_details>"

CLINE = Host(
    name="cline",
    prompt=_cline_prompt(),
    calls=_cline_calls,
    results=lambda told: f"[use_mcp_tool for '{told[0][0].partition('__')[0]}'] Result:\n{told[0][1]}\n{ENVIRONMENT}",
    around=lambda question: f"<task>\n{question}\n</task>\n{ENVIRONMENT}",
    final=lambda text: inner(inner(text, "attempt_completion"), "result"),
)


def _cherry_prompt() -> str:
    tools = "\n\n".join(
        f"<tool>\n  <name>{name}</name>\n  <description>{tool.description}</description>\n  <arguments>\n    "
        f"{json.dumps(SCHEMAS[name])}\n  </arguments>\n</tool>"
        for name, tool in BUNDLED.items()
    )
    return f"""You have tools. Write each use as

<tool_use>
  <name>{{tool_name}}</name>
  <arguments>{{json_arguments}}</arguments>
</tool_use>

The result comes as <tool_use_result>. Example:
<tool_use>
  <name>image_generator</name>
  <arguments>{{"prompt": "a house"}}</arguments>
</tool_use>

<tools>

{tools}

</tools>

# User Instructions
Be kind.
"""


CHERRY = Host(
    name="cherry",
    prompt=_cherry_prompt(),
    calls=lambda text: [
        (inner(found[1], "name"), inner(found[1], "arguments"))
        for found in re.finditer(r"^<tool_use>(.*?)</tool_use>", text, re.DOTALL | re.MULTILINE)
    ],
    results=lambda told: "\n".join(
        f"<tool_use_result>\n  <name>{name}</name>\n  <result>{text}</result>\n</tool_use_result>"
        for name, text in told
    ),
)


def _hermes_prompt() -> str:
    tools = "\n".join(
        json.dumps(
            {
                "type": "function",
                "function": {"name": name, "description": tool.description, "parameters": SCHEMAS[name]},
            }
        )
        for name, tool in BUNDLED.items()
    )
    return (
        f"# Tools\nThe signatures are within <tools></tools> tags:\n<tools>\n{tools}\n</tools>\nFor each call give an object "
        'within <tool_call></tool_call> tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    )


def _hermes_calls(text: str) -> Asked:
    values = [json.loads(found[1]) for found in re.finditer(r"<tool_call>\n(.*?)\n</tool_call>", text, re.DOTALL)]
    return [(value["name"], json.dumps(value["arguments"])) for value in values]


HERMES = Host(
    name="hermes",
    prompt=_hermes_prompt(),
    calls=_hermes_calls,
    results=lambda told: "\n".join(
        f"<tool_response>\n{json.dumps({'name': name, 'content': text})}\n</tool_response>" for name, text in told
    ),
)


def _paragraphs() -> str:
    return "\n\n".join(
        f"Tool: {name}\nDescription: {tool.description}\nArguments:\n"
        + "\n".join(
            f"- {key} ({schema['type'] if is_object(schema) else ''}): the {key} (required)"
            for key, schema in tool.properties.items()
        )
        for name, tool in BUNDLED.items()
    )


def _object_calls(tool: str, arguments: str) -> Callable[[str], Asked]:
    def calls(text: str) -> Asked:
        if not text.startswith("{"):
            return []
        value = json.loads(text)
        return [(value[tool], json.dumps(value[arguments]))]

    return calls


JSON_OBJECT = Host(
    name="json",
    prompt=f"You have these tools:\n\n{_paragraphs()}\n\nTo use one, answer with this object and nothing else:\n"
    '{\n    "tool": "tool-name",\n    "arguments": {\n        "argument-name": "value"\n    }\n}\n\nRules:\n- Be brief: yes.',
    calls=_object_calls("tool", "arguments"),
    results=lambda told: f"Tool result for {told[0][0]}:\n{told[0][1]}",
)

FUNCTION = Host(
    name="function",
    prompt="Functions:\n"
    + json.dumps(
        [
            {"name": name, "description": tool.description, "parameters": SCHEMAS[name]}
            for name, tool in BUNDLED.items()
        ],
        indent=2,
    )
    + '\n\nCall one with exactly\n```json\n{"function": "name", "parameters": {"key": "value"}}\n```',
    calls=_object_calls("function", "parameters"),
    results=lambda told: f"Tool result for {told[0][0]}:\n{told[0][1]}",
)


def _react_calls(text: str) -> Asked:
    found = re.search(r"^Action: (\S+)\nAction Input: (.*)$", text, re.MULTILINE)
    return [(found[1], found[2])] if found else []


REACT = Host(
    name="react",
    prompt="Tools:\n"
    + "\n".join(f"- {name}: {tool.description}\n  Input: {json.dumps(SCHEMAS[name])}" for name, tool in BUNDLED.items())
    + "\n\nThought: what to do\nAction: the tool\nAction Input: its arguments as JSON\nObservation: what the host gives\n"
    "... and so on, then\nThought: done\nFinal Answer: the answer",
    calls=_react_calls,
    results=lambda told: f"Observation: {told[0][1]}",
    final=lambda text: text.partition("Final Answer: ")[2],
)

HOSTS = (CLINE, CHERRY, HERMES, JSON_OBJECT, FUNCTION, REACT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A turn: what was asked for in each step, and every plan."""

    plans: tuple[Plan, ...]
    asked: tuple[Asked, ...]
    final: str


def speak(
    host: Host,
    question: str,
    *,
    told: Callable[[str, str], str] = run,
    before: Sequence[Message] = (),
    thinking: Thinking = "asked",
) -> Spoken:
    """Plays a turn to its end."""
    messages: list[Message] = [SystemSaid(text=host.prompt), *before, UserSaid(text=host.around(question))]
    plans: list[Plan] = []
    asked: list[Asked] = []
    for _ in range(30):
        plan = respond(Conversation(messages=tuple(messages), thinking=thinking))
        assert not plan.calls
        plans.append(plan)
        calls = host.calls(plan.text)
        if not calls:
            return Spoken(plans=tuple(plans), asked=tuple(asked), final=host.final(plan.text))
        asked.append(calls)
        messages.append(AssistantSaid(text=plan.text))
        messages.append(UserSaid(text=host.results([(name, told(name, given)) for name, given in calls])))
    raise AssertionError("the demo model asks without end")
