"""A form made from a JSON schema: fields with defaults, and values read from what a person writes into them.

Knows every schema of MCP's elicitation; a property of any other shape, as tools have them, becomes a field for JSON.

Source: MCP 2025-11-25 and 2026-07-28, Client features, Elicitation, Requested Schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches
from typing import Literal, TypeAlias

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.chat.call_arguments import read_json
from tui_host.errors import JSON, TuiHostError

MOST_FIELDS, MOST_CHARACTERS = 100, 100_000
"""Largest number of fields of a form, and of characters of their schemas together."""

Kind: TypeAlias = Literal["text", "number", "integer", "boolean", "choice", "choices", "json"]

_SECRET = re.compile(
    r"pass ?(word|phrase|code)|passwd|\bpwd\b|secret|\btoken\b|credential|\b(api|access|private|ssh|secret|encryption|recovery) ?keys?\b"
    r"|\bkey$|\bpin\b|\bcvv\b|\bcvc\b|\botp\b|(card|account|social security) number|\bssn\b|\biban\b"
)
_WORDS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_FORMATS = {
    "email": "an e-mail address",
    "uri": "an address with its scheme, such as https://example.com",
    "date": "a date, such as 2026-07-28",
    "date-time": "date and time with the zone, such as 2026-07-28T12:00:00Z",
}
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)*")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})")
_TRUTHS: Mapping[str, bool] = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A value to choose.

    Attributes:
        value: The value sent.
        label: The title shown; the value itself if the schema gives no title.
    """

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a form. All texts are untrusted.

    Attributes:
        name: The property's name.
        kind: How the field's text is read.
        schema: The property's schema, with `null` among its types left out.
        label: The title; the name if the schema gives none.
        description: The description; may be empty.
        required: Whether the field must not be left empty.
        default: The text of the default; empty without one.
        options: The values to choose, of `choice` and `choices`.
        hint: The form and the limits of the value, in words; may be empty.
    """

    name: str
    kind: Kind
    schema: Mapping[str, JSON]
    label: str
    description: str = ""
    required: bool = False
    default: str = ""
    options: tuple[Option, ...] = ()
    hint: str = ""

    @property
    def asks_secret(self) -> bool:
        """Whether the words of the field ask for a password, a token, a key or the like, which no form may ask for."""
        texts = (self.name, self.label, self.description) if self.kind == "text" else (self.name, self.label)
        words = (" ".join(_WORDS.split(text)).lower() for text in texts)
        return self.schema.get("format") == "password" or any(_SECRET.search(text) for text in words)


# From a schema to fields.


def fields_of(schema: JSON) -> tuple[Field, ...]:
    """Return a field for each property of an object's schema, in the schema's order; none if the schema has no properties."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(schema, Mapping) or not isinstance(properties, Mapping):
        return ()
    required = _texts(schema.get("required"))
    return tuple(_field(name, value, required=name in required) for name, value in properties.items())


def whole_field(fields: Sequence[Field]) -> Field | None:
    """Return a field for all values as one JSON object, in place of fields that are too many or too long to draw; else None."""
    characters = sum(len(json.dumps(field.schema)) for field in fields)
    if len(fields) <= MOST_FIELDS and characters <= MOST_CHARACTERS:
        return None
    label = f"{len(fields):,} fields, too many to show" if len(fields) > MOST_FIELDS else "Fields too long to show"
    return Field(
        name=label,
        kind="json",
        # The format warns of fields that ask for a secret.
        schema={"type": "object", "format": "password" if any(field.asks_secret for field in fields) else ""},
        label=label,
        description="Write all values as one JSON object. The fields stand in the request's row of the inspector.",
        required=True,
        hint="a JSON object",
    )


def _field(name: str, written: JSON, *, required: bool) -> Field:
    schema = _without_null(mapping(written))
    options, is_several = _options(schema)
    kind = _kind(schema, options, is_several=is_several)
    return Field(
        name=name,
        kind=kind,
        schema=schema,
        label=_text(schema, "title") or name,
        description=_text(schema, "description"),
        required=required,
        default=text_of(kind, schema.get("default")),
        options=options,
        hint=_hint(kind, schema),
    )


def _without_null(schema: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Return the schema of a value that may be null without the null: such a field may be left empty instead."""
    types = [name for name in items(schema.get("type")) if name != "null"]
    if len(types) == 1:
        return {**schema, "type": types[0]}
    branches = [mapping(branch) for branch in items(schema.get("anyOf"))]
    left = [branch for branch in branches if branch.get("type") != "null"]
    if "type" in schema or len(left) != 1:
        return schema
    return {**left[0], **{name: value for name, value in schema.items() if name != "anyOf"}}


def _kind(schema: Mapping[str, JSON], options: Sequence[Option], *, is_several: bool) -> Kind:
    if options:
        return "choices" if is_several else "choice"
    kinds: Mapping[JSON, Kind] = {"string": "text", "number": "number", "integer": "integer", "boolean": "boolean"}
    kind = schema.get("type")
    return kinds.get(kind, "json") if isinstance(kind, str) else "json"


def _options(schema: Mapping[str, JSON]) -> tuple[tuple[Option, ...], bool]:
    """Return the values to choose, and whether several may be chosen; no value if the schema is none of an enumeration of strings."""
    if schema.get("type") == "array":
        element = mapping(schema.get("items"))
        return _listed(element, element.get("anyOf") or element.get("oneOf")), True
    is_text = schema.get("type", "string") == "string"
    return _listed(schema, schema.get("oneOf") or schema.get("anyOf")) if is_text else (), False


def _listed(schema: Mapping[str, JSON], titled: JSON) -> tuple[Option, ...]:
    titles = _texts(schema.get("enumNames"))
    pairs = [(mapping(branch).get("const"), mapping(branch).get("title")) for branch in items(titled)] or [
        (value, titles[number] if number < len(titles) else None)
        for number, value in enumerate(items(schema.get("enum")))
    ]
    if not all(isinstance(value, str) for value, _ in pairs):
        return ()
    return tuple(Option(value=str(value), label=text_or_empty(title) or str(value)) for value, title in pairs)


def text_of(kind: Kind, value: JSON) -> str:
    """Return the text of a field that stands for a value; empty for null."""
    if value is None:
        return ""
    if isinstance(value, str) and kind != "json":
        return value
    return json.dumps(value, ensure_ascii=False)


def _hint(kind: Kind, schema: Mapping[str, JSON]) -> str:
    """Say which values fit."""
    words = {"integer": "a whole number", "number": "a number", "json": "JSON"}.get(kind, "")
    if kind == "json" and isinstance(schema.get("type"), str):
        words = {"array": "a JSON array", "object": "a JSON object"}.get(str(schema["type"]), words)
    if kind == "text":
        words = _FORMATS.get(_text(schema, "format"), "")
    low, high, unit = {
        "text": ("minLength", "maxLength", " characters"),
        "choices": ("minItems", "maxItems", " of these"),
    }.get(kind, ("minimum", "maximum", ""))
    least = schema.get(low)
    limits = _limits(None if least == 0 and low != "minimum" else least, schema.get(high))
    pattern = f"matching {schema['pattern']}" if kind == "text" and isinstance(schema.get("pattern"), str) else ""
    return ", ".join(filter(None, (words, f"{limits}{unit}" if limits else "", pattern)))


def _limits(low: JSON, high: JSON) -> str:
    has_low, has_high = isinstance(low, int | float), isinstance(high, int | float)
    if has_low and has_high:
        return f"{low} to {high}"
    return f"at least {low}" if has_low else f"at most {high}" if has_high else ""


# From texts to values.


def value_of(field: Field, text: str) -> JSON:
    """Read the text of a field. The pattern of a text is not checked: a foreign pattern can take for ever.

    Raises:
        TuiHostError: The text is no value of the field; the message says which value is needed.
    """
    if not text and field.required:
        raise TuiHostError("a value is needed")
    value = _read(field, text)
    _check(field, value)
    return value


def content_of(fields: Sequence[Field], texts: Mapping[str, str]) -> Mapping[str, JSON]:
    """Return the values of a form. A field without a text has its default; one with an empty text is left out.

    Raises:
        TuiHostError: A text is no value of its field (`where` names the field), or belongs to no field.
    """
    names = [field.name for field in fields]
    for name in texts:
        if name not in names:
            near = get_close_matches(name, names, 1)
            remedy = (
                f"write {near[0]}"
                if near
                else f"the fields are {', '.join(names)}"
                if names
                else "the form has no field"
            )
            raise TuiHostError("there is no such field", name, remedy)
    content: dict[str, JSON] = {}
    for field in fields:
        text = texts.get(field.name, field.default)
        if not text and not field.required:
            continue
        try:
            content[field.name] = value_of(field, text)
        except TuiHostError as error:
            raise TuiHostError(error.what, field.name, error.remedy) from error
    return content


def _read(field: Field, text: str) -> JSON:
    if field.kind == "boolean":
        if text.strip().lower() not in _TRUTHS:
            raise TuiHostError("write true or false")
        return _TRUTHS[text.strip().lower()]
    if field.kind in {"number", "integer"}:
        return _number(field, text)
    if field.kind == "choice":
        return _chosen(field, text)
    if field.kind == "choices":
        written = read_json(text) if text.lstrip().startswith("[") else [part.strip() for part in text.split(",")]
        return [_chosen(field, part) for part in _texts(written)]
    return read_json(text) if field.kind == "json" else text


def _number(field: Field, text: str) -> JSON:
    words = "a whole number is needed" if field.kind == "integer" else "a number is needed"
    try:
        value = read_json(text)
    except TuiHostError as error:
        raise TuiHostError(words) from error
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TuiHostError(words)
    if field.kind == "integer" and isinstance(value, float):
        if not value.is_integer():
            raise TuiHostError(words)
        return int(value)
    return value


def _chosen(field: Field, text: str) -> str:
    """Return the value that a person names by the value itself or by its title."""
    for option in field.options:
        if text == option.value:
            return option.value
    labelled = [option.value for option in field.options if option.label == text]
    if len(labelled) != 1:
        raise TuiHostError(f"choose from {', '.join(option.value for option in field.options)}"[:200])
    return labelled[0]


def _check(field: Field, value: JSON) -> None:
    """Raise TuiHostError if a value is outside of the limits of its field, or not of its format."""
    schema, kind = field.schema, field.schema.get("format")
    if isinstance(value, str) and field.kind == "text":
        _check_range(len(value), schema, ("minLength", "maxLength"), "{} characters are needed")
        if isinstance(kind, str) and kind in _FORMATS and not _has_format(value, kind):
            raise TuiHostError(f"not {_FORMATS[kind]}")
    elif field.kind == "choices" and isinstance(value, Sequence):
        _check_range(len(value), schema, ("minItems", "maxItems"), "choose {}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_range(value, schema, ("minimum", "maximum"), "{} is needed")
    elif field.kind == "json" and not isinstance(
        value, {"object": dict, "array": list}.get(_text(schema, "type"), object)
    ):
        raise TuiHostError(f"{field.hint} is needed")


def _check_range(size: float, schema: Mapping[str, JSON], names: tuple[str, str], words: str) -> None:
    low, high = (schema.get(name) for name in names)
    is_low, is_high = isinstance(low, int | float) and size < low, isinstance(high, int | float) and size > high
    if is_low or is_high:
        raise TuiHostError(words.format(f"at least {low}" if is_low else f"at most {high}"))


def _has_format(value: str, kind: str) -> bool:
    if kind in {"email", "uri"}:
        return (_EMAIL if kind == "email" else _URI).fullmatch(value) is not None
    try:
        if kind == "date":
            return _DATE.fullmatch(value) is not None and bool(date.fromisoformat(value))
        return _TIME.fullmatch(value) is not None and bool(datetime.fromisoformat(value.upper()))
    except ValueError:
        return False


def _text(schema: Mapping[str, JSON], name: str) -> str:
    return text_or_empty(schema.get(name))


def _texts(value: JSON) -> list[str]:
    return [part for part in items(value) if isinstance(part, str)]
