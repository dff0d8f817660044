"""Reads JSON leniently: a value of an unexpected type counts as missing."""

from __future__ import annotations

import json
from typing import TypeGuard

from tui_host.errors import JSON

compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Formats a value as JSON without spaces, without escaping characters."""


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def _is_array(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def parsed_object(text: str) -> dict[str, JSON] | None:
    """Parse a JSON object; no text counts as an empty one. None for anything else."""
    try:
        value: JSON = json.loads(text.strip() or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def json_line(value: JSON) -> bytes:
    """Format JSON without spaces in UTF-8."""
    return compact(value).encode("utf-8", "backslashreplace")  # JSON escapes lone surrogates in the same way


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
    return [item for item in _items_at(value, name) if is_object(item)]


def texts_at(value: object, name: str) -> tuple[str, ...]:
    """Return the strings in the array that an object has under a name; a single string counts as an array."""
    return tuple(item for item in _items_at(value, name) if isinstance(item, str))


def _items_at(value: object, name: str) -> list[object]:
    inner = value.get(name) if is_object(value) else None
    return inner if _is_array(inner) else [inner]
