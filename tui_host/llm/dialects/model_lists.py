"""Lists of models, in the forms that providers have for them."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.capture.json.reading import read_json
from tui_host.errors import JSON


def names_in(body: bytes) -> tuple[str, ...]:
    """The names in a list of models, in the provider's order; nothing where it cannot be read."""
    try:
        value = read_json(body)
    except ValueError:
        return ()
    found = value.get("data", value.get("models")) if isinstance(value, Mapping) else value
    names = [_id_of(entry) for entry in found] if isinstance(found, list) else []
    return tuple(dict.fromkeys(name for name in names if name))


def _id_of(entry: JSON) -> str:
    value = (entry.get("id") or entry.get("name")) if isinstance(entry, Mapping) else entry
    return value if isinstance(value, str) else ""
