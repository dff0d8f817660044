"""Reads headers and bodies of the messages in an HTTP archive. Source: HAR 1.2; mitmproxy's `savehar`.

An archive stores a body as text, or as base64. For a body without a charset, mitmproxy decodes as Latin-1 and browsers
as windows-1252, also event streams, which are UTF-8 by definition. Each character of such a text is a byte.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tui_host.capture.json.narrowing import items, mapping, short
from tui_host.errors import JSON
from tui_host.opening.import_types import LATEST_NS

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_BEYOND = 1 << 64
_BREAK = re.compile(r"\r\n|\r|\n")
"""A line end in an event stream."""
_EVENTS = "text/event-stream"
_ALWAYS_UTF8 = frozenset({_EVENTS, "application/json", "application/x-ndjson"})
_HIGH = {byte: bytes([byte]).decode("cp1252", "ignore") for byte in range(0x80, 0xA0)}
_WINDOWS = {ord(high): byte for byte, high in _HIGH.items() if high} | {byte: "\u0100" for byte in _HIGH if _HIGH[byte]}
"""What windows-1252 has where Latin-1 has control characters, as the byte that it is; these five it shares. Source: WHATWG Encoding."""


def body_sent(request: Mapping[str, JSON]) -> bytes:
    """Return the bytes of a request's body."""
    post = mapping(request.get("postData"))
    return _bytes(
        post, content_type(request) or text_of(post.get("mimeType")).lower(), (number_of(request.get("bodySize")),)
    )


def body_came(response: Mapping[str, JSON], *, counts_text: bool = False) -> bytes:
    """Return the decoded body of a response. With `counts_text`, sizes count the archive's text, not the received bytes."""
    content = mapping(response.get("content"))
    size = number_of(content.get("size"))
    whole = size + number_of(content.get("compression"))  # some programs state the compressed size here
    media = content_type(response) or text_of(content.get("mimeType")).lower()
    return _bytes(content, media, () if counts_text and media.strip() == _EVENTS else (size, whole))


def is_put_back(response: Mapping[str, JSON], came: bytes) -> bool:
    """Whether a body's bytes were restored from text in the archive."""
    content = mapping(response.get("content"))
    is_text = text_of(content.get("encoding")).lower() != "base64"
    return bool(came) and is_text and text_of(content.get("text")).encode("utf-8", "surrogatepass") != came


def is_text_counted(response: Mapping[str, JSON], came: bytes) -> bool:
    """Whether the stated size counts the archive's text and not the restored bytes."""
    content = mapping(response.get("content"))
    text = text_of(content.get("text")).encode("utf-8", "surrogatepass")
    return is_put_back(response, came) and number_of(content.get("size")) == len(text)


class Event(NamedTuple):
    """An event of a stream, as a browser stores it."""

    data: bytes
    ns: int


def events_came(entry: Mapping[str, JSON]) -> Sequence[Event]:
    """Return the events of a stream without a text, which browsers list apart. Source: Chrome's `_eventSourceMessages`."""
    if mapping(mapping(entry.get("response")).get("content")).get("text"):
        return ()
    return [_event(message) for message in map(mapping, items(entry.get("_eventSourceMessages"))) if "data" in message]


def _event(told: Mapping[str, JSON]) -> Event:
    name, identity = (_BREAK.sub(" ", text_of(told.get(key))) for key in ("eventName", "eventId"))
    lines = [f"event: {name}"] if name not in {"", "message"} else []
    lines += [f"id: {identity}"] if identity else []
    lines += [f"data: {line}" for line in _BREAK.split(text_of(told["data"]))]
    seconds = number_of(told.get("time"))
    ns = int(seconds * 1e9) if 0 < seconds < LATEST_NS / 1e9 else 0
    return Event("\n".join([*lines, "", ""]).encode("utf-8", "surrogatepass"), ns)


def headers(message: Mapping[str, JSON]) -> tuple[tuple[str, str], ...]:
    """Return the headers that have a name."""
    entries = map(mapping, items(message.get("headers")))
    return tuple(
        (text_of(header.get("name")), text_of(header.get("value"))) for header in entries if text_of(header.get("name"))
    )


def content_type(message: Mapping[str, JSON]) -> str:
    """Return the content type in the header, in lower case."""
    for header in map(mapping, items(message.get("headers"))):
        if text_of(header.get("name")).lower() == "content-type":
            return text_of(header.get("value")).strip().lower()
    return ""


def is_left_out(message: Mapping[str, JSON], part: str, size: JSON) -> bool:
    """Whether a message's body is missing in the archive: programs may leave bodies out."""
    return "text" not in mapping(message.get(part)) and size != 0


def text_of(value: JSON) -> str:
    """Return a text of any length: addresses and headers are shown whole."""
    if isinstance(value, str):
        return value
    return "" if value is None else short(value)


def number_of(value: JSON) -> float:
    """Return a number, or a number written as text; 0 for anything else or an absurd value."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    return value if isinstance(value, int | float) and abs(value) < _BEYOND else 0


def _bytes(held: Mapping[str, JSON], media: str, sizes: tuple[float, ...]) -> bytes:
    """Return the bytes of a body."""
    text = held.get("text")
    if not isinstance(text, str):
        return b""
    if text_of(held.get("encoding")).lower() == "base64":
        try:
            return base64.b64decode("".join(text.split()), validate=True)  # some programs break base64 into lines
        except (binascii.Error, ValueError):
            pass  # called base64 but plain text
    data = text.encode("utf-8", "surrogatepass")
    if len(data) == len(text) or len(data) in sizes:
        return data
    return _read_as_bytes(text, media) or data


def _read_as_bytes(text: str, media: str) -> bytes:
    """Encode a text whose characters are bytes of UTF-8, perhaps cut at the end; empty for any other text."""
    if "charset" in media and media.partition(";")[0].strip() not in _ALWAYS_UTF8:
        return b""
    try:
        data = _single_bytes(text)
        shown = codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeError:
        return b""
    return b"" if shown.isascii() else data


def _single_bytes(text: str) -> bytes:
    """Encode a text that was decoded byte by byte.

    Raises:
        UnicodeError: The text was not decoded byte by byte.
    """
    try:
        return text.encode("latin-1")
    except UnicodeError:
        return text.translate(_WINDOWS).encode("latin-1")
