"""What every dialect needs to write a request: JSON as bytes, arguments, schemas, ids."""

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
        message: The message's place among those that were written.
        start: Its first character.
        end: One past its last.
    """

    message: int
    start: int
    end: int


def located(
    body: bytes, messages: Sequence[Message], pieces: Sequence[TextSpan], kept: Callable[[bytes], bytes] = bytes
) -> Iterator[tuple[int, int] | None]:
    """The bytes of each piece, None where they are not found: every dialect writes a message's text as one JSON string.

    Args:
        body: The request's body, as it is kept.
        messages: What was written, in order.
        pieces: What is looked for, in order.
        kept: Makes bytes what they are in the body (with marks where secrets stood).
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
"""The key under which arguments go back that are no JSON object."""

LONG = 1 << 18
"""Characters of a text that are written at once."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class Ready(str):
    """The value of a body's member as the JSON text that it becomes."""

    __slots__ = ()


class Tools(tuple[ToolSpec, ...]):  # noqa: SLOT001 - a tuple's subclass has no room for slots that hold anything
    """What is offered, and the texts that were made of it: each once, for it never changes.

    Whoever offers the same tools again gives the same object, so nothing is written anew for a step.
    """

    def __init__(self, tools: Iterable[ToolSpec] = (), /) -> None:
        """Nothing is written yet."""
        del tools  # the tuple has them
        self._texts: dict[object, str] = {}

    def written(self, make: Callable[[ToolSpec], JSON]) -> str:
        """All of them as a JSON list, each in the form that a dialect makes of it."""
        return self.text(make, lambda tools: json_text([make(tool) for tool in tools]))

    def text(self, key: object, make: Callable[[Sequence[ToolSpec]], str]) -> str:
        """All of them in whatever form goes by this key; what makes it looks at them alone."""
        if key not in self._texts:
            self._texts[key] = make(self)
        return self._texts[key]


def tools_text(tools: Sequence[ToolSpec], make: Callable[[ToolSpec], JSON]) -> Ready | None:
    """The tools of a request as a member of its body; None where there are none."""
    return None if not tools else Ready((tools if isinstance(tools, Tools) else Tools(tools)).written(make))


@dataclass(frozen=True, slots=True, kw_only=True)
class Growing:
    """The member of a request's body that grows from step to step: the conversation, as its dialect lists it.

    Attributes:
        name: The member's.
        spans: Where each of its elements stands in the body: its first byte, and one past its last. None where a person's own
            options say what stands there.
    """

    name: str = ""
    spans: tuple[tuple[int, int], ...] = ()


def body_bytes(
    body: Mapping[str, JSON], added: Mapping[str, JSON], *, tools: Ready | None, **conversation: Sequence[JSON]
) -> tuple[bytes, Growing]:
    """A request's body as it is sent: compact, UTF-8, nothing in it that a provider's parser refuses.

    Args:
        body: What a dialect begins it with.
        added: What a person wants in it over that.
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
            written += _encoded(value if isinstance(value, Ready) else json_text(value))
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
    """A value as compact JSON; what JSON cannot say is null."""
    try:
        return _compact(value)
    except ValueError:  # a server's schema or a configured option holds it
        return _compact(_sayable(value))


def _is_long(value: JSON) -> bool:
    """Whether a text in it is so long that nothing else could run while it is written."""
    if isinstance(value, str):
        return len(value) > LONG
    if isinstance(value, Mapping):
        return any(map(_is_long, value.values()))
    return isinstance(value, list) and any(map(_is_long, value))


def _long_text(value: JSON) -> str:
    """The same as `json_text`, piece by piece."""
    if isinstance(value, Mapping):
        return f"{{{','.join([f'{json_text(key)}:{_long_text(each)}' for key, each in value.items()])}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_long_text, value))}]"
    if not isinstance(value, str):
        return json_text(value)
    pieces = [encode_basestring(value[at : at + LONG])[1:-1] for at in range(0, len(value), LONG)]
    return f'"{"".join(pieces)}"'


def json_lines(value: JSON, newline: str = "\n") -> str:
    """A value as JSON on lines of its own, as `json.dumps` has it with an indent of two; that one takes three times as long.

    Args:
        value: What to write.
        newline: What its further lines begin with, a line feed first.
    """
    inner = f"{newline}  "
    if isinstance(value, dict) and value:
        members = [
            f"{encode_basestring(name)}: {encode_basestring(each) if isinstance(each, str) else json_lines(each, inner)}"
            for name, each in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(members)}{newline}}}"
    if isinstance(value, list) and value:
        return f"[{inner}{f',{inner}'.join([json_lines(each, inner) for each in value])}{newline}]"
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
    """A call's arguments as the model wrote them; wrapped where they are no object, for some servers parse them."""
    value = _object_in(text)
    if value is None:
        return json.dumps({UNREADABLE: text}, ensure_ascii=False)
    return "{}" if text.strip() in {"", "null"} else text


def arguments_object(text: str) -> Mapping[str, JSON]:
    """The same for vendors that take an object."""
    value = _object_in(text)
    return {UNREADABLE: text} if value is None else value


def _object_in(text: str) -> Mapping[str, JSON] | None:
    """The object that a text holds, an empty one for nothing; None for anything else."""
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
    """The server's schema, untouched but for what is refused: a root that is no object, or one that names no properties."""
    if not isinstance(schema, Mapping):
        return {"type": "object", "properties": {}}
    added: dict[str, JSON] = {}
    if "type" not in schema:
        added["type"] = "object"
    if "properties" not in schema:
        added["properties"] = {}
    return {**schema, **added} if added else schema


class CallIds:
    """The vendor's ids of a request's calls, or ones of our own where it gave none or another vendor's do not fit.

    Args:
        limit: The most characters that an id may have.
        allowed: What it may consist of, as the inside of a regular expression's brackets.
        least: The fewest characters; the same as the most, where a vendor wants exactly so many.
    """

    def __init__(self, limit: int, allowed: str = r"\x21-\x7e", *, least: int = 0) -> None:
        self._limit = limit
        self._least = least
        self._unfit = re.compile(f"[^{allowed}]")
        self._between = "" if self._unfit.match("_") else "_"
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()

    def begin_message(self) -> None:
        """Another message: ids are told apart within one alone, and a model may count anew in each."""
        self._taken.clear()

    def of(self, call: ToolCall) -> str:
        """The call's id, the same whenever it is asked for."""
        if call.id not in self._ids:
            self._ids[call.id] = self._made(call)
        return self._ids[call.id]

    def _made(self, call: ToolCall) -> str:
        wire_id = call.wire_id or call.id
        if not self._least <= len(wire_id) <= self._limit or self._unfit.search(wire_id):
            digest = hashlib.sha256(wire_id.encode("utf-8", "replace")).hexdigest()
            wire_id = f"call_{digest[:24]}" if self._limit > len("call_") + 24 else digest[: self._limit]
        found, number = wire_id, 1
        while found in self._taken:
            number += 1
            found = f"{wire_id[: self._limit - len(str(number)) - len(self._between)]}{self._between}{number}"
        self._taken.add(found)
        return found


def echo_for(dialect: str, value: Mapping[str, JSON] | None) -> JSON:
    """What a vendor wants back, under the name of the dialect that wants it: one model may be asked in several; None for nothing."""
    return {dialect: value} if value else None


def echo_of(part: object, *, provider: str, model: str, dialect: str) -> Mapping[str, JSON]:
    """What goes back with a part to this provider and model in this dialect; empty if nothing does, or if others gave it."""
    if isinstance(part, Thinking):
        giver, kept = (part.provider, part.model), part.echo
    elif isinstance(part, Text | ToolCall) and part.echo is not None:
        giver, kept = (part.echo.provider, part.echo.model), part.echo.value
    else:
        return {}
    value = kept.get(dialect) if isinstance(kept, Mapping) and giver == (provider, model) else None
    return value if isinstance(value, Mapping) else {}


IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""The types of images that nearly every service takes; a request with another one is refused whole."""


def with_taken_images(parts: Sequence[object], taken: frozenset[str] = IMAGES) -> list[object]:
    """The parts with a word in the place of each image that the service would refuse.

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
    """What stands in the system messages, for vendors that take it beside the conversation."""
    return "\n\n".join(text for message in messages if message.role == "system" and (text := text_of(message.parts)))
