"""Shared by the dialects' writers: JSON bytes, arguments, schemas, call ids, and places of text."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring

from tui_host.errors import JSON
from tui_host.llm.messages import Image, Message, Text, Thinking, ToolCall, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSpan:
    """A piece of a message's text.

    Attributes:
        message: The message's place among the written messages.
        start: Its first character.
        end: One past its last.
    """

    message: int
    start: int
    end: int


def text_spans(
    body: bytes, messages: Sequence[Message], pieces: Sequence[TextSpan], kept: Callable[[bytes], bytes] = bytes
) -> Iterator[tuple[int, int] | None]:
    """Yield the bytes of each piece, None where not found. Every dialect writes a message's text as a single JSON string.

    Args:
        body: The request's body, as it is kept.
        messages: What was written, in order.
        pieces: What is looked for, in order.
        kept: Turns bytes into their recorded form (with marks in place of secrets).
    """
    position, number, begun = 0, -1, -1
    for piece in pieces:
        text = "".join(part.text for part in messages[piece.message].parts if isinstance(part, Text))
        if piece.message != number:
            number = piece.message
            begun = body.find(kept(_json(text)), position)
            position = max(begun, position)
        if begun < 0:
            yield None
            continue
        start = begun + len(kept(_json(text[: piece.start]))) - 1  # without the closing quote
        yield start, start + len(kept(_json(text[piece.start : piece.end]))) - 2


def _json(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")


UNREADABLE = "unreadable_arguments"
"""The key for arguments that are no JSON object."""

LONG = 1 << 18
"""Characters of a text that are written at once."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class JsonText(str):
    """A member's value as finished JSON text."""

    __slots__ = ()


class Tools(tuple[ToolSpec, ...]):  # noqa: SLOT001 - a tuple's subclass has no room for slots that hold anything
    """The offered tools, with the texts made of them, each made once.

    Offer the same tools again with the same object, so that nothing is written anew for a step.
    """

    def __init__(self, tools: Iterable[ToolSpec] = (), /) -> None:
        """Nothing is written yet."""
        del tools  # the tuple has them
        self._texts: dict[object, str] = {}

    def written(self, make: Callable[[ToolSpec], JSON]) -> str:
        """Return all tools as a JSON list in a dialect's form."""
        return self.text(make, lambda tools: json_text([make(tool) for tool in tools]))

    def text(self, key: object, make: Callable[[Sequence[ToolSpec]], str]) -> str:
        """Return all tools in the form cached under a key."""
        if key not in self._texts:
            self._texts[key] = make(self)
        return self._texts[key]


def tools_text(tools: Sequence[ToolSpec], make: Callable[[ToolSpec], JSON]) -> JsonText | None:
    """Return the tools as a member of the body. None without tools."""
    return None if not tools else JsonText((tools if isinstance(tools, Tools) else Tools(tools)).written(make))


@dataclass(frozen=True, slots=True, kw_only=True)
class Growing:
    """The growing member of a request's body: the conversation.

    Attributes:
        name: The member's.
        spans: Where each of its elements stands in the body: its first byte, and one past its last. None where a person's own
            options say what stands there.
    """

    name: str = ""
    spans: tuple[tuple[int, int], ...] = ()


def body_bytes(
    body: Mapping[str, JSON], added: Mapping[str, JSON], *, tools: JsonText | None, **conversation: Sequence[JSON]
) -> tuple[bytes, Growing]:
    """Write a request's body: compact UTF-8, without anything refused by providers' parsers.

    Args:
        body: The dialect's first members.
        added: The person's members, which win.
        tools: What is offered; None is left out.
        conversation: The one member that grows from step to step, behind all else: a request then begins with all the bytes of
            the one before it.
    """
    (name, elements), *_ = conversation.items()
    last = {**({} if tools is None else {"tools": tools}), name: list(elements)}
    first = {**body, **{key: value for key, value in added.items() if key not in {"tools", name}}}
    whole = {**first, **last, **{key: added[key] for key in ("tools", name) if key in added}}
    written, spans = bytearray(b"{"), list[tuple[int, int]]()
    for key, value in whole.items():
        written += b"," * (len(written) > 1) + _encoded(f"{json_text(key)}:")
        if value is not last[name]:
            written += _encoded(value if isinstance(value, JsonText) else json_text(value))
            continue
        written += b"["
        for element in elements:
            written += b"," * bool(spans)
            start = len(written)
            written += _encoded(_long_text(element) if _is_long(element) else json_text(element))
            spans.append((start, len(written)))
        written += b"]"
    return bytes(written + b"}"), Growing(name=name, spans=tuple(spans))


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a character, which a model may write; no provider takes it back
        return _SURROGATE.sub("\ufffd", text).encode()


def json_text(value: JSON) -> str:
    """Write a value as compact JSON, with null for anything unknown to JSON."""
    try:
        return _compact(value)
    except ValueError:  # a server's schema or a configured option holds it
        return _compact(_sayable(value))


def _is_long(value: JSON) -> bool:
    """Tell whether a value has a text long enough to block the event loop."""
    if isinstance(value, str):
        return len(value) > LONG
    if isinstance(value, Mapping):
        return any(map(_is_long, value.values()))
    return isinstance(value, list) and any(map(_is_long, value))


def _long_text(value: JSON) -> str:
    """Write long values as `json_text` does, piece by piece."""
    if isinstance(value, Mapping):
        return f"{{{','.join([f'{json_text(key)}:{_long_text(item)}' for key, item in value.items()])}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_long_text, value))}]"
    if not isinstance(value, str):
        return json_text(value)
    pieces = [encode_basestring(value[at : at + LONG])[1:-1] for at in range(0, len(value), LONG)]
    return f'"{"".join(pieces)}"'


def json_lines(value: JSON, newline: str = "\n") -> str:
    """Write a value as indented JSON, three times as fast as `json.dumps` with an indent of two.

    Args:
        value: What to write.
        newline: The beginning of further lines, a line feed first.
    """
    inner = f"{newline}  "
    if isinstance(value, dict) and value:
        members = [
            f"{encode_basestring(name)}: {encode_basestring(item) if isinstance(item, str) else json_lines(item, inner)}"
            for name, item in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(members)}{newline}}}"
    if isinstance(value, list) and value:
        return f"[{inner}{f',{inner}'.join([json_lines(item, inner) for item in value])}{newline}]"
    return encode_basestring(value) if isinstance(value, str) else json_text(value)


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def _sayable(value: JSON) -> JSON:
    """The value with NaN and the infinities taken out."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: _sayable(inner) for name, inner in value.items()}
    return [_sayable(inner) for inner in value] if isinstance(value, list | tuple) else value


def arguments_text(text: str) -> str:
    """Return a call's arguments as written by the model; anything but an object is wrapped, for some servers parse them."""
    value = _object_in(text)
    if value is None:
        return json.dumps({UNREADABLE: text}, ensure_ascii=False)
    return "{}" if text.strip() in {"", "null"} else text


def arguments_object(text: str) -> Mapping[str, JSON]:
    """Return a call's arguments as an object."""
    value = _object_in(text)
    return {UNREADABLE: text} if value is None else value


def _object_in(text: str) -> Mapping[str, JSON] | None:
    """Parse an object, with an empty object for an empty text. None for any other text."""
    if not text.strip():
        return {}
    try:
        value: JSON = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


def _refused(word: str) -> JSON:
    raise ValueError(word)


def object_schema(schema: JSON) -> Mapping[str, JSON]:
    """Return the server's schema, changed only where refused: at the root, for an object type with properties."""
    if not isinstance(schema, Mapping):
        return {"type": "object", "properties": {}}
    added: dict[str, JSON] = {}
    if "type" not in schema:
        added["type"] = "object"
    if "properties" not in schema:
        added["properties"] = {}
    return {**schema, **added} if added else schema


class CallIds:
    """The ids of a request's calls: the vendor's, or our own where the vendor gave none or has other rules.

    Args:
        limit: The most characters that an id may have.
        allowed: What it may consist of, as the inside of a regular expression's brackets.
        least: The fewest characters; equal to the most for vendors with a fixed length.
    """

    def __init__(self, limit: int, allowed: str = r"\x21-\x7e", *, least: int = 0) -> None:
        self._limit = limit
        self._least = least
        self._unfit = re.compile(f"[^{allowed}]")
        self._between = "" if self._unfit.match("_") else "_"
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()

    def begin_message(self) -> None:
        """Begin a message: ids are unique only within a message, as a model may number anew."""
        self._taken.clear()

    def of(self, call: ToolCall) -> str:
        """Return a call's id, always alike."""
        if call.id not in self._ids:
            self._ids[call.id] = self._made(call)
        return self._ids[call.id]

    def _made(self, call: ToolCall) -> str:
        wire_id = call.wire_id or call.id
        if not self._least <= len(wire_id) <= self._limit or self._unfit.search(wire_id):
            digest = hashlib.sha256(wire_id.encode("utf-8", "replace")).hexdigest()
            wire_id = f"call_{digest[:24]}" if self._limit > len("call_") + 24 else digest[: self._limit]
        made, number = wire_id, 1
        while made in self._taken:
            number += 1
            made = f"{wire_id[: self._limit - len(str(number)) - len(self._between)]}{self._between}{number}"
        self._taken.add(made)
        return made


def echo_for(dialect: str, value: Mapping[str, JSON] | None) -> JSON:
    """Wrap data to send back with the dialect's name, as a model may be asked in several dialects. None for nothing."""
    return {dialect: value} if value else None


def echo_of(part: object, *, provider: str, model: str, dialect: str) -> Mapping[str, JSON]:
    """Return the data to send back with a part to a provider and model; empty if of another origin."""
    if isinstance(part, Thinking):
        giver, kept = (part.provider, part.model), part.echo
    elif isinstance(part, Text | ToolCall) and part.echo is not None:
        giver, kept = (part.echo.provider, part.echo.model), part.echo.value
    else:
        return {}
    value = kept.get(dialect) if isinstance(kept, Mapping) and giver == (provider, model) else None
    return value if isinstance(value, Mapping) else {}


IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""The types of images taken by nearly every service; a request with any other type is refused."""


def with_taken_images(parts: Sequence[object], taken: frozenset[str] = IMAGES) -> list[object]:
    """Return the parts, with words in place of images refused by the service.

    Args:
        parts: Of a message or a result.
        taken: The types of images that the service takes.
    """
    return [
        Text(text=f"(an image of the type {part.media_type}, which this model's API does not take)")
        if isinstance(part, Image) and part.media_type not in taken
        else part
        for part in parts
    ]


def text_of(parts: Sequence[object]) -> str:
    """All text among a message's parts."""
    return "".join(part.text for part in parts if isinstance(part, Text))


def system_text(messages: Sequence[Message]) -> str:
    """Return the text of the system messages, for vendors with a separate place for it."""
    return "\n\n".join(text for message in messages if message.role == "system" and (text := text_of(message.parts)))
