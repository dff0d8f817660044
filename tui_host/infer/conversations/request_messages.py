"""Read the messages of requests in one form for all dialects; an element that was read before is not parsed again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, TypeAlias

from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import spans
from tui_host.errors import JSON
from tui_host.infer.call_values import canonical_text
from tui_host.infer.conversations.prompted import (
    HERMES,
    NATIVE,
    Addition,
    additions_in,
    instructions_in,
    results_in,
    said_in,
    without_details,
)
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.outline import Outline, Part

Role: TypeAlias = Literal["model", "host", "user"]
_MODEL = ("assistant", "model")
_HOST = ("system", "developer")
_LISTS = ("messages", "input", "contents")
"""The members that hold a conversation in each dialect."""
_RESULT = ("Tool execution result:", "Error executing tool:", "Observation:")
"""How results in system messages begin."""
MOST_KNOWN = 64 << 20
"""The most bytes of elements whose content is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePart:
    """A text, call or result in a message."""

    kind: Literal["text", "call", "result"]
    text: str  # of a call the arguments as JSON
    start: int  # the first byte in the body: of a text or a result with its quotes, or of the whole call
    end: int
    name: str = ""  # of the call or result, empty if unknown
    wire_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMessage:
    """A message of a request."""

    role: Role  # `host` is the system prompt; the user also tells results
    parts: tuple[MessagePart, ...]  # without thinking and images
    mark: int  # that equal messages share

    @property
    def text(self) -> str:
        """All texts of the message, joined."""
        return "".join(part.text for part in self.parts if part.kind == "text")

    @property
    def said(self) -> str:
        """The person's words, without wrappings and results; empty in a message of the model's."""
        if self.role != "user":
            return ""
        return said_in("\n".join(part.text for part in self.of("text")))

    def of(self, kind: str) -> tuple[MessagePart, ...]:
        """Return the parts of one kind."""
        return tuple(part for part in self.parts if part.kind == kind)


def message_of(outline: Outline, part: Part) -> RequestMessage:
    """Read a message of a body; system messages get the role `host`."""
    role: Role = "user"
    if part.label in _MODEL or part.kind in {"call", "thinking"}:
        role = "model"
    elif part.label in _HOST:
        role = "host"
    parts = tuple(_parts(outline, part))
    return RequestMessage(role=role, parts=parts, mark=hash((role, *map(_words_of, parts))))


def _words_of(part: MessagePart) -> tuple[str, ...]:
    """Return what equal parts have in common, however hosts write them."""
    if part.kind == "call":
        return part.kind, part.wire_id, part.name, canonical_text(part.text) or part.text
    return part.kind, part.wire_id, without_details(part.text)


def _parts(outline: Outline, part: Part) -> Iterator[MessagePart]:
    start, end = part.says
    text = _decoded(outline.body[start:end])
    names = {"name": part.name, "wire_id": part.wire_id}
    if part.kind == "call":
        yield MessagePart(kind="call", text=text, start=part.start, end=part.end, **names)
    elif part.kind == "result":
        start, end = part.says if start < end else (part.start, part.end)
        yield MessagePart(kind="result", text=text, start=start, end=end, **names)
    elif part.kind == "message" and part.children:
        for child in part.children:
            yield from _parts(outline, child)
    elif part.kind in {"message", "text"} and text.strip():
        yield MessagePart(kind="text", text=text, start=start, end=end)


def _decoded(data: bytes) -> str:
    """Decode a JSON string, join the texts of blocks, or return other JSON as written."""
    try:
        value: JSON = read_json(data) if data else ""
    except ValueError:
        return data.decode("utf-8", "replace")
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = [text for block in value if isinstance(block, dict) and isinstance(text := block.get("text"), str)]
        if texts and len(texts) == len(value):
            return "\n".join(texts)
    return data.decode("utf-8", "replace")


# Requests.


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The content of a request."""

    system: tuple[MessagePart, ...] = ()
    messages: tuple[RequestMessage, ...] = ()  # a lone text in place of messages counts as one
    offered: tuple[str, ...] = ()  # the names of the tools offered by the vendor's API

    @property
    def prompt(self) -> str:
        """The system prompt."""
        return "\n\n".join(part.text for part in self.system)


@dataclass(frozen=True, slots=True)
class _Content:
    """The messages and offered tools in some bytes that begin at `start`."""

    start: int
    messages: tuple[RequestMessage, ...] = ()
    offered: tuple[str, ...] = ()

    def at(self, start: int) -> _Content:
        by = start - self.start
        if not by:
            return self
        messages: list[RequestMessage] = []
        for message in self.messages:
            parts = (replace(part, start=part.start + by, end=part.end + by) for part in message.parts)
            messages.append(replace(message, parts=tuple(parts)))
        return _Content(start, tuple(messages), self.offered)


class RequestReader:
    """Reads requests: a conversation's next request repeats nearly all elements of the one before."""

    def __init__(self) -> None:
        self._contents: dict[tuple[str, str, bytes], _Content] = {}
        self._size = 0

    def read(self, dialect: Dialect, body: bytes) -> Request:
        """Return the content of a body; empty if the body is no JSON object."""
        root = spans(body, walk=_LISTS, depth=2)
        if root is None:
            return Request()
        lists = [(name, node) for name, node in root.members if name in _LISTS and node.elements]
        if len(lists) != 1:  # bodies with two lists, or with a lone text, are parsed whole
            return _request([self._content(dialect, "", body, 0)])
        name, node = lists[0]
        around = body[: node.start] + b"[]" + body[node.end :]
        rest = self._content(dialect, "", around, 0)
        before = tuple(message for message in rest.messages if _start_of(message) < node.start)
        behind = tuple(message for message in rest.messages if _start_of(message) >= node.start)
        elements = [self._content(dialect, name, body[at.start : at.end], at.start) for at in node.elements]
        moved = _Content(0, behind).at(len(body) - len(around))
        return _request([_Content(0, before, rest.offered), *elements, moved])

    def _content(self, dialect: Dialect, name: str, data: bytes, start: int) -> _Content:
        """Return the content of a body, or of an element of the named list at `start`."""
        key = (dialect.name, name, data)
        content = self._contents.get(key)
        if content is None:
            before = f'{{"{name}":['.encode() if name else b""
            outline = dialect.outline(before + data + b"]}" if name else data)
            content = _Content(0) if outline is None else _content_of(outline, len(before))
            self._size += len(data)
            if self._size > MOST_KNOWN:
                self._contents.clear()
                self._size = len(data)
        self._contents[key] = content = content.at(start)
        return content


def _content_of(outline: Outline, start: int) -> _Content:
    parts: list[Part] = []
    for part in outline.parts:
        if part.kind == "messages":
            parts += part.children
        elif part.kind == "message":
            parts.append(part)
    offered = tuple(part.name for part in outline.walk() if part.kind == "tool")
    return _Content(start, tuple(message_of(outline, part) for part in parts), offered)


def _request(contents: Sequence[_Content]) -> Request:
    messages = list(_with_results(message for content in contents for message in content.messages))
    system = (part for message in messages if message.role == "host" for part in message.parts)
    conversation = [message for message in messages if message.role != "host" and message.parts]
    # Vendors split answers and results into messages differently.
    joined = (_joined(list(same)) for _, same in groupby(conversation, key=lambda message: message.role))
    offered = (name for content in contents for name in content.offered)
    return Request(system=tuple(system), messages=tuple(joined), offered=tuple(offered))


def _joined(messages: Sequence[RequestMessage]) -> RequestMessage:
    if len(messages) == 1:
        return messages[0]
    parts = tuple(part for message in messages for part in message.parts)
    return RequestMessage(role=messages[0].role, parts=parts, mark=hash(tuple(message.mark for message in messages)))


def _with_results(messages: Iterator[RequestMessage]) -> Iterator[RequestMessage]:
    """Yield the messages, with results that hosts send as system messages changed to the user's role."""
    is_answered = False
    for message in messages:
        is_answered |= message.role == "model"
        is_result = message.role == "host" and is_answered and message.text.lstrip().startswith(_RESULT)
        yield replace(message, role="user") if is_result else message


def _start_of(message: RequestMessage) -> int:
    return message.parts[0].start if message.parts else 0


# What a protocol of plain text puts into messages, by its place in the body.


def results_of(body: bytes, protocol: str, message: RequestMessage) -> Sequence[MessagePart]:
    """Return the results in a message of a request under a protocol: those of the vendor's API, else those in words."""
    results = message.of("result")
    parts = _in_words(protocol, body, message)
    if not parts or (results and parts[0].kind != "result"):
        return results
    words = _Words(body, parts)
    prompted = results_in(protocol, words.text)
    if not prompted:
        return results
    return [
        MessagePart(
            kind="result",
            text=result.text,
            name=result.name,
            start=words.place(result.start),
            end=words.place(result.end),
        )
        for result in prompted
    ]


def _in_words(protocol: str, body: bytes, message: RequestMessage) -> tuple[MessagePart, ...]:
    """Return the parts whose words a protocol may use: hosts of open models tell tagged results in the vendor's messages."""
    results = message.of("result") if protocol == HERMES else ()
    are_texts = all(body[part.start : part.start + 1] == b'"' for part in results)
    return results if results and are_texts else message.of("text")


class AdditionFinder:
    """Finds the additions of tool protocols in requests; bytes that were searched are not searched again."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, bytes], Sequence[Addition]] = {}

    def found_in(self, protocol: str, body: bytes, request: Request) -> Iterator[Addition]:
        """Yield first byte, end and purpose of each addition to a request, without overlaps."""
        if protocol == NATIVE:
            return
        for part in request.system:
            yield from self._once(protocol, body, (part,), instructions_in)
        for message in request.messages:
            parts = _in_words(protocol, body, message)
            if message.role == "user" and parts:
                yield from self._once(protocol, body, parts, additions_in)

    def _once(
        self,
        protocol: str,
        body: bytes,
        parts: Sequence[MessagePart],
        look: Callable[[str, str], Sequence[Addition]],
    ) -> Iterator[Addition]:
        first = parts[0].start
        key = protocol, body[first : parts[-1].end]
        if key not in self._found:
            words = _Words(body, parts)
            self._found[key] = [
                (words.place(start) - first, words.place(end) - first, purpose)
                for start, end, purpose in look(protocol, words.text)
            ]
        for start, end, purpose in self._found[key]:
            yield start + first, end + first, purpose


_RUNS = re.compile(
    rb"([^\\\x80-\xff]+)|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[\xc0-\xff][\x80-\xbf]+"
)
"""A run of single-byte characters, or one character of several bytes."""


class _Words:
    """The joined text of parts that are JSON strings in a body."""

    def __init__(self, body: bytes, parts: Sequence[MessagePart]) -> None:
        self._body = body
        self._parts = parts
        self.text = "\n".join(part.text for part in parts)

    def place(self, character: int) -> int:
        """Return the byte in the body at which a character of the text stands."""
        *earlier, last = self._parts
        for part in earlier:
            if character <= len(part.text):
                last = part
                break
            character -= len(part.text) + 1
        return last.start + _offset_of(self._body[last.start : last.end], character)


def _offset_of(quoted: bytes, character: int) -> int:
    """Return the byte offset of a character in a JSON string; that of the closing quote for characters beyond."""
    count = 0
    for run in _RUNS.finditer(quoted, 1, max(len(quoted) - 1, 1)):
        size = run.end() - run.start() if run[1] is not None else 1
        if count + size > character:
            return run.start() + character - count
        count += size
    return max(len(quoted) - 1, 1)
