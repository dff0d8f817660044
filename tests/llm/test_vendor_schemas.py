"""The tools of the requests that we write, as their vendors take or refuse them."""

from __future__ import annotations

import json

import pytest

from tests.llm.recorded.asks import TOOLS, user
from tests.llm.vendor_schemas import CHECKS, refusals
from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.llm.dialects.table import dialect
from tui_host.llm.messages import Ask, ToolSpec
from tui_host.llm.outgoing import Target
from tui_host.llm.schema_adaptation import OPENAI_SCHEMAS, adapt
from tui_host.llm.tool_names import NameTable

each_vendor = pytest.mark.parametrize("name", CHECKS)
OF_SERVERS: dict[str, JSON] = {
    "nothing": {},
    "no properties": {"type": "object"},
    "$ref": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"city": {"type": "string"}},
        "properties": {"city": {"$ref": "#/$defs/city"}},
    },
    "nullable": {"type": "object", "properties": {"zip": {"type": ["string", "null"]}}, "required": ["zip"]},
    "list": {"type": "object", "properties": {"cities": {"type": "array", "items": {"type": "string"}}}},
    "numbers": {"type": "object", "properties": {"days": {"enum": [1, 3], "exclusiveMinimum": 0}}},
    "closed": {"type": "object", "properties": {}, "additionalProperties": False},
    "oneOf": {"oneOf": [{"properties": {"id": {"type": "string"}}}, {"properties": {"name": {"type": "string"}}}]},
    "anyOf": {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}},
    "allOf": {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}]},
    "not": {"type": "object", "properties": {"a": {}}, "not": {"required": ["a"]}},
    "enum": {"type": "object", "enum": [{"a": 1}]},
    "no items": {"type": "object", "properties": {"a": {"type": "array"}, "b": {"items": {"type": ["array", "null"]}}}},
    "boolean": {"type": "object", "properties": {"a": True, "b": {"type": "array", "items": False}}},
    "draft 4": {"type": "object", "properties": {"a": {"minimum": 0, "exclusiveMinimum": True}}},
    "another script": {
        "type": "object",
        "properties": {"城市": {"type": "object", "properties": {"a b": {}, "邮编": {}}, "required": ["邮编"]}},
        "required": ["城市"],
    },
    "a list": {"type": "array", "items": {}},
    "nulls": {
        "type": "object",
        "properties": {"a": {"type": "string", "enum": None, "description": None, "default": None}, "b": None},
        "required": None,
    },
}


def written(name: str, tools: tuple[ToolSpec, ...]) -> bytes:
    return dialect(name).write(Ask(model="m", messages=(user("weather?"),), tools=tools), Target(provider="p")).body


@each_vendor
def test_a_servers_schema_is_taken_by_every_vendor(name: str) -> None:
    for number, schema in enumerate(OF_SERVERS.values()):
        tool = ToolSpec(name=f"a__{number}", description="", schema=schema, server="a", tool=str(number))
        assert refusals(name, written(name, (*TOOLS, tool))) == []


@each_vendor
def test_a_vendors_own_tool_in_the_extra_body_stands_behind_the_offered_ones(name: str) -> None:
    search: JSON = {"type": "web_search"}
    tool = ToolSpec(name="a__b", description="", schema={}, server="a", tool="b")
    target, messages = Target(provider="p"), (user("weather?"),)
    alone = json.loads(dialect(name).write(Ask(model="m", messages=messages, tools=(tool,)), target).body)["tools"]
    ask = Ask(model="m", messages=messages, tools=(tool,), extra=(("tools", [search]),))
    assert json.loads(dialect(name).write(ask, target).body)["tools"] == [*alone, search]
    bare = Ask(model="m", messages=messages, extra=(("tools", [search]),))
    assert json.loads(dialect(name).write(bare, target).body)["tools"] == [search]


def test_only_what_is_refused_is_changed_and_each_change_is_named() -> None:
    changes = {name: adapt(schema, OPENAI_SCHEMAS).changes for name, schema in OF_SERVERS.items()}
    assert {name: words for name, words in changes.items() if words} == {
        "oneOf": ("merged the properties of oneOf at the root",),
        "anyOf": ("merged the properties of anyOf at the root",),
        "allOf": ("merged the properties of allOf at the root",),
        "not": ("removed not at the root",),
        "enum": ("removed enum at the root",),
        "no items": ("added items to arrays",),
        "boolean": ("wrote boolean schemas as objects",),
        "draft 4": ("wrote exclusiveMinimum as a number",),
        "a list": ("the type at the root is object",),
        "nulls": (
            "removed required: null",
            "removed enum: null",
            "removed description: null",
            "wrote null schemas as objects",
        ),
    }
    merged = adapt(OF_SERVERS["allOf"], OPENAI_SCHEMAS).schema
    assert merged == {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert list(mapping(adapt(OF_SERVERS["oneOf"], OPENAI_SCHEMAS).schema["properties"])) == ["name", "id"]
    untouched = OF_SERVERS["$ref"]
    assert adapt(untouched, OPENAI_SCHEMAS).schema is untouched


def test_renamed_properties_have_the_servers_names_again_in_arguments() -> None:
    adapted = adapt(OF_SERVERS["another script"], dialect("anthropic").schema_rules)
    ((city, inner),) = mapping(adapted.schema["properties"]).items()
    assert adapted.schema["required"] == [city]
    assert mapping(inner)["description"] == "城市"
    space, code = mapping(mapping(inner)["properties"])
    assert space.startswith("a_b_")
    assert mapping(inner)["required"] == [code]
    arguments: JSON = {city: [{space: 1, code: {"other": 2}}]}
    assert adapted.original(arguments) == {"城市": [{"a b": 1, "邮编": {"other": 2}}]}


@each_vendor
def test_names_that_a_vendor_would_refuse_are_made_fit(name: str) -> None:
    table = NameTable.make(
        [("1st server", "get/weather.now"), ("x" * 90, "y" * 90), ("工具", "天气")], dialect(name).name_rule
    )
    tools = tuple(
        ToolSpec(name=known, description="", schema={}, server=server, tool=tool)
        for known, (server, tool) in table.known.items()
    )
    assert len(tools) == 3
    assert refusals(name, written(name, tools)) == []


OBJECT: dict[str, JSON] = {"type": "object"}


def function(**members: JSON) -> JSON:
    return {"type": "function", "function": {"name": "a", **members}}


def declared(**members: JSON) -> JSON:
    return {"functionDeclarations": [{"name": "a", **members}]}


@pytest.mark.parametrize(
    ("name", "tool", "reason"),
    [
        ("openai", function(parameters={**OBJECT, "anyOf": []}), "anyOf"),
        (
            "openai-responses",
            {"type": "function", "name": "a", "parameters": {**OBJECT, "properties": {"b": {}}}},
            "additionalProperties",
        ),
        ("anthropic", {"name": "a", "input_schema": {**OBJECT, "oneOf": []}}, "oneOf"),
        ("gemini", declared(name="1a"), "does not match"),
        ("gemini", declared(parameters={**OBJECT, "$schema": "x"}), 'Unknown name "$schema"'),
    ],
)
def test_what_a_vendor_refuses_is_refused_here(name: str, tool: JSON, reason: str) -> None:
    found = refusals(name, json.dumps({"tools": [tool]}).encode())
    assert any(reason in words for words in found), found
