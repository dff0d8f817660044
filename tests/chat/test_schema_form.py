"""Forms made from schemas: fields, defaults, and what a person writes; and whether arguments fit a tool's schema."""

import json
import socket

import pytest

from tui_host.chat.schema_check import MOST, misfits
from tui_host.chat.schema_form import FormField, content_of, fields_of, value_of
from tui_host.errors import JSON, TuiHostError

TITLED = [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]


def field(schema: JSON, *, required: bool = False) -> FormField:
    (made,) = fields_of({"type": "object", "properties": {"x": schema}, "required": ["x"] if required else []})
    return made


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, " a ", " a "),
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
        ({"type": "integer"}, "1.5", "a whole number is required"),
        ({"type": "integer"}, "1,2", "a whole number is required"),
        ({"type": "number"}, "NaN", "a number is required"),
        ({"type": "number"}, "true", "a number is required"),
        ({"type": "boolean"}, "maybe", "write true or false"),
        ({"type": "string", "enum": ["a", "b"]}, "c", "choose from a, b"),
        ({"type": "object"}, "[]", "a JSON object is required"),
        ({"type": "array", "items": {"type": "integer"}}, "{}", "a JSON array is required"),
    ],
)
def test_a_text_that_is_no_value_is_told_what_is_needed(schema: JSON, text: str, words: str) -> None:
    with pytest.raises(TuiHostError) as caught:
        value_of(field(schema), text)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"type": "string", "minLength": 3}, "ab", "x: 'ab' is too short"),
        ({"type": "string", "format": "email"}, "nobody", "x: 'nobody' is not a 'email'"),
        ({"type": "string", "format": "uri"}, "example.com", "x: 'example.com' is not a 'uri'"),
        ({"type": "string", "format": "uri"}, "https://a.example/b", ""),
        ({"type": "string", "format": "date"}, "2026-02-30", "x: '2026-02-30' is not a 'date'"),
        ({"type": "string", "format": "date-time"}, "2026-02-28", "x: '2026-02-28' is not a 'date-time'"),
        ({"type": "string", "format": "date-time"}, "2026-02-28T10:00:00.5+02:00", ""),
        ({"type": "number", "maximum": 5}, 5.1, "x: 5.1 is greater than the maximum of 5"),
        ({"type": "array", "items": {"type": "string"}}, ["x", 2], "x.1: 2 is not of type 'string'"),
    ],
)
def test_limits_and_formats_are_checked_by_the_schema(schema: JSON, value: JSON, words: str) -> None:
    assert misfits({"type": "object", "properties": {"x": schema}}, {"x": value}) == ([words] if words else [])


COLOUR: JSON = {"enum": ["red", "blue"], "title": "Color", "type": "string"}


@pytest.mark.parametrize(
    ("schema", "kind", "options"),
    [
        ({"$ref": "#/$defs/Color"}, "choice", "red blue"),
        ({"allOf": [{"$ref": "#/$defs/Color"}], "default": "red"}, "choice", "red blue"),
        ({"anyOf": [{"$ref": "#/$defs/Color"}, {"type": "null"}]}, "choice", "red blue"),
        ({"type": "array", "items": {"$ref": "#/$defs/Color"}}, "choices", "red blue"),
        ({"const": "only", "type": "string"}, "choice", "only"),
        ({"$ref": "#/$defs/Self"}, "json", ""),
        ({"$ref": "#/$defs/Nobody"}, "json", ""),
        ({"$ref": "https://elsewhere.example/colours"}, "json", ""),
    ],
)
def test_a_reference_inside_the_schema_is_followed(schema: JSON, kind: str, options: str) -> None:
    definitions: JSON = {"Color": COLOUR, "Self": {"$ref": "#/$defs/Self"}}
    (made,) = fields_of({"properties": {"x": schema}, "$defs": definitions})
    assert (made.kind, " ".join(option.value for option in made.options)) == (kind, options)


def test_an_empty_text_leaves_a_field_out_and_no_text_means_its_default() -> None:
    number: JSON = {"type": "integer", "default": 7}
    yes: JSON = {"type": "boolean", "default": False}
    schema: dict[str, JSON] = {"properties": {"n": number, "b": yes, "t": {"type": "string"}}}
    fields = fields_of(schema)
    assert content_of(fields, {}) == {"n": 7, "b": False}
    assert content_of(fields, {"n": "", "b": "yes", "t": "x"}) == {"b": True, "t": "x"}
    with pytest.raises(TuiHostError, match=r"^t: a value is required"):
        content_of(fields_of({**schema, "required": ["t"]}), {})


def test_a_field_that_asks_for_a_secret_is_known_by_its_name() -> None:
    secret = ("password", "apiKey", "api_token", "Your GitHub token", "private-key", "PIN", "key")
    other = ("keyword", "max_tokens", "tokenizer", "pinned", "monkey", "name")
    made = fields_of({"properties": {name: {"type": "string"} for name in (*secret, *other)}})
    assert tuple(field.name for field in made if field.asks_secret) == secret


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
    assert (made.default, made.hint, made.required) == ('["a"]', "at least 1 of these, at most 2 of these", True)
    assert field({"type": "integer", "minimum": 1, "maximum": 9}).hint == "a whole number, at least 1, at most 9"
    assert field({"type": "number", "minimum": 0, "maximum": 1}).hint == "a number, at least 0, at most 1"
    assert json.loads(field({"type": "object", "default": {"a": 1}}).default) == {"a": 1}


def test_what_is_missing_is_told_and_a_schema_that_is_none_checks_nothing() -> None:
    assert misfits({"required": ["a"]}, {}) == ["'a' is a required property"]
    assert [misfits(schema, {}) for schema in ({"type": 3}, {"$ref": "#/nowhere"}, None)] == [None] * 3


def test_what_does_not_fit_is_told_so_often_and_so_long_at_most() -> None:
    found = misfits({"items": {"maxLength": 9, "type": "string"}}, ["x", "y" * 5000 + "z", 1] * 100)
    assert found is not None
    assert len(found) == MOST
    assert max(map(len, found)) == 200
    assert found[0].endswith("yz' is too long")


def test_a_schema_leads_to_no_other_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        there.setblocking(False)
        assert misfits({"$ref": f"http://127.0.0.1:{there.getsockname()[1]}/schema.json"}, {}) is None
        with pytest.raises(BlockingIOError):
            there.accept()
