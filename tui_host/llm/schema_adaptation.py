"""Adapts the input schemas of tools to what a vendor accepts, and maps the names of properties back.

Sources: OpenAI API reference and its guide on function calling; Anthropic API reference, Messages, and its guide on tool use;
Gemini API reference, FunctionDeclaration; Ollama's API reference. MCP's own schemas are JSON Schema 2020-12.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_host.capture.json.narrowing import items, mapping
from tui_host.errors import JSON

_CHOICES = ("oneOf", "anyOf", "allOf")
_SCHEMAS_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMA_LISTS = ("prefixItems", *_CHOICES)
_SCHEMAS = ("items", "contains", "additionalItems", "not", "if", "then", "else", "propertyNames")
_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
"""Keywords that are a flag in draft 4 and hold the bound itself in later drafts."""
_MAY_BE_NULL = ("default", "const", "example")
"""Keywords for which null is a value. Servers in Go, C++ and Java write it for other keywords too, and mean none."""
_DEPTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRules:
    """What a vendor refuses in the schema of a tool: keywords at the root, arrays without items, names of properties."""

    root: frozenset[str] = frozenset()
    items: bool = False
    property_name: re.Pattern[str] | None = None


OPENAI_SCHEMAS = SchemaRules(root=frozenset({"oneOf", "anyOf", "allOf", "enum", "not"}), items=True)


@dataclass(frozen=True, slots=True)
class AdaptedSchema:
    """A schema as sent, what was changed in it, in words, and the server's name of each renamed property."""

    schema: Mapping[str, JSON]
    changes: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict[str, str])

    def original(self, value: JSON) -> JSON:
        if not self.names:
            return value
        if isinstance(value, Mapping):
            return {self.names.get(name, name): self.original(inner) for name, inner in value.items()}
        return [self.original(inner) for inner in value] if isinstance(value, list) else value


def adapt(schema: JSON, rules: SchemaRules) -> AdaptedSchema:
    """Adapt the schema of a tool to a vendor's rules. The result is an object with properties at the root."""
    adapter = _Adapter(rules)
    root = adapter.root(schema if isinstance(schema, Mapping) else {})
    adapted = adapter.object_schema(root, 0)
    if isinstance(schema, Mapping) and adapted == schema:
        return AdaptedSchema(schema)
    return AdaptedSchema(adapted, tuple(dict.fromkeys(adapter.changes)), adapter.names)


@dataclass(eq=False)
class _Adapter:
    _rules: SchemaRules
    changes: list[str] = field(default_factory=list[str])
    names: dict[str, str] = field(default_factory=dict[str, str])

    def root(self, schema: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Give the root its type and properties, and remove keywords that are refused there."""
        refused = [name for name in schema if name in self._rules.root]
        root: dict[str, JSON] = {name: value for name, value in schema.items() if name not in refused}
        if root.get("type") != "object":
            if "type" in root:
                self.changes.append("the type at the root is object")
            root["type"] = "object"
        properties = dict(mapping(root.get("properties")))
        for name in refused:
            branches = [branch for branch in items(schema[name]) if isinstance(branch, Mapping)]
            if name not in _CHOICES or not branches:
                self.changes.append(f"removed {name} at the root")
                continue
            self.changes.append(f"merged the properties of {name} at the root")
            for branch in branches:
                properties = {**mapping(branch.get("properties")), **properties}
            required = [{str(key) for key in items(branch.get("required"))} for branch in branches]
            all_required = set[str]().union(*required) if name == "allOf" else required[0].intersection(*required[1:])
            added = all_required.intersection(properties)
            own = [str(key) for key in items(root.get("required"))]
            if added - set(own):
                root["required"] = [*own, *sorted(added - set(own))]
        root["properties"] = properties
        return root

    def schema(self, schema: JSON, depth: int) -> JSON:
        """Adapt a schema and its subschemas. A boolean, which every vendor refuses, becomes an object."""
        if isinstance(schema, bool) or schema is None:
            self.changes.append(f"wrote {'null' if schema is None else 'boolean'} schemas as objects")
            return {"not": {}} if schema is False else {}
        return self.object_schema(schema, depth) if isinstance(schema, Mapping) and depth <= _DEPTH else schema

    def object_schema(self, schema: Mapping[str, JSON], depth: int) -> dict[str, JSON]:
        nulls = [name for name, value in schema.items() if value is None and name not in _MAY_BE_NULL]
        self.changes += [f"removed {name}: null" for name in nulls]
        members = {name: value for name, value in schema.items() if name not in nulls}
        adapted: dict[str, JSON] = {}
        for name, value in members.items():
            if name in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
                adapted[name] = {key: self.schema(inner, depth + 1) for key, inner in value.items()}
            elif name in _SCHEMA_LISTS and isinstance(value, list):
                adapted[name] = [self.schema(inner, depth + 1) for inner in value]
            else:
                adapted[name] = self.schema(value, depth + 1) if name in _SCHEMAS else value
        for flag, bound in _BOUNDS.items():
            if isinstance(adapted.get(flag), bool):
                self.changes.append(f"wrote {flag} as a number")
                if adapted.pop(flag) and bound in adapted:
                    adapted[flag] = adapted.pop(bound)
        is_array = "array" in (adapted.get("type"), *items(adapted.get("type")))
        if self._rules.items and is_array and "items" not in adapted:
            self.changes.append("added items to arrays")
            adapted["items"] = {}
        # Properties with refused names; the server's own name is put at the beginning of the description.
        pattern, properties = self._rules.property_name, mapping(adapted.get("properties"))
        if pattern is None or all(map(pattern.fullmatch, properties)):
            return adapted
        self.changes.append("renamed properties")
        new_names: dict[str, str] = {}
        renamed: dict[str, JSON] = {}
        for name, value in properties.items():
            new, inner = name, value
            if not pattern.fullmatch(name):
                digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]
                new = f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)[:40].strip('_') or 'property'}_{digest}"
                self.names[new] = name
                if isinstance(inner, Mapping):
                    said = inner.get("description")
                    inner = {**inner, "description": f"{name}: {said}" if isinstance(said, str) and said else name}
            new_names[name], renamed[new] = new, inner
        adapted["properties"] = renamed
        if "required" in adapted:
            adapted["required"] = [new_names.get(str(name), str(name)) for name in items(adapted["required"])]
        return adapted
