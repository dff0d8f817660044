"""Read the messages of requests in one form for all dialects, parsing repeated messages only once."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import spans
from tui_host.errors import JSON
from tui_host.infer.call_values import canonical_text
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.outline import Outline, Part, common_prefix

_MODEL = ("assistant", "model")
_HOST = ("system", "developer")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePart:
    """A text, call or result in a message.

    Attributes:
        kind: `text`, `call` or `result`.
        text: The text; of a call the arguments as JSON.
        start: The first byte in the body: of a text's content, or of the whole part.
        end: One past the last byte.
        name: The name of the call or result, empty if unknown.
        wire_id: The id of the call or result, empty if there is none.
        says: Where the content of a result stands in the body.
    """

    kind: str
    text: str
    start: int
    end: int
    name: str = ""
    wire_id: str = ""
    says: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMessage:
    """A message of a request.

    Attributes:
        role: `model`, `host` (the system prompt), or `user`, who also tells results.
        parts: The message's parts without thinking and images.
        mark: A mark that equal messages share.
    """

    role: str
    parts: tuple[MessagePart, ...]
    mark: bytes

    @property
    def text(self) -> str:
        """All texts of the message, joined."""
        return "".join(part.text for part in self.parts if part.kind == "text")

    def of(self, kind: str) -> tuple[MessagePart, ...]:
        """Return the parts of one kind."""
        return tuple(part for part in self.parts if part.kind == kind)


def as_one(messages: Sequence[RequestMessage]) -> RequestMessage:
    """Merge consecutive messages of one role."""
    return _message(messages[0].role, tuple(part for message in messages for part in message.parts))


def message_of(outline: Outline, part: Part) -> RequestMessage:
    """Read a message of a body; system messages get the role `host`."""
    label = part.label
    role = "model" if label in _MODEL or part.kind in {"call", "thinking"} else "host" if label in _HOST else "user"
    return _message(role, tuple(_pieces(outline, part)))


def _message(role: str, parts: tuple[MessagePart, ...]) -> RequestMessage:
    mark = hashlib.blake2b(role.encode(), digest_size=16)
    for part in parts:
        text = canonical_text(part.text) or part.text if part.kind == "call" else part.text.strip()
        for words in (part.kind, part.name if part.kind == "call" else "", part.wire_id, text):
            mark.update(words.encode("utf-8", "surrogatepass") + b"\0")
    return RequestMessage(role=role, parts=parts, mark=mark.digest())


def _pieces(outline: Outline, part: Part) -> Iterator[MessagePart]:
    if part.kind in {"call", "result"}:
        text = _decoded(outline.body[part.says[0] : part.says[1]])
        names = {"name": part.name, "wire_id": part.wire_id}
        yield MessagePart(kind=part.kind, text=text, start=part.start, end=part.end, says=part.says, **names)
    elif part.kind in {"message", "text"} and not part.children:
        start, end = part.says
        text = _decoded(outline.body[start:end])
        if text.strip():
            yield MessagePart(kind="text", text=text, start=start, end=end)
    elif part.kind == "message":
        for child in part.children:
            yield from _pieces(outline, child)
    elif part.kind == "text":  # with a signature
        text = _decoded(outline.body[part.says[0] : part.says[1]])
        if text.strip():
            yield MessagePart(kind="text", text=text, start=part.says[0], end=part.says[1])


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


_LISTS = ("messages", "input", "contents")
"""The members that hold a conversation in each dialect."""
_RESULT = ("Tool execution result:", "Error executing tool:", "Observation:")
"""How results in system messages begin."""
_LEVELS = 2
"""The depth of the body's members and the lists' elements."""
_CONVERSATIONS = 4
"""How many concurrent conversations are kept for comparing."""
MOST_KNOWN = 64 << 20
"""The most bytes of messages that are cached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The content of a request.

    Attributes:
        system: The parts of the system prompt.
        messages: The messages in order; a lone text in place of messages counts as one message.
        offered: The names of the tools offered by the vendor's API.
        around: The body without the elements of the message list.
    """

    system: tuple[MessagePart, ...] = ()
    messages: tuple[RequestMessage, ...] = ()
    offered: tuple[str, ...] = ()
    around: bytes = b""


@dataclass(frozen=True, slots=True)
class _Content:
    """The content of some bytes, with the place of their latest occurrence."""

    start: int
    messages: tuple[RequestMessage, ...]
    offered: tuple[str, ...]

    def moved(self, start: int) -> _Content:
        by = start - self.start
        return _Content(start, tuple(_moved(message, by) for message in self.messages), self.offered) if by else self


@dataclass(frozen=True, slots=True, kw_only=True)
class _ParsedBody:
    """A parsed body: its message list, the range of each element, and the content of each element."""

    body: bytes = b""
    name: str = ""
    start: int = 0
    places: tuple[tuple[int, int], ...] = ()
    contents: tuple[_Content, ...] = ()

    def shared_elements(self, body: bytes) -> int:
        """Return how many leading elements another body shares."""
        shared = common_prefix(self.body, body)
        return max(bisect_left(self.places, shared, key=itemgetter(1)) - 1, 0)


class RequestReader:
    """Reads requests; of a conversation's next request only new messages are parsed."""

    def __init__(self) -> None:
        self._contents: dict[tuple[str, str, bytes], _Content] = {}
        self._size = 0
        self._marks: dict[tuple[bytes, ...], bytes] = {}
        self._last: dict[str, deque[_ParsedBody]] = {}

    def read(self, dialect: Dialect, body: bytes) -> Request:
        """Return the content of a body; empty if the body is no JSON object."""
        last = self._last.setdefault(dialect.name, deque(maxlen=_CONVERSATIONS))
        best = max(last, key=lambda read: read.shared_elements(body), default=_ParsedBody())
        count = best.shared_elements(body)
        start, by = best.start, 0
        short = body
        if count:  # the shared beginning is not parsed again
            by = best.places[count][0] - best.places[0][0]
            short = body[: best.places[0][0]] + body[best.places[count][0] :]
        root = spans(short, walk=_LISTS, depth=_LEVELS)
        if root is None:
            return Request()
        lists = [(name, node) for name, node in root.members if name in _LISTS and node.elements]
        if len(lists) != 1:  # bodies with two lists, or with a lone text, are parsed whole
            return self._request([self._read(dialect, "", body, 0)], body)
        name, node = lists[0]
        start, end = node.start, node.end + by
        around = body[:start] + b"[]" + body[end:]
        places = (*best.places[:count], *((element.start + by, element.end + by) for element in node.elements))
        contents = (*best.contents[:count], *(self._read(dialect, name, body[at:to], at) for at, to in places[count:]))
        if best in last and count:
            last.remove(best)
        last.append(_ParsedBody(body=body, name=name, start=start, places=places, contents=contents))
        there = self._read(dialect, "", around, 0)
        before = tuple(message for message in there.messages if _start_of(message) < start)
        behind = tuple(message for message in there.messages if _start_of(message) >= start)
        last_ones = _Content(start + len(b"[]"), behind, ()).moved(end)
        return self._request([_Content(0, before, there.offered), *contents, last_ones], around)

    def _request(self, parts: Sequence[_Content], around: bytes) -> Request:
        messages = list(_with_results([message for content in parts for message in content.messages]))
        system = [part for message in messages if message.role == "host" for part in message.parts]
        conversation = [message for message in messages if message.role != "host" and message.parts]
        offered = tuple(name for content in parts for name in content.offered)
        return Request(system=tuple(system), messages=tuple(self._joined(conversation)), offered=offered, around=around)

    def _read(self, dialect: Dialect, name: str, data: bytes, start: int) -> _Content:
        """Return the content of a body, or of an element of the named list at `start`."""
        key = (dialect.name, name, data)
        content = self._contents.get(key)
        if content is None:
            before = f'{{"{name}":['.encode() if name else b""
            outline = dialect.outline(before + data + b"]}" if name else data)
            content = _Content(0, (), ()) if outline is None else _Content(len(before), *_messages_and_tools(outline))
            self._size += len(data)
            if self._size > MOST_KNOWN:
                self._contents.clear()
                self._size = len(data)
        self._contents[key] = content = content.moved(start)
        return content

    def _joined(self, messages: Sequence[RequestMessage]) -> Iterator[RequestMessage]:
        """Merge consecutive messages of one role, because vendors split answers and results differently."""
        waiting: list[RequestMessage] = []
        for message in messages:
            if waiting and waiting[-1].role != message.role:
                yield self._whole(waiting)
                waiting = []
            waiting.append(message)
        if waiting:
            yield self._whole(waiting)

    def _whole(self, messages: Sequence[RequestMessage]) -> RequestMessage:
        if len(messages) == 1:
            return messages[0]
        key = tuple(message.mark for message in messages)
        if key not in self._marks:
            self._marks[key] = as_one(messages).mark
        parts = tuple(part for message in messages for part in message.parts)
        return RequestMessage(role=messages[0].role, parts=parts, mark=self._marks[key])


def _messages_and_tools(outline: Outline) -> tuple[tuple[RequestMessage, ...], tuple[str, ...]]:
    """Return the messages and tool names of an outline."""
    parts = (
        message
        for part in outline.parts
        for message in (part.children if part.kind == "messages" else (part,) if part.kind == "message" else ())
    )
    offered = tuple(part.name for part in outline.walk() if part.kind == "tool")
    return tuple(message_of(outline, part) for part in parts), offered


def _with_results(messages: Sequence[RequestMessage]) -> Iterator[RequestMessage]:
    """Yield the messages, with results that hosts send as system messages changed to the user's role."""
    is_answered = False
    for message in messages:
        is_answered |= message.role == "model"
        is_result = message.role == "host" and is_answered and message.text.lstrip().startswith(_RESULT)
        yield replace(message, role="user") if is_result else message


def _start_of(message: RequestMessage) -> int:
    return message.parts[0].start if message.parts else 0


def _moved(message: RequestMessage, by: int) -> RequestMessage:
    parts = tuple(
        MessagePart(
            kind=part.kind,
            text=part.text,
            start=part.start + by,
            end=part.end + by,
            name=part.name,
            wire_id=part.wire_id,
            says=(part.says[0] + by, part.says[1] + by),
        )
        for part in message.parts
    )
    return RequestMessage(role=message.role, parts=parts, mark=message.mark)
