"""The demo model where three tools stand in place of all: it lists, inspects, and runs, natively and in plain text."""

from __future__ import annotations

import json

from tests.demo.hosts import SCHEMAS, Host, run, speak
from tests.demo.played import BUNDLED
from tui_host.demo.model.json_values import is_object
from tui_host.demo.model.plan import AskedCall
from tui_host.demo.model.protocols.respond import respond
from tui_host.demo.model.request_content import AssistantSaid, Call, Conversation, Message, Tool, ToolSaid, UserSaid
from tui_host.errors import JSON
from tui_host.llm.messages import ToolSpec

META: dict[str, JSON] = {
    "list": {"type": "object", "properties": {"limit": {"type": "integer"}, "offset": {"type": "integer"}}},
    "inspect": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    "invoke": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "params": {"type": "object"}},
        "required": ["name", "params"],
    },
}
TOOLS = (
    Tool(name="list", description="", types={"limit": "integer", "offset": "integer"}, required=()),
    Tool(name="inspect", description="", types={"name": "string"}, required=("name",)),
    Tool(name="invoke", description="", types={"name": "string", "params": "object"}, required=("name", "params")),
)
_PAGE = 3


def _camel(name: str) -> str:
    first, *others = name.replace("__", "_").split("_")
    return first + "".join(part.title() for part in others)


def _page(offset: int) -> str:
    names = list(BUNDLED)[offset : offset + _PAGE]
    lines = "\n".join(f"- {_camel(name)} ({name}): {BUNDLED[name].description}" for name in names)
    return f"Total: {len(BUNDLED)} tools\nOffset: {offset}\nLimit: {_PAGE}\nReturned: {len(names)}\n\n{lines}"


def _documented(name: str) -> str:
    schema = SCHEMAS[name]
    assert is_object(schema)
    properties = schema["properties"]
    assert is_object(properties)
    lines = [
        f" * @param {{{value['type'] if is_object(value) else ''}}} params.{key} - (required)"
        for key, value in properties.items()
    ]
    return "\n".join(["/**", f" * {BUNDLED[name].description}", *lines, " */", f"function {_camel(name)}(params) {{}}"])


def _told(name: str, arguments: str) -> str:
    values: object = json.loads(arguments)
    assert is_object(values)
    match name:
        case "list":
            return _page(int(str(values.get("offset", 0))))
        case "inspect":
            return _documented(str(values["name"]))
        case _:
            return run(str(values["name"]), json.dumps(values["params"]))


def _native(
    question: str, messages: list[Message] | None = None, *, parallel: bool = True
) -> tuple[list[list[AskedCall]], str]:
    messages = [] if messages is None else messages
    messages.append(UserSaid(text=question))
    asked: list[list[AskedCall]] = []
    for step in range(30):
        plan = respond(Conversation(messages=tuple(messages), tools=TOOLS, parallel=parallel))
        if not plan.calls:
            messages.append(AssistantSaid(text=plan.text))
            return asked, plan.text
        asked.append(list(plan.calls))
        calls = tuple(
            Call(id=f"{len(messages)}.{step}.{place}", name=call.name, arguments=call.arguments)
            for place, call in enumerate(plan.calls)
        )
        messages.append(AssistantSaid(text=plan.text, calls=calls))
        messages += [ToolSaid(call_id=call.id, text=_told(call.name, call.arguments)) for call in calls]
    raise AssertionError("the demo model asks without end")


def test_it_lists_until_it_has_found_a_tool_then_inspects_and_runs_it() -> None:
    asked, text = _native("what is 2 + 3?")
    assert [[call.name for call in calls] for calls in asked] == [["list"], ["inspect"], ["invoke"]]
    assert asked[-1][0].arguments == '{"name":"math__add","params":{"a":2,"b":3}}'
    assert "**5**" in text
    asked, text = _native("weather in Paris and Tokyo")
    assert [[call.name for call in calls] for calls in asked] == [["list"], ["list"], ["inspect"], ["invoke"] * 2]
    assert asked[1][0].arguments == '{"offset":3}'
    assert "17 °C" in text


def test_what_it_has_learned_it_does_not_ask_again() -> None:
    messages: list[Message] = []
    _native("what is 2 + 3?", messages)
    asked, text = _native("what is (4 + 5) * 2?", messages)
    assert [[call.name for call in calls] for calls in asked] == [["invoke"], ["inspect"], ["invoke"]]
    assert "**18**" in text


def test_a_tool_that_is_nowhere_in_the_list_is_said_to_be_missing() -> None:
    asked, text = _native("call nobody.nothing {}")
    assert [call.name for calls in asked for call in calls] == ["list"] * 3
    assert "No tool `nobody.nothing`" in text


def test_it_goes_the_same_way_in_plain_text() -> None:
    specs = tuple(
        ToolSpec(name=name, description="", schema=schema, server="hub", tool=name) for name, schema in META.items()
    )
    turn = speak(Host(name="hermes", tools=specs), "what is (6 × 5 + 7) / 2?", told=_told)
    names = [name for calls in turn.asked for name, _ in calls]
    assert names == ["list", "list", "inspect", "invoke", "inspect", "invoke", "inspect", "invoke"]
    assert "**18.5**" in turn.final
