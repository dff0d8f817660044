"""The tools of the requests that we write, as their vendors take or refuse them.

What is refused is written here by hand. Sources: OpenAI API reference, Chat and Responses, and its guide on function calling;
Anthropic API reference, Messages, and its guide on tool use; Gemini API reference, v1beta, FunctionDeclaration; Ollama's
docs/api.md. Checked against the words of their refusals.
"""

import re

from tests.llm.protocols.answers import TOOLS
from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.llm.dialects.table import dialect
from tui_host.llm.schema_adaptation import OPENAI_SCHEMAS, adapt
from tui_host.llm.tool_names import NameTable, nearest, resolve

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
    adapted = adapt(OF_SERVERS["another script"], dialect("anthropic").writer.rules)
    ((city, inner),) = mapping(adapted.schema["properties"]).items()
    assert adapted.schema["required"] == [city]
    assert mapping(inner)["description"] == "城市"
    space, code = mapping(mapping(inner)["properties"])
    assert space.startswith("a_b_")
    assert mapping(inner)["required"] == [code]
    arguments: JSON = {city: [{space: 1, code: {"other": 2}}]}
    assert adapted.original(arguments) == {"城市": [{"a b": 1, "邮编": {"other": 2}}]}


def test_names_that_break_the_rule_or_collide_get_a_hash_and_stay_two() -> None:
    long = [("s", "x" * 100), ("s", "x" * 101)]
    tools = [("s", "a.b"), ("s", "a/b"), *long, ("s", "工具"), ("a", "_b"), ("a_", "b"), ("c", "d")]
    names = [NameTable.make(tools).names[tool] for tool in tools]
    wanted = ["s__a_b_", "s__a_b_", f"s__{'x' * 52}_", f"s__{'x' * 52}_", "s_____", "a___b_", "a___b_"]
    assert all(re.fullmatch(f"{start}[0-9a-f]{{8}}", name) for start, name in zip(wanted, names, strict=False))
    assert (names[-1], len(set(names))) == ("c__d", len(tools))
    rival = ("s", names[0].removeprefix("s__"))
    table = NameTable.make([tools[0], rival])
    assert table.names[rival] == names[0] != table.names[tools[0]]


def test_a_name_is_resolved_only_where_one_tool_remains() -> None:
    tools = [("math", "add"), ("math", "add_"), ("math", "multiply"), ("a", "twice"), ("b", "twice")]
    for name, meant in (
        ("math__add", "math__add"),
        ("math__multiply<|channel|>commentary", "math__multiply"),
        ("functions.math__multiply:0", "math__multiply"),
        ("math_multiply", "math__multiply"),
        ("mcp__math__multiply", "math__multiply"),
        ("'multiply'", "math__multiply"),
        ("math_add", None),
        ("add", "math__add"),
        ("twice", None),
        ("math__multiplies", None),
        ("<|channel|>", None),
        ("", None),
    ):
        assert resolve(name, NameTable.make(tools).known) == meant


def test_the_nearest_names_are_offered_for_one_that_does_not_exist() -> None:
    for name, first in {"math__multiplies": "math__multiply", "add": "math__add", "zzzzzzzzzzzz": None}.items():
        assert next(iter(nearest(name, TOOLS)), None) == first
