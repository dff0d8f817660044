"""Reads JSON leniently: a value of an unexpected kind counts as absent."""

from __future__ import annotations

import json
from typing import TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Tell whether a value is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Tell whether a value is a JSON array."""
    return isinstance(value, list)


def parsed(text: str | bytes) -> object:
    """Parse a text as JSON. None if the text is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def compact(value: object) -> str:
    """Write a value as JSON without blanks, with unescaped characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_at(value: object, name: str) -> str:
    """Return the string under a name of an object, empty if absent."""
    text = value.get(name) if is_object(value) else None
    return text if isinstance(text, str) else ""


def object_at(value: object, name: str) -> dict[str, object]:
    """Return the object under a name of an object, empty if absent."""
    inner = value.get(name) if is_object(value) else None
    return inner if is_object(inner) else {}


def objects_at(value: object, name: str) -> list[dict[str, object]]:
    """Return the objects in the array under a name of an object; a single object counts as an array."""
    inner = value.get(name) if is_object(value) else None
    if is_object(inner):
        return [inner]
    return [item for item in inner if is_object(item)] if is_array(inner) else []


def texts_at(value: object, name: str) -> tuple[str, ...]:
    """Return the strings in the array under a name of an object; a single string counts as an array."""
    inner = value.get(name) if is_object(value) else None
    if isinstance(inner, str):
        return (inner,)
    return tuple(item for item in inner if isinstance(item, str)) if is_array(inner) else ()


def limit_at(value: object, *names: str) -> int | None:
    """Return the first positive integer under the given names of an object. None if absent."""
    values = [value.get(name) for name in names] if is_object(value) else []
    return next((limit for limit in values if isinstance(limit, int) and limit is not True and limit > 0), None)


def parameters(schema: object) -> tuple[dict[str, str], tuple[str, ...]]:
    """Read a tool's JSON Schema: the `type` of each parameter (empty where none is given), and the required parameters."""
    types = {name: text_at(definition, "type") for name, definition in object_at(schema, "properties").items()}
    return types, texts_at(schema, "required")
