"""A form made from a JSON schema: fields with defaults, and values read from what a person writes into them.

Knows every schema of MCP's elicitation; a property of any other shape, as tools have them, becomes a field for JSON. Only the kind of a
value is checked here: limits, formats and patterns are `schema_check`'s, in a process of its own, since a foreign pattern can take for ever.

Source: MCP 2025-11-25 and 2026-07-28, Client features, Elicitation, Requested Schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.chat.call_arguments import read_json
from tui_host.errors import JSON, TuiHostError
from tui_host.servers.server_questions import properties_of

MOST_FIELDS, MOST_CHARACTERS = 100, 100_000
"""Largest number of fields of a form, and of characters of their schemas together."""

Kind: TypeAlias = Literal["text", "number", "integer", "boolean", "choice", "choices", "json"]

_SECRET = re.compile(
    r"pass ?(word|phrase|code)|passwd|\bpwd\b|secret|\btoken\b|credential|\b(api|access|private|ssh|secret|encryption|recovery) ?keys?\b"
    r"|\bkey$|\bpin\b|\bcvv\b|\bcvc\b|\botp\b|(card|account|social security) number|\bssn\b|\biban\b"
)
_WORDS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_KINDS: Mapping[str, Kind] = {"string": "text", "number": "number", "integer": "integer", "boolean": "boolean"}
_HINTS: Mapping[str, str] = {
    "integer": "a whole number",
    "number": "a number",
    "array": "a JSON array",
    "object": "a JSON object",
    "email": "an e-mail address",
    "uri": "an address with its scheme, such as https://example.com",
    "date": "a date, such as 2026-07-28",
    "date-time": "date and time with the zone, such as 2026-07-28T12:00:00Z",
}
"""By type or format: what a value looks like."""
_LIMITS: Mapping[str, str] = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} of these",
    "maxItems": "at most {} of these",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "pattern": "matching {}",
}
_TRUTHS: Mapping[str, bool] = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormOption:
    """A value to choose, and the title shown for it."""

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field of a form. All texts are untrusted. `default` is a text too, empty without one; `hint` says which values fit."""

    name: str
    kind: Kind
    label: str
    schema: Mapping[str, JSON]
    description: str = ""
    required: bool = False
    default: str = ""
    options: tuple[FormOption, ...] = ()
    hint: str = ""

    @property
    def asks_secret(self) -> bool:
        """Whether the words of the field ask for a password, a token, a key or the like, which no form may ask for."""
        texts = (self.name, self.label, self.description) if self.kind == "text" else (self.name, self.label)
        words = (" ".join(_WORDS.split(text)).lower() for text in texts)
        return self.schema.get("format") == "password" or any(_SECRET.search(text) for text in words)


# From a schema to fields.


def fields_of(schema: JSON) -> tuple[FormField, ...]:
    """Return a field for each property of an object's schema, in the schema's order; none if the schema has no properties."""
    required = items(mapping(schema).get("required"))
    fields: list[FormField] = []
    for name, described in properties_of(schema).items():
        written, options = described.get("type"), _options(described)
        chosen = _options(mapping(described.get("items"))) if written == "array" else ()
        kind: Kind = _KINDS.get(text_or_empty(written), "json")
        if chosen:
            kind, options = "choices", chosen
        elif options and written in {None, "string"}:
            kind = "choice"
        shape = text_or_empty(described.get("format") if kind == "text" else written)
        unknown = "JSON" if kind == "json" else ""
        words = "" if chosen else _HINTS.get(shape, unknown)
        known = ((words, described.get(key)) for key, words in _LIMITS.items())
        limits = [words.format(limit) for words, limit in known if isinstance(limit, str | int | float)]
        field = FormField(
            name=name,
            kind=kind,
            schema=described,
            label=text_or_empty(described.get("title")) or name,
            description=text_or_empty(described.get("description")),
            required=name in required,
            default=text_of(kind, described.get("default")),
            options=options if kind in {"choice", "choices"} else (),
            hint=", ".join(filter(None, (words, *limits))),
        )
        fields.append(field)
    return tuple(fields)


def whole_field(fields: Sequence[FormField]) -> FormField | None:
    """Return a field for all values as one JSON object, in place of fields that are too many or too long to draw; else None."""
    is_short = sum(len(json.dumps(field.schema)) for field in fields) <= MOST_CHARACTERS
    if len(fields) <= MOST_FIELDS and is_short:
        return None
    label = f"{len(fields):,} fields, too many to show" if is_short else "Fields too long to show"
    return FormField(
        name=label,
        kind="json",
        # The format warns of fields that ask for a secret.
        schema={"type": "object", "format": "password" if any(field.asks_secret for field in fields) else ""},
        label=label,
        description="Write all values as one JSON object. The fields stand in the request's row of the inspector.",
        required=True,
        hint="a JSON object",
    )


def _options(schema: Mapping[str, JSON]) -> tuple[FormOption, ...]:
    """Return the values to choose where the schema lists texts, with their titles."""
    branches = [mapping(branch) for branch in items(schema.get("oneOf") or schema.get("anyOf"))]
    if "const" in schema:
        branches = [schema]
    if branches:
        values, titles = [branch.get("const") for branch in branches], [branch.get("title") for branch in branches]
    else:
        values, titles = list(items(schema.get("enum"))), list(items(schema.get("enumNames")))
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) < len(values):
        return ()
    labels = [*map(text_or_empty, titles), *[""] * len(texts)]
    return tuple(FormOption(value=text, label=label or text) for text, label in zip(texts, labels, strict=False))


def text_of(kind: Kind, value: JSON) -> str:
    """Return the text of a field that stands for a value; empty for null."""
    if value is None:
        return ""
    return value if isinstance(value, str) and kind != "json" else json.dumps(value, ensure_ascii=False)


# From texts to values.


def value_of(field: FormField, text: str) -> JSON:
    """Read the text of a field. Raises TuiHostError with which value is required, if it is none of the field's kind."""
    if not text and field.required:
        raise TuiHostError("a value is required")
    match field.kind:
        case "text":
            return text
        case "boolean":
            if text.strip().lower() not in _TRUTHS:
                raise TuiHostError("write true or false")
            return _TRUTHS[text.strip().lower()]
        case "number" | "integer":
            try:
                number = read_json(text)
            except TuiHostError:
                number = None
            # `3.0` is an integer by JSON Schema 2020-12, section 6.1.1.
            if field.kind == "integer" and isinstance(number, float) and number.is_integer():
                number = int(number)
            kinds = int if field.kind == "integer" else int | float
            if not isinstance(number, kinds) or isinstance(number, bool):
                raise TuiHostError(f"{_HINTS[field.kind]} is required")
            return number
        case "choice":
            return _chosen(field, text)
        case "choices":
            written = read_json(text) if text.lstrip().startswith("[") else [part.strip() for part in text.split(",")]
            return [_chosen(field, part) for part in items(written) if isinstance(part, str)]
        case "json":
            value, shapes = read_json(text), {"object": dict, "array": list}
            if not isinstance(value, shapes.get(text_or_empty(field.schema.get("type")), object)):
                raise TuiHostError(f"{field.hint} is required")
            return value


def content_of(fields: Sequence[FormField], texts: Mapping[str, str]) -> Mapping[str, JSON]:
    """Return the values of a form. A field without a text has its default; one with an empty text is left out.

    Raises TuiHostError for a text that is no value of its field, which `where` names.
    """
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


def _chosen(field: FormField, text: str) -> str:
    """Return the value that a person names by the value itself or by its title."""
    if any(option.value == text for option in field.options):
        return text
    # Titles are the server's words, and two values may have the same.
    labelled = [option.value for option in field.options if option.label == text]
    if len(labelled) != 1:
        raise TuiHostError(f"choose from {', '.join(option.value for option in field.options)}"[:200])
    return labelled[0]
