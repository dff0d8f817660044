"""The tools of the requests that we write, as their vendors take or refuse them."""

from __future__ import annotations

import json

import pytest

from tests.llm.recorded.asks import TOOLS, user
from tests.llm.vendor_schemas import CHECKS, refusals
from tui_host.errors import JSON
from tui_host.llm.dialects.dialect import Target
from tui_host.llm.dialects.dialect_table import dialect
from tui_host.llm.messages import Ask, ToolSpec
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
}


def written(name: str, tools: tuple[ToolSpec, ...]) -> bytes:
    return dialect(name).write(Ask(model="m", messages=(user("weather?"),), tools=tools), Target(provider="p")).body


@each_vendor
def test_a_servers_schema_is_taken_by_every_vendor(name: str) -> None:
    for number, schema in enumerate(OF_SERVERS.values()):
        tool = ToolSpec(name=f"a__{number}", description="", schema=schema, server="a", tool=str(number))
        assert refusals(name, written(name, (*TOOLS, tool))) == []


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


@pytest.mark.parametrize(
    ("name", "tool", "reason"),
    [
        ("openai", {"type": "function", "function": {"name": "a.b"}}, "does not match"),
        ("openai", {"type": "function", "function": {"name": "a", "parameters": {}}}, "type"),
        (
            "openai",
            {"type": "function", "function": {"name": "a", "parameters": {"type": "object", "anyOf": []}}},
            "anyOf",
        ),
        (
            "openai",
            {
                "type": "function",
                "function": {
                    "name": "a",
                    "parameters": {"type": "object", "properties": {"b": {"type": "array"}}},
                },
            },
            "items",
        ),
        ("openai-responses", {"type": "function", "function": {"name": "a"}}, "Unknown parameter"),
        (
            "openai-responses",
            {"type": "function", "name": "a", "parameters": {"type": "object", "properties": {"b": {}}}},
            "additionalProperties",
        ),
        ("anthropic", {"name": "a b", "input_schema": {"type": "object"}}, "does not match"),
        ("anthropic", {"name": "a", "input_schema": {"type": "object", "oneOf": []}}, "oneOf"),
        ("anthropic", {"name": "a", "input_schema": {"type": "object", "properties": {"a b": {}}}}, "key 'a b'"),
        ("gemini", {"functionDeclarations": [{"name": "1a"}]}, "does not match"),
        (
            "gemini",
            {"functionDeclarations": [{"name": "a", "parameters": {"$schema": "x", "type": "object"}}]},
            'Unknown name "$schema"',
        ),
        (
            "gemini",
            {
                "functionDeclarations": [
                    {"name": "a", "parameters": {"type": "object", "properties": {"b": {"type": ["string", "null"]}}}}
                ]
            },
            "not repeating",
        ),
        (
            "gemini",
            {"functionDeclarations": [{"name": "a", "parameters": {"type": "object", "required": ["b"]}}]},
            "not defined",
        ),
        ("ollama", {"type": "function", "function": {"name": "a", "parameters": "x"}}, "cannot unmarshal"),
    ],
)
def test_what_a_vendor_refuses_is_refused_here(name: str, tool: JSON, reason: str) -> None:
    found = refusals(name, json.dumps({"tools": [tool]}).encode())
    assert any(reason in words for words in found), found
