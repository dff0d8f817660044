"""What the vendors refuse in the tools of a request: their names and their schemas. Strict, and independent of our writers.

Sources: OpenAI API reference, Chat and Responses, and its guide on function calling; Anthropic API reference, Messages, and its
guide on tool use; Gemini API reference, v1beta, FunctionDeclaration and Schema; Ollama's docs/api.md. Checked against the words of
their refusals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from tui_host.errors import JSON

OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ANTHROPIC_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
ANTHROPIC_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
GEMINI_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
GEMINI_SCHEMA = frozenset(
    (
        *("type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems", "properties"),
        *("required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "minimum", "maximum"),
        *("example", "anyOf", "propertyOrdering", "default"),
    )
)
"""What `parameters` may hold: a subset of OpenAPI's schemas. `parametersJsonSchema` takes JSON Schema."""
GEMINI_DECLARATION = frozenset(
    ("name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior")
)
AT_THE_ROOT = ("oneOf", "anyOf", "allOf", "enum", "not")
MOST_TOOLS = 128
GEMINI_DEPTH = 30
DRAFT_4 = ("exclusiveMinimum", "exclusiveMaximum")


def refusals(dialect: str, body: bytes) -> list[str]:
    """The reasons for which a vendor would refuse the tools of a request; empty if it takes them all."""
    request: JSON = json.loads(body)
    assert isinstance(request, dict)
    tools = request.get("tools")
    if tools is None:
        return []
    if not isinstance(tools, list):
        return ["tools: not a list"]
    return list(CHECKS[dialect](tools))


def _openai(tools: Sequence[JSON]) -> Iterator[str]:
    yield from _openai_tools([_object(_object(tool).get("function")) for tool in tools])
    for number, tool in enumerate(tools):
        if _object(tool).get("type") != "function":
            yield f"tools[{number}].type: not 'function'"


def _responses(tools: Sequence[JSON]) -> Iterator[str]:
    yield from _openai_tools([_object(tool) for tool in tools])
    for number, tool in enumerate(map(_object, tools)):
        if tool.get("type") != "function":
            yield f"tools[{number}].type: not 'function'"
        if "function" in tool:
            yield f"Unknown parameter: 'tools[{number}].function'"
        if tool.get("strict", True) is not False:  # left out, it means true
            yield from _strict(_object(tool.get("parameters")), f"tools[{number}].parameters")


def _openai_tools(functions: Sequence[Mapping[str, JSON]]) -> Iterator[str]:
    if not functions:
        yield "tools: empty array"
    if len(functions) > MOST_TOOLS:
        yield f"tools: more than {MOST_TOOLS}"
    for number, function in enumerate(functions):
        path = f"tools[{number}]"
        yield from _name(function, OPENAI_NAME, path)
        schema = function.get("parameters")
        if schema is None:
            continue
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"{path}.parameters: schema must be a JSON Schema of 'type: \"object\"'"
            continue
        if wrong := [key for key in AT_THE_ROOT if key in schema]:
            yield f"{path}.parameters: {wrong[0]} at the top level"
        for inner, place in _schemas(schema, f"{path}.parameters"):
            if _has_type(inner, "array") and "items" not in inner:
                yield f"{place}: array schema missing items"


def _strict(schema: Mapping[str, JSON], path: str) -> Iterator[str]:
    for inner, place in _schemas(schema, path):
        if not _has_type(inner, "object"):
            continue
        if inner.get("additionalProperties") is not False:
            yield f"{place}: 'additionalProperties' is required to be false"
        required = inner.get("required")
        if not isinstance(required, list) or set(_object(inner.get("properties"))) - set(map(str, required)):
            yield f"{place}: 'required' is required to include every key in properties"


def _anthropic(tools: Sequence[JSON]) -> Iterator[str]:
    yield from _unique(tools)
    for number, tool in enumerate(map(_object, tools)):
        path = f"tools.{number}.custom"
        yield from _name(tool, ANTHROPIC_NAME, path)
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"{path}.input_schema.type: Input should be 'object'"
            continue
        if wrong := [key for key in ("oneOf", "allOf", "anyOf") if key in schema]:
            yield f"{path}.input_schema: does not support {wrong[0]} at the top level"
        for inner, place in _schemas(schema, f"{path}.input_schema"):
            for key in _object(inner.get("properties")):
                if not ANTHROPIC_PROPERTY.fullmatch(key):
                    yield f"{place}.properties: key {key!r} should match pattern"
            if wrong := [key for key in DRAFT_4 if isinstance(inner.get(key), bool)]:
                yield f"{place}: JSON schema is invalid: {wrong[0]} of draft 4"


def _gemini(groups: Sequence[JSON]) -> Iterator[str]:
    declared: list[JSON] = []
    for number, group in enumerate(map(_object, groups)):
        found = group.get("functionDeclarations")
        if not isinstance(found, list):
            yield f"tools[{number}]: no function declarations"
            continue
        declared += found
    yield from _unique(declared)
    for number, tool in enumerate(map(_object, declared)):
        path = f"function_declarations[{number}]"
        yield from _name(tool, GEMINI_NAME, path)
        yield from (f'{path}: Unknown name "{key}"' for key in tool if key not in GEMINI_DECLARATION)
        narrow, wide = tool.get("parameters"), tool.get("parametersJsonSchema")
        if narrow is not None and wide is not None:
            yield f"{path}: parameters and parameters_json_schema are mutually exclusive"
        if narrow is not None:
            yield from _gemini_schema(narrow, f"{path}.parameters", 0)
        elif wide is not None and not isinstance(wide, dict):
            yield f"{path}.parameters_json_schema: not an object"


def _gemini_schema(schema: JSON, path: str, depth: int) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield f"{path}: not an object"
        return
    if depth > GEMINI_DEPTH:
        yield f"{path}: nested too deep"
        return
    yield from (f'{path}: Unknown name "{key}"' for key in schema if key not in GEMINI_SCHEMA)
    if isinstance(schema.get("type"), list):
        yield f"{path}.type: Proto field is not repeating"
    properties = _object(schema.get("properties"))
    required, values = schema.get("required"), schema.get("enum")
    if isinstance(required, list):
        yield from (f"{path}.required: {name} is not defined" for name in required if name not in properties)
    if isinstance(values, list) and not all(isinstance(value, str) for value in values):
        yield f"{path}.enum: not a string"
    for name, inner in properties.items():
        yield from _gemini_schema(inner, f"{path}.properties[{name}]", depth + 1)
    if "items" in schema:
        yield from _gemini_schema(schema["items"], f"{path}.items", depth + 1)
    choices = schema.get("anyOf")
    for number, inner in enumerate(choices if isinstance(choices, list) else []):
        yield from _gemini_schema(inner, f"{path}.any_of[{number}]", depth + 1)


def _ollama(tools: Sequence[JSON]) -> Iterator[str]:
    for number, tool in enumerate(tools):
        function = _object(tool).get("function")
        if not isinstance(function, dict):
            yield f"tools[{number}].function: cannot unmarshal into api.ToolFunction"
            continue
        for name in ("name", "description"):
            if not isinstance(function.get(name), str | None):
                yield f"tools[{number}].function.{name}: cannot unmarshal"
        if not isinstance(function.get("parameters"), dict | None):
            yield f"tools[{number}].function.parameters: cannot unmarshal"
        if not isinstance(_object(function.get("parameters")).get("type", ""), str):
            yield f"tools[{number}].function.parameters.type: cannot unmarshal"


CHECKS: Mapping[str, Callable[[Sequence[JSON]], Iterator[str]]] = {
    "openai": _openai,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}


def _name(tool: Mapping[str, JSON], pattern: re.Pattern[str], path: str) -> Iterator[str]:
    name, description = tool.get("name"), tool.get("description", "")
    if not isinstance(name, str) or not pattern.fullmatch(name):
        yield f"{path}.name: {name!r} does not match {pattern.pattern}"
    if not isinstance(description, str):
        yield f"{path}.description: not a string"


def _unique(tools: Sequence[JSON]) -> Iterator[str]:
    names = [_object(tool).get("name") for tool in tools]
    yield from (f"tools: {name!r} is not unique" for name in set(map(str, names)) if names.count(name) > 1)


def _schemas(schema: Mapping[str, JSON], path: str) -> Iterator[tuple[Mapping[str, JSON], str]]:
    """A schema and all those within it."""
    yield schema, path
    for name in ("properties", "$defs", "definitions"):
        for key, inner in _object(schema.get(name)).items():
            yield from _schemas(_object(inner), f"{path}.{name}.{key}")
    for name in ("items", "additionalProperties", "not"):
        yield from _schemas(_object(schema[name]), f"{path}.{name}") if name in schema else ()
    for name in ("anyOf", "oneOf", "allOf", "prefixItems"):
        choices = schema.get(name)
        for number, inner in enumerate(choices if isinstance(choices, list) else []):
            yield from _schemas(_object(inner), f"{path}.{name}[{number}]")


def _has_type(schema: Mapping[str, JSON], name: str) -> bool:
    kind = schema.get("type")
    return kind == name or (isinstance(kind, list) and name in kind)


def _object(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, dict) else {}
