"""Read the messages of requests in one form for all dialects; an element that was read before is not parsed again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
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
from tui_host.llm.layout import outline_of
from tui_host.llm.outline import Part

_Role: TypeAlias = Literal["model", "host", "user"]
_Kind: TypeAlias = Literal["text", "call", "result"]
_ROLES: dict[str, _Role] = {"assistant": "model", "model": "model", "system": "host", "developer": "host"}
_KINDS: dict[str, _Kind] = {"message": "text", "text": "text", "call": "call", "result": "result"}
_LISTS = ("messages", "input", "contents")  # the members that hold a conversation in each dialect
_RESULT = ("Tool execution result:", "Error executing tool:", "Observation:")  # how results in system messages begin


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePart:
    """A text, call or result in a message."""

    kind: _Kind
    text: str  # of a call the arguments as JSON
    start: int  # the first byte in the body: of a text or a result with its quotes, or of the whole call
    end: int
    name: str = ""  # of the call or result, empty if unknown
    wire_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMessage:
    """A message of a request."""

    role: _Role  # `host` is the system prompt; the user also tells results
    parts: tuple[MessagePart, ...]  # without thinking and images
    mark: int  # that equal messages share

    @property
    def text(self) -> str:
        """All texts of the message, joined."""
        return "".join(part.text for part in self.of("text"))

    @property
    def said(self) -> str:
        """The person's words, without wrappings and results; empty in a message of the model's."""
        return said_in("\n".join(part.text for part in self.of("text"))) if self.role == "user" else ""

    def of(self, kind: str) -> tuple[MessagePart, ...]:
        """Return the parts of one kind."""
        return tuple(part for part in self.parts if part.kind == kind)

    def moved(self, by: int) -> RequestMessage:
        """Return the message with its parts so many bytes further behind."""
        parts = (replace(part, start=part.start + by, end=part.end + by) for part in self.parts)
        return replace(self, parts=tuple(parts))


def message_of(body: bytes, part: Part) -> RequestMessage:
    """Read a message of a body; system messages get the role `host`."""
    role: _Role = "model" if part.kind in {"call", "thinking"} else _ROLES.get(part.label, "user")
    parts = tuple(_parts(body, part))
    return RequestMessage(role=role, parts=parts, mark=hash((role, *map(_words_of, parts))))


def _words_of(part: MessagePart) -> tuple[str, ...]:
    """Return what equal parts have in common, however hosts write them."""
    if part.kind == "call":
        return part.kind, part.wire_id, part.name, canonical_text(part.text) or part.text
    return part.kind, part.wire_id, without_details(part.text)


def _parts(body: bytes, part: Part) -> Iterator[MessagePart]:
    if part.kind == "message" and part.children:
        for child in part.children:
            yield from _parts(body, child)
    elif (kind := _KINDS.get(part.kind)) is not None:
        text = _decoded(body[slice(*part.says)])
        start, end = part.says if kind != "call" and part.says[1] else (part.start, part.end)
        if kind != "text" or text.strip():
            yield MessagePart(kind=kind, text=text, start=start, end=end, name=part.name, wire_id=part.wire_id)


def _decoded(data: bytes) -> str:
    """Decode a JSON string, join the texts of blocks, or return other JSON as written."""
    try:
        value: JSON = read_json(data) if data else ""
    except ValueError:
        value = None
    if isinstance(value, list):
        texts = [text for block in value if isinstance(block, dict) and isinstance(text := block.get("text"), str)]
        value = "\n".join(texts) if texts and len(texts) == len(value) else value
    return value if isinstance(value, str) else data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The content of a request."""

    system: tuple[MessagePart, ...] = ()
    messages: tuple[RequestMessage, ...] = ()  # a lone text in place of messages counts as one
    offered: tuple[str, ...] = ()  # the names of the tools offered by the vendor's API

    @property
    def prompt(self) -> str:
        return "\n\n".join(part.text for part in self.system)


class RequestReader:
    """Reads requests: a conversation's next request repeats nearly all elements of the one before."""

    def __init__(self) -> None:
        # The content of members and elements: where they began, their messages, and the names of the tools that they offer.
        self._contents: dict[tuple[str, bytes], tuple[int, Sequence[RequestMessage], Sequence[str]]] = {}

    def read(self, body: bytes) -> Request:
        """Return the content of a body; empty if the body is no JSON object."""
        root = spans(body, walk=_LISTS, depth=2)
        system: list[MessagePart] = []
        conversation: list[RequestMessage] = []
        offered: list[str] = []
        for name, node in () if root is None else root.members:
            is_list = name in _LISTS and node.kind == "array"
            for piece in node.elements if is_list else (node,):
                messages, names = self._content(name, body[piece.start : piece.end], piece.start, is_list=is_list)
                offered += names
                for message in messages:
                    # Some hosts tell results as system messages.
                    if message.role == "host" and not (conversation and message.text.lstrip().startswith(_RESULT)):
                        system += message.parts
                    elif message.parts:
                        conversation.append(replace(message, role="user") if message.role == "host" else message)
        joined: list[RequestMessage] = []
        # Vendors split answers and results into messages differently.
        for _, same in groupby(conversation, key=lambda message: message.role):
            first, *others = same
            if others:
                parts = tuple(part for message in (first, *others) for part in message.parts)
                first = replace(first, parts=parts, mark=hash((first.mark, *(message.mark for message in others))))
            joined.append(first)
        return Request(system=tuple(system), messages=tuple(joined), offered=tuple(offered))

    def _content(
        self, name: str, data: bytes, start: int, *, is_list: bool
    ) -> tuple[Sequence[RequestMessage], Sequence[str]]:
        """Return what stands in a member of a body, or in an element of that member."""
        before, messages, names = self._contents.get((name, data)) or _content_of(name, data, is_list=is_list)
        if before != start:
            messages = [message.moved(start - before) for message in messages]
            self._contents[name, data] = start, messages, names
        return messages, names


def _content_of(name: str, data: bytes, *, is_list: bool) -> tuple[int, Sequence[RequestMessage], Sequence[str]]:
    before, behind = f"{{{json.dumps(name)}:{'[' * is_list}".encode(), f"{']' * is_list}}}".encode()
    outline = outline_of(before + data + behind, {})
    parts = () if outline is None else outline.parts
    messages: list[RequestMessage] = []
    for part in parts:
        inside = {"messages": part.children, "message": (part,)}.get(part.kind, ())
        messages += (message_of(before + data + behind, message) for message in inside)
    return len(before), messages, [tool.name for part in parts for tool in part.walk() if tool.kind == "tool"]


def results_of(body: bytes, protocol: str, message: RequestMessage) -> Sequence[MessagePart]:
    """Return the results in a message of a request under a protocol: those of the vendor's API, else those in words."""
    results, parts = message.of("result"), _worded(body, protocol, message)
    if results and parts != results:
        return results
    prompted: list[MessagePart] = []
    for result in results_in(protocol, "\n".join(part.text for part in parts)):
        start, end = _place(body, parts, result.start), _place(body, parts, result.end)
        prompted.append(MessagePart(kind="result", text=result.text, name=result.name, start=start, end=end))
    return prompted or results


def _worded(body: bytes, protocol: str, message: RequestMessage) -> tuple[MessagePart, ...]:
    """Return the parts whose words a protocol may use: hosts of open models tell tagged results in the vendor's messages."""
    results = message.of("result") if protocol == HERMES else ()
    are_texts = all(body.startswith(b'"', part.start) for part in results)
    return results if results and are_texts else message.of("text")


def additions_of(
    protocol: str, body: bytes, request: Request, searched: dict[tuple[str, bytes], Sequence[Addition]]
) -> Iterator[Addition]:
    """Yield first byte, end and purpose of each addition to a request, without overlaps. What was `searched` is not again."""
    worded = [(instructions_in, (part,)) for part in request.system]
    asked = (message for message in request.messages if message.role == "user")
    worded += [(additions_in, _worded(body, protocol, message)) for message in asked]
    for look, parts in worded if protocol != NATIVE else ():
        if not parts:
            continue
        first, key = parts[0].start, (protocol, body[parts[0].start : parts[-1].end])
        if key not in searched:
            searched[key] = [
                (_place(body, parts, start) - first, _place(body, parts, end) - first, purpose)
                for start, end, purpose in look(protocol, "\n".join(part.text for part in parts))
            ]
        for start, end, purpose in searched[key]:
            yield start + first, end + first, purpose


_RUNS = re.compile(
    rb"([^\\\x80-\xff]+)|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[\xc0-\xff][\x80-\xbf]+"
)
"""A run of single-byte characters, or one character of several bytes."""


def _place(body: bytes, parts: Sequence[MessagePart], character: int) -> int:
    """Return the byte at which a character of joined parts stands, which are JSON strings; beyond them the last quote."""
    part = parts[0]
    for following in parts[1:]:
        if character <= len(part.text):
            break
        character -= len(part.text) + 1
        part = following
    for run in _RUNS.finditer(body, part.start + 1, part.end - 1):
        size = len(run[0]) if run[1] is not None else 1
        if character < size:
            return run.start() + character
        character -= size
    return part.end - 1
