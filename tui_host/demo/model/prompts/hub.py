"""Finds tools step by step through the hub's three tools, which list, inspect and invoke tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

from tui_host.demo.model.conversation import DemoCall, DemoConversation, DemoMessage
from tui_host.demo.model.json_values import compact, object_at, parsed_object, text_at
from tui_host.demo.model.plan import Plan

_ROLES = ("list_tools", "inspect_tool", "invoke_tool")
_LISTED = re.compile(r"^- ([^\s:]+): ", re.MULTILINE)
_PAGE = 100
"""The most tools that the hub lists at once."""


def through_hub(conversation: DemoConversation, answer: Callable[[DemoConversation], Plan]) -> Plan:
    """Plan an answer; if only the hub's three tools are offered, find and call tools through them."""
    names = [tool for role in _ROLES for tool in conversation.tools if tool.endswith(role)]
    if len(names) != len(_ROLES) or len(conversation.tools) != len(_ROLES):
        return answer(conversation)
    list_name, inspect_name, invoke_name = names
    roles_asked = {call.id: call for message in conversation.messages for call in message.calls}
    results = [
        (roles_asked[message.call_id], message.text)
        for message in conversation.messages
        if message.call_id in roles_asked
    ]
    pages = [text for call, text in results if call.name == list_name]
    inspected = {text_at(parsed_object(call.arguments), "name") for call, _ in results if call.name == inspect_name}
    tools = [name for page in pages for name in _LISTED.findall(page)]
    # The conversation as if all listed tools had been offered.
    messages: list[DemoMessage] = []
    for message in conversation.messages:
        calls: list[DemoCall] = []
        for call in message.calls:
            if call.name == invoke_name:
                given = parsed_object(call.arguments)
                params = compact(object_at(given, "params"))
                calls.append(DemoCall(id=call.id, name=text_at(given, "name") or call.name, arguments=params))
        if message.role != "tool" or roles_asked[message.call_id].name == invoke_name:
            messages.append(replace(message, calls=tuple(calls)))
    within = replace(conversation, messages=tuple(messages), tools=tuple(tools))
    plan = answer(within)
    if not plan.calls and not plan.lacks_tool:
        return plan
    listed = set(tools)
    is_found = not plan.lacks_tool and all(call.name in listed for call in plan.calls)
    if not is_found and len(tools) == _PAGE * len(pages):
        offset = compact({"limit": _PAGE, "offset": len(tools)})
        return Plan(thinking=plan.thinking, calls=(DemoCall(name=list_name, arguments=offset),))
    new = [name for name in dict.fromkeys(call.name for call in plan.calls) if name in listed - inspected]
    if new:
        asked = [DemoCall(name=inspect_name, arguments=compact({"name": name})) for name in new]
        return Plan(thinking=plan.thinking, calls=tuple(asked if conversation.parallel else asked[:1]))
    # Written as text, so that the arguments stay as they are, also where they are not JSON.
    invoked = (f'{{"name":{json.dumps(call.name)},"params":{call.arguments}}}' for call in plan.calls)
    return replace(plan, calls=tuple(DemoCall(name=invoke_name, arguments=text) for text in invoked))
