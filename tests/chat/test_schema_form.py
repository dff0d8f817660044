"""Forms made from schemas: fields, defaults, and what a person writes."""

from __future__ import annotations

import json

import pytest

from tui_host.chat.schema_form import Field, content_of, fields_of, value_of
from tui_host.errors import JSON, TuiHostError

TITLED = [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]


def field(schema: JSON, *, required: bool = False) -> Field:
    (made,) = fields_of({"type": "object", "properties": {"x": schema}, "required": ["x"] if required else []})
    return made


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, " a ", " a "),
        ({"type": "string", "format": "email"}, "a@b.example", "a@b.example"),
        ({"type": "string", "format": "uri"}, "https://a.example/b", "https://a.example/b"),
        ({"type": "string", "format": "date"}, "2026-02-28", "2026-02-28"),
        ({"type": "string", "format": "date-time"}, "2026-02-28T10:00:00.5+02:00", "2026-02-28T10:00:00.5+02:00"),
        ({"type": "integer", "minimum": 1}, "3.0", 3),
        ({"type": "number"}, "1e-3", 0.001),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "string", "enum": ["a", "b"]}, "b", "b"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["Ay", "Bee"]}, "Bee", "b"),
        ({"type": "string", "oneOf": TITLED}, "Green", "g"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "a, b", ["a", "b"]),
        ({"type": "array", "items": {"anyOf": TITLED}}, '["Red", "g"]', ["r", "g"]),
        ({"type": ["integer", "null"]}, "4", 4),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}, "4", 4),
        ({"type": "object"}, '{"a": [1]}', {"a": [1]}),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
        ({"type": "string", "enum": [1, 2]}, "1", "1"),
        (True, '"anything"', "anything"),
    ],
)
def test_a_text_becomes_the_value_of_its_schema(schema: JSON, text: str, value: JSON) -> None:
    read = value_of(field(schema), text)
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(
    ("schema", "text", "words"),
    [
        ({"type": "string", "minLength": 3}, "ab", "at least 3 characters"),
        ({"type": "string", "maxLength": 1}, "ab", "at most 1 characters"),
        ({"type": "string", "format": "email"}, "nobody", "e-mail"),
        ({"type": "string", "format": "uri"}, "example.com", "scheme"),
        ({"type": "string", "format": "date"}, "2026-02-30", "date"),
        ({"type": "string", "format": "date-time"}, "2026-02-28", "zone"),
        ({"type": "integer"}, "1.5", "whole number"),
        ({"type": "integer"}, "1,2", "whole number"),
        ({"type": "number", "maximum": 5}, "5.1", "at most 5"),
        ({"type": "number"}, "NaN", "a number"),
        ({"type": "boolean"}, "maybe", "true or false"),
        ({"type": "string", "enum": ["a", "b"]}, "c", "choose from a, b"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2}, "a", "at least 2"),
        ({"type": "object"}, "[]", "a JSON object"),
        ({"type": "object"}, "{", "not JSON"),
    ],
)
def test_a_text_that_is_no_value_is_told_what_is_needed(schema: JSON, text: str, words: str) -> None:
    with pytest.raises(TuiHostError, match=words):
        value_of(field(schema), text)


def test_an_empty_text_leaves_a_field_out_and_no_text_means_its_default() -> None:
    schema: JSON = {
        "properties": {
            "n": {"type": "integer", "default": 7},
            "b": {"type": "boolean", "default": False},
            "t": {"type": "string"},
        }
    }
    fields = fields_of(schema)
    assert content_of(fields, {}) == {"n": 7, "b": False}
    assert content_of(fields, {"n": "", "b": "yes", "t": "x"}) == {"b": True, "t": "x"}


def test_a_mistake_names_its_field() -> None:
    fields = fields_of({"properties": {"name": {"type": "string"}}, "required": ["name"]})
    with pytest.raises(TuiHostError, match=r"^name: a value is needed"):
        content_of(fields, {})
    with pytest.raises(TuiHostError, match=r"nmae: there is no such field .write name"):
        content_of(fields, {"nmae": "x"})


def test_a_pattern_that_never_ends_is_not_run() -> None:
    assert value_of(field({"type": "string", "pattern": "(a+)+$"}), "a" * 40 + "b").__class__ is str


@pytest.mark.parametrize("name", ["password", "apiKey", "api_token", "Your GitHub token", "private-key", "PIN", "key"])
def test_a_field_that_asks_for_a_secret_is_known(name: str) -> None:
    (made,) = fields_of({"properties": {name: {"type": "string"}}})
    assert made.asks_secret


@pytest.mark.parametrize("name", ["keyword", "max_tokens", "tokenizer", "pinned", "monkey", "name"])
def test_a_field_that_asks_for_no_secret_is_left_alone(name: str) -> None:
    (made,) = fields_of({"properties": {name: {"type": "string"}}})
    assert not made.asks_secret


@pytest.mark.parametrize(
    "schema",
    [None, True, [], {}, {"properties": 3}, {"properties": {"a": None, "b": 7, "c": {"type": 4, "enum": "x"}}}],
)
def test_a_broken_schema_breaks_nothing(schema: JSON) -> None:
    assert all(made.kind == "json" for made in fields_of(schema))


def test_defaults_and_hints_are_words() -> None:
    made = field(
        {"type": "array", "items": {"enum": ["a", "b"]}, "default": ["a"], "minItems": 1, "maxItems": 2}, required=True
    )
    assert (made.default, made.hint, made.required) == ('["a"]', "1 to 2 of these", True)
    assert field({"type": "integer", "minimum": 1, "maximum": 9}).hint == "a whole number, 1 to 9"
    assert field({"type": "number", "minimum": 0, "maximum": 1}).hint == "a number, 0 to 1"
    assert json.loads(field({"type": "object", "default": {"a": 1}}).default) == {"a": 1}
