"""Finds tools step by step through the hub's three tools, which list, inspect and invoke tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tui_host.demo.model.brain.rules import wants_tools
from tui_host.demo.model.json_values import compact, is_object, object_at, parsed, text_at
from tui_host.demo.model.plan import AskedCall, Plan, arguments_text
from tui_host.demo.model.protocols.listed_tools import objects_in, schema_in
from tui_host.demo.model.question_turn import turn_of
from tui_host.demo.model.request_content import AssistantSaid, Call, Conversation, Message, Tool, ToolSaid, parameters
from tui_host.demo.model.toolbox import own_name, parameter

_META = {
    "list": ("list", "list_tools", "tools_list"),
    "inspect": ("inspect", "inspect_tool", "tools_inspect"),
    "invoke": ("invoke", "invoke_tool", "tools_invoke"),
}
_LISTED = re.compile(
    r"^[ \t]*(?:[-*][ \t]+|\d+[.)][ \t]+)[`*]*(?P<name>[A-Za-z0-9_.-]+)[`*]*(?:[ \t]*\([`]?(?P<id>[^()\s`]+)[`]?\))?"
    r"(?:[ \t]*[:：—–-][ \t]*(?P<words>[^\n]*))?$",
    re.MULTILINE,
)
_TOTAL = re.compile(r"\btotal\W{1,4}(\d+)", re.IGNORECASE)
_DOCUMENTED = re.compile(r"@param\s+\{(?P<kind>[^}]*)\}\s+(?:params\.)?(?P<name>[\w.-]+)(?P<rest>[^\n]*)")
_MOST_PAGES = 20


@dataclass(slots=True, kw_only=True)
class _Seen:
    """What the model has learned about tools in a conversation.

    Attributes:
        listed: The tools that were listed, by name.
        told: The names of tools that were inspected.
        total: The number of tools that the list states.
    """

    listed: dict[str, Tool] = field(default_factory=dict[str, Tool])
    told: set[str] = field(default_factory=set[str])
    total: int = 0
    pages: int = 0


def through_hub(conversation: Conversation, answer: Callable[[Conversation], Plan]) -> Plan:
    """Plan an answer; if only the hub's three tools are offered, finds and calls tools through them."""
    meta = _meta_tools(conversation.tools)
    if meta is None:
        return answer(conversation)
    seen = _Seen()
    messages = tuple(_messages(conversation, meta, seen))
    within = replace(conversation, messages=messages, tools=tuple(seen.listed.values()))
    plan = answer(within)
    if not wants_tools(within) or (not plan.calls and turn_of(within).rounds):
        return plan
    is_found = bool(plan.calls) and all(call.name in seen.listed for call in plan.calls)
    has_more = not seen.pages or len(seen.listed) < seen.total
    if not is_found and has_more and seen.pages < _MOST_PAGES:
        return _asked(plan, [_page(meta["list"], len(seen.listed))], conversation)
    untold = dict.fromkeys(call.name for call in plan.calls if call.name in seen.listed and call.name not in seen.told)
    if untold:
        name = parameter(meta["inspect"], "name", "tool")
        asked = [AskedCall(name=meta["inspect"].name, arguments=arguments_text({name: tool})) for tool in untold]
        return _asked(plan, asked, conversation)
    return replace(plan, calls=tuple(_invoked(meta["invoke"], call) for call in plan.calls))


def _asked(plan: Plan, calls: list[AskedCall], conversation: Conversation) -> Plan:
    # Orders about a wrong form apply to the call that the user named, not to the steps before it.
    return Plan(thinking=plan.thinking, calls=tuple(calls if conversation.parallel else calls[:1]))


def _meta_tools(tools: tuple[Tool, ...]) -> Mapping[str, Tool] | None:
    offered = [tool for tool in tools if not tool.is_of_host]
    by_role = {
        role: tool for role, names in _META.items() for tool in offered if own_name(tool.name).casefold() in names
    }
    return by_role if len(by_role) == len(_META) == len(offered) else None


def _page(tool: Tool, offset: int) -> AskedCall:
    return AskedCall(name=tool.name, arguments=arguments_text({"offset": offset} if offset else {}))


def _invoked(tool: Tool, call: AskedCall) -> AskedCall:
    name, values = parameter(tool, "name", "tool"), parameter(tool, "params", "arguments", "parameters")
    text = f"{{{json.dumps(name)}:{json.dumps(call.name)},{json.dumps(values)}:{call.arguments}}}"
    return AskedCall(name=tool.name, arguments=text)


def _messages(conversation: Conversation, meta: Mapping[str, Tool], seen: _Seen) -> list[Message]:
    """Return the conversation as if all tools had been offered, and note the tools that were listed."""
    roles = {tool.name: role for role, tool in meta.items()}
    asked = {
        call.id: call
        for message in conversation.messages
        if isinstance(message, AssistantSaid)
        for call in message.calls
    }
    messages: list[Message] = []
    for message in conversation.messages:
        if isinstance(message, AssistantSaid):
            calls = tuple(_inner(call, meta["invoke"]) for call in message.calls if roles.get(call.name) == "invoke")
            messages.append(replace(message, calls=calls))
        elif isinstance(message, ToolSaid) and message.call_id in asked:
            role = roles.get(asked[message.call_id].name)
            if role == "list":
                _note_list(message.text, seen)
            elif role == "inspect":
                _note_tool(_argument(asked[message.call_id], meta["inspect"]), message.text, seen)
            else:
                messages.append(message)
        else:
            messages.append(message)
    return messages


def _argument(call: Call, tool: Tool) -> str:
    return text_at(parsed(call.arguments), parameter(tool, "name", "tool"))


def _inner(call: Call, invoke: Tool) -> Call:
    values = parsed(call.arguments)
    given = values.get(parameter(invoke, "params", "arguments", "parameters")) if is_object(values) else None
    arguments = compact(given) if is_object(given) else call.arguments
    return Call(id=call.id, name=_argument(call, invoke) or call.name, arguments=arguments)


def _note_list(text: str, seen: _Seen) -> None:
    seen.pages += 1
    for entry in _LISTED.finditer(text):
        identity = entry["id"] or ""
        name = identity if "__" in identity else entry["name"]
        tool = Tool(name=name, description=(entry["words"] or "").strip(), types={}, required=())
        seen.listed.setdefault(name, tool)
    total = _TOTAL.search(text)
    seen.total = int(total[1]) if total else len(seen.listed)


def _note_tool(name: str, text: str, seen: _Seen) -> None:
    """Note a tool's parameters from a schema, or from a comment in the style of documentation."""
    if not name or name not in seen.listed:
        return
    seen.told.add(name)
    schema = schema_in(text) or next(
        (documented_parameter for value in objects_in(text) if (documented_parameter := _schema_inside(value))), None
    )
    if schema is not None:
        types, required = parameters(schema)
    else:
        documented = list(_DOCUMENTED.finditer(text))
        types = {
            documented_parameter["name"]: documented_parameter["kind"].strip() for documented_parameter in documented
        }
        required = tuple(
            documented_parameter["name"]
            for documented_parameter in documented
            if "required" in documented_parameter["rest"]
        )
    seen.listed[name] = replace(seen.listed[name], types=types, required=required)


def _schema_inside(value: dict[str, object]) -> dict[str, object] | None:
    keys = ("parameters", "inputSchema", "input_schema", "schema")
    return next((inner for key in keys if (inner := object_at(value, key))), None)
