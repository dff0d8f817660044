"""What all wires read alike: a body that is one JSON object, a tool's parameters, pictures."""

from __future__ import annotations

import base64
import binascii
import json

from tui_host.demo.model.narrow import is_array, is_object
from tui_host.demo.model.wires.wire import RequestRefused

_NOT_JSON = "We could not parse the JSON body of your request. ({})"
_NO_OBJECT = "The body of the request must be a JSON object."


def parse(body: bytes, *, not_json: str = _NOT_JSON, no_object: str = _NO_OBJECT) -> dict[str, object]:
    """A body as an object.

    Args:
        body: The bytes.
        not_json: The vendor's words, with `{}` for what is wrong.
        no_object: The vendor's words for JSON of another kind.

    Raises:
        RequestRefused: With the status 400.
    """
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(status=400, message=not_json.format(error)) from error
    if not is_object(value):
        raise RequestRefused(status=400, message=no_object)
    return value


def parameters(schema: object) -> tuple[dict[str, str], tuple[str, ...]]:
    """The parameters that a JSON Schema names, with their types as far as it says them, and which must be there."""
    if not is_object(schema):
        return {}, ()
    properties = schema.get("properties")
    required = schema.get("required")
    types: dict[str, str] = {}
    for parameter, definition in (properties if is_object(properties) else {}).items():
        kind = definition.get("type") if is_object(definition) else None
        types[parameter] = kind if isinstance(kind, str) else ""
    return types, tuple(item for item in (required if is_array(required) else []) if isinstance(item, str))


_SIGNS = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


def picture(data: object, media_type: object = "") -> str:
    """An image in words: its type, as told or else by its first bytes, and its size."""
    try:
        held = base64.b64decode(data if isinstance(data, str) else "")
    except (binascii.Error, ValueError):
        held = b""
    by_bytes = next((kind for sign, kind in _SIGNS if held.startswith(sign)), "of an unknown type")
    return f"{media_type if isinstance(media_type, str) and media_type else by_bytes}, {len(held):,} bytes"


def picture_at(url: object) -> str:
    """The same of one behind a URL, which may hold it."""
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    if not comma or not head.startswith("data:"):
        return "at a URL"
    return picture(data, head.removeprefix("data:").partition(";")[0])


def is_base64(text: object) -> bool:
    """Whether it is the base64 of at least one byte."""
    if not isinstance(text, str) or not text:
        return False
    try:
        return bool(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return False
