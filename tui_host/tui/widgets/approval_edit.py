"""An edit of the arguments: read strictly, and held against the tool's schema before it is shown again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tui_host.capture.visible import visible
from tui_host.chat.arguments import canonical, read_arguments
from tui_host.errors import JSON, TuiHostError


def read_edit(text: str, schema: JSON) -> bytes:
    """An edit as it would be sent.

    Raises:
        TuiHostError: It is no JSON object, or its top level does not fit the tool's schema.
    """
    value = read_arguments(text)
    complaints = misfits(value, schema)
    if complaints:
        raise TuiHostError("; ".join(complaints))
    return canonical(value)


TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def misfits(value: Mapping[str, JSON], schema: JSON) -> list[str]:
    """What at the top level does not fit a schema: missing names, wrong types, values and names that it does not have."""
    if not isinstance(schema, Mapping):
        return []
    found: list[str] = []
    required = schema.get("required")
    if isinstance(required, Sequence) and not isinstance(required, str):
        found += [
            f"{visible(name, newlines=False)} is missing"
            for name in required
            if isinstance(name, str) and name not in value
        ]
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, given in value.items():
            complaint = _misfit(given, properties.get(name))
            if complaint:
                found.append(f"{visible(name, newlines=False)} {complaint}")
            elif name not in properties and schema.get("additionalProperties") is False:
                found.append(f"the tool takes no argument {visible(name, newlines=False)}")
    return found


def _misfit(given: JSON, schema: JSON) -> str:
    if not isinstance(schema, Mapping):
        return ""
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else list(wanted) if isinstance(wanted, Sequence) else []
    known = [name for name in names if isinstance(name, str) and name in TYPES]
    if known and not any(_is(given, name) for name in known):
        return f"must be {' or '.join(known)}"
    offered = schema.get("enum")
    if isinstance(offered, Sequence) and not isinstance(offered, str) and given not in offered:
        return f"must be one of {visible(json.dumps(list(offered), ensure_ascii=False)[:200], newlines=False)}"
    return ""


def _is(given: JSON, name: str) -> bool:
    if isinstance(given, bool):
        return name == "boolean"
    if name == "integer" and isinstance(given, float):
        return given.is_integer()
    return isinstance(given, TYPES[name])
