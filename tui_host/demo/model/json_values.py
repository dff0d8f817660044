"""Reads JSON leniently: a value of an unexpected type counts as missing."""

from __future__ import annotations

import json
from typing import TypeGuard

from tui_host.errors import JSON


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Return whether a value is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Return whether a value is a JSON array."""
    return isinstance(value, list)


def parsed(text: str | bytes) -> object:
    """Parse a text as JSON; None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def compact(value: object) -> str:
    """Format a value as JSON without spaces, without escaping characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_line(value: JSON) -> bytes:
    """Format JSON without spaces in UTF-8. Only a text with lone surrogates is escaped."""
    try:
        return compact(value).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def text_at(value: object, name: str) -> str:
    """Return the string that an object has under a name; empty if missing."""
    text = value.get(name) if is_object(value) else None
    return text if isinstance(text, str) else ""


def object_at(value: object, name: str) -> dict[str, object]:
    """Return the object that an object has under a name; empty if missing."""
    inner = value.get(name) if is_object(value) else None
    return inner if is_object(inner) else {}


def objects_at(value: object, name: str) -> list[dict[str, object]]:
    """Return the objects in the array that an object has under a name; a single object counts as an array."""
    inner = value.get(name) if is_object(value) else None
    if is_object(inner):
        return [inner]
    return [item for item in inner if is_object(item)] if is_array(inner) else []


def texts_at(value: object, name: str) -> tuple[str, ...]:
    """Return the strings in the array that an object has under a name; a single string counts as an array."""
    inner = value.get(name) if is_object(value) else None
    if isinstance(inner, str):
        return (inner,)
    return tuple(item for item in inner if isinstance(item, str)) if is_array(inner) else ()
