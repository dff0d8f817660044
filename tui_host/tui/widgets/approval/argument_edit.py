"""Edits arguments: parses strictly, and checks the top level against the tool's schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tui_host.answers.masks import Mask
from tui_host.capture.visible import visible
from tui_host.chat.call_arguments import canonical, pretty, read_arguments
from tui_host.errors import JSON, TuiHostError


@dataclass(frozen=True, slots=True, kw_only=True)
class Editable:
    """Arguments as shown in the editor."""

    text: str = ""  # JSON in which marks replace secrets
    values: Mapping[str, str] = field(default_factory=dict[str, str])  # the value of each mark, as written in JSON


def editable(arguments: bytes, mask: Mask) -> Editable:
    """Return arguments for the editor. Invisible characters become JSON escapes, equal in value.

    The marks differ from all text in the arguments: text that imitates a mark never becomes a secret.
    """
    text = pretty(json.loads(arguments))
    shown: list[str] = []
    values: dict[str, str] = {}
    for piece, name in mask.pieces(text):
        if name:
            shown.append(_stand_in(name, piece, text, values))
            values[shown[-1]] = piece
        else:
            shown.append(_escaped(piece))
    return Editable(text="".join(shown), values=values)


def _stand_in(name: str, value: str, text: str, values: Mapping[str, str]) -> str:
    number = 1
    while True:
        mark = f"⟨secret:{name}⟩" if number == 1 else f"⟨secret:{name}#{number}⟩"
        if values.get(mark, value) == value and mark not in text:
            return mark
        number += 1


def _escaped(text: str) -> str:
    if visible(text) == text:
        return text
    return "".join(character if visible(character) == character else json.dumps(character)[1:-1] for character in text)


def read_edit(text: str, schema: JSON, values: Mapping[str, str] | None = None) -> bytes:
    """Return an edit as bytes to send.

    Args:
        text: The text in the editor.
        schema: The tool's input schema.
        values: The value of each mark of a secret.

    Raises:
        TuiHostError: It is no JSON object, or its top level does not fit the tool's schema. No value stands in its words.
    """
    try:
        value = read_arguments(_with_values(text, values or {}))
    except TuiHostError:
        if not values:
            raise
        read_arguments(text)  # its complaint names places of what is seen
        raise TuiHostError("with the secret's value in place of its mark, the arguments are not JSON") from None
    complaints = misfits(value, schema)
    if complaints:
        raise TuiHostError("; ".join(complaints))
    return canonical(value)


def _with_values(text: str, values: Mapping[str, str]) -> str:
    """Replace each mark by its value in one pass: a value may look like a mark."""
    if not values:
        return text
    return re.sub("|".join(map(re.escape, values)), lambda match: values[match[0]], text)


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
    """List top-level mistakes: missing names, wrong types, unknown values and names."""
    if not isinstance(schema, Mapping):
        return []
    mistakes: list[str] = []
    required = schema.get("required")
    if isinstance(required, Sequence) and not isinstance(required, str):
        mistakes += [
            f"{visible(name, newlines=False)} is missing"
            for name in required
            if isinstance(name, str) and name not in value
        ]
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, given in value.items():
            complaint = _misfit(given, properties.get(name))
            if complaint:
                mistakes.append(f"{visible(name, newlines=False)} {complaint}")
            elif name not in properties and schema.get("additionalProperties") is False:
                mistakes.append(f"the tool has no argument {visible(name, newlines=False)}")
    return mistakes


def _misfit(given: JSON, schema: JSON) -> str:
    if not isinstance(schema, Mapping):
        return ""
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) or not isinstance(wanted, Sequence) else list(wanted)
    types = [name for name in names if isinstance(name, str) and name in TYPES]
    if types and not any(_is(given, name) for name in types):
        return f"must be {' or '.join(types)}"
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
