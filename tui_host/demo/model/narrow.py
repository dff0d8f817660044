"""JSON from outside, narrowed: what a value really is."""

from __future__ import annotations

from typing import TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether it is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether it is a JSON array."""
    return isinstance(value, list)


def texts_of(value: object) -> tuple[str, ...] | None:
    """The texts of a list of nothing else, none where it is left out; None for any other value."""
    if value is None:
        return ()
    texts = tuple(each for each in value if isinstance(each, str)) if is_array(value) else ()
    return texts if is_array(value) and len(texts) == len(value) else None
