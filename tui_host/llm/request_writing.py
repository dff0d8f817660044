"""Shared by the dialects' writers: JSON bytes, arguments, schemas, call ids, and places of text."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui_host.errors import JSON
from tui_host.llm.images import with_taken_images
from tui_host.llm.messages import Image, Message, Text, Thinking, ToolCall, ToolResult, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSpan:
    """A piece of a message's text: the index of the message, and characters."""

    message: int
    start: int
    end: int


def text_spans(
    body: bytes, messages: Sequence[Message], pieces: Sequence[TextSpan], kept: Callable[[bytes], bytes] = bytes
) -> Iterator[tuple[int, int] | None]:
    """Yield the bytes of each piece, None if not found.

    A message's text is one JSON string; with images, and in some dialects always, it is several, one a part.
    Messages and pieces stand in order; `kept` turns bytes into their recorded form (with marks in place of secrets).
    """
    position, number, begun = 0, -1, -1
    for piece in pieces:
        text = "".join(part.text for part in messages[piece.message].parts if isinstance(part, Text))
        if piece.message != number:
            number = piece.message
            begun = body.find(kept(_json(text)), position)
            position = max(begun, position)
        if begun < 0:
            whole = kept(_json(text[piece.start : piece.end]))
            start = body.find(whole, position)
            yield (start + 1, start + len(whole) - 1) if start >= 0 else None
            position = max(start, position)
            continue
        start = begun + len(kept(_json(text[: piece.start]))) - 1  # up to, but without the closing quote
        yield start, start + len(kept(_json(text[piece.start : piece.end]))) - 2


def _json(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")


UNREADABLE = "unreadable_arguments"
"""The key for arguments that are no JSON object."""

_SURROGATE = re.compile("[\ud800-\udfff]")


class JsonText(str):
    """A member's value as finished JSON text."""

    __slots__ = ()


class Tools(tuple[ToolSpec, ...]):  # noqa: SLOT001 - a tuple's subclass has no room for slots that hold anything
    """The offered tools, and the texts made from them. Each text is made once.

    Use the same object while the tools stay the same, so that they are not written again for each step.
    """

    def __init__(self, tools: Iterable[ToolSpec] = (), /) -> None:
        """Take the tools, and write nothing yet."""
        del tools  # already in the tuple
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
    offered = tools if isinstance(tools, Tools) else Tools(tools)
    return JsonText(offered.written(make)) if offered else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Growing:
    """The growing member of a request's body: the conversation, with the bytes of each of its elements."""

    name: str = ""
    spans: tuple[tuple[int, int], ...] = ()


def body_bytes(
    body: Mapping[str, JSON], added: Mapping[str, JSON], *, tools: JsonText | None, **conversation: Sequence[JSON]
) -> tuple[bytes, Growing]:
    """Write a request's body as compact UTF-8, without anything that providers' parsers refuse.

    The members `added` by the person win; a list of tools among them stands behind the offered ones (a vendor's web
    search). `conversation` is the single member that grows from step to step. It is written last, so that a request
    begins with all bytes of the previous one.
    """
    (name, elements), *_ = conversation.items()
    more = added.get("tools")
    if tools and isinstance(more, list):
        offered = tools.removesuffix("]")
        tools = JsonText(f"{offered}{''.join(f',{json_text(tool)}' for tool in more)}]")
        added = {key: value for key, value in added.items() if key != "tools"}
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
            written += _encoded(json_text(element))
            spans.append((start, len(written)))
        written += b"]"
    return bytes(written + b"}"), Growing(name=name, spans=tuple(spans))


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: models may write it, but no provider accepts it
        return _SURROGATE.sub("\ufffd", text).encode()


def json_text(value: JSON) -> str:
    """Write a value as compact JSON, with null for values that JSON does not have."""
    try:
        return _compact(value)
    except ValueError:  # such values come from a server's schema or the configuration
        return _compact(_finite(value))


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def _finite(value: JSON) -> JSON:
    """Return the value with null for NaN and the infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value


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


class CallIds:
    """The ids of a request's calls: the vendor's ids, or our own if the vendor gave none or has different rules.

    An id has at most `limit` and at least `least` of the characters `allowed` (the inside of a regular expression's
    brackets).
    """

    def __init__(self, limit: int, allowed: str = r"\x21-\x7e", *, least: int = 0) -> None:
        self._limit = limit
        self._least = least
        self._unfit = re.compile(f"[^{allowed}]")
        self._between = "" if self._unfit.match("_") else "_"
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()

    def begin_message(self) -> None:
        """Begin a message: ids need to be unique only within a message, since a model may count from the start again."""
        self._taken.clear()

    def of(self, call: ToolCall) -> str:
        """Return a call's id, always the same for the same call."""
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
    """Wrap data to send back with the dialect's name, since one model may be used in several dialects. None for no data."""
    return {dialect: value} if value else None


def echo_of(part: object, *, provider: str, model: str, dialect: str) -> Mapping[str, JSON]:
    """Return the data to send back with a part; empty if it came from a different provider, model or dialect."""
    if isinstance(part, Thinking):
        giver, kept = (part.provider, part.model), part.echo
    elif isinstance(part, Text | ToolCall) and part.echo is not None:
        giver, kept = (part.echo.provider, part.echo.model), part.echo.value
    else:
        return {}
    value = kept.get(dialect) if isinstance(kept, Mapping) and giver == (provider, model) else None
    return value if isinstance(value, Mapping) else {}


def text_of(parts: Sequence[object]) -> str:
    """Return all text among a message's parts."""
    return "".join(part.text for part in parts if isinstance(part, Text))


def result_texts(
    results: Sequence[ToolResult], *, shows_images: bool = True
) -> tuple[list[tuple[ToolResult, str]], list[Image]]:
    """Return each result of a step as text, for tool messages that hold only text, and the images for a message after them.

    Without `shows_images` no such message may follow, and words replace the images.
    """
    images: list[Image] = []
    written: list[tuple[ToolResult, str]] = []
    for result in results:
        texts: list[str] = []
        for part in with_taken_images(result.content):
            if isinstance(part, Text):
                texts.append(part.text)
            elif isinstance(part, Image) and not shows_images:
                texts.append(f"(an image, {part.media_type}, which cannot be shown to you)")
            elif isinstance(part, Image):
                images.append(part)
                texts.append(f"(image {len(images)} of this step, {part.media_type}: see the next message)")
        written.append((result, "\n".join(texts)))
    return written, images


def results_in(message: Message) -> list[ToolResult]:
    """Return the results in a message of the role `tool`."""
    return [part for part in message.parts if isinstance(part, ToolResult)]


def thinking_of(message: Message, *, provider: str, model: str) -> list[Thinking]:
    """Return the thinking of a message that came from this provider and model."""
    thoughts = [part for part in message.parts if isinstance(part, Thinking)]
    return [part for part in thoughts if (part.provider, part.model) == (provider, model)]


def system_text(messages: Sequence[Message]) -> str:
    """Return the text of the system messages, for vendors with a member of its own for it."""
    return "\n\n".join(text for message in messages if message.role == "system" and (text := text_of(message.parts)))
