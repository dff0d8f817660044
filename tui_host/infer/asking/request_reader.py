"""Read requests to a model one after the other, parsing repeated messages only once."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from tui_host.capture.json.spans import spans
from tui_host.infer.asking.request_messages import Heard, Piece, as_one, message_of
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.outline import Outline, common_prefix

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
        system: The pieces of the system prompt.
        messages: The messages in order; a lone text in place of messages counts as one message.
        offered: The names of the tools offered by the vendor's API.
        around: The body without the elements of the message list.
    """

    system: tuple[Piece, ...] = ()
    messages: tuple[Heard, ...] = ()
    offered: tuple[str, ...] = ()
    around: bytes = b""


@dataclass(frozen=True, slots=True)
class _Content:
    """The content of some bytes, with the place of their latest occurrence."""

    start: int
    messages: tuple[Heard, ...]
    offered: tuple[str, ...]

    def moved(self, start: int) -> _Content:
        by = start - self.start
        return (
            self if not by else _Content(start, tuple(_moved(message, by) for message in self.messages), self.offered)
        )


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


class Hearing:
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

    def _request(self, pieces: Sequence[_Content], around: bytes) -> Request:
        messages = list(_with_results([message for content in pieces for message in content.messages]))
        system = [piece for message in messages if message.role == "host" for piece in message.pieces]
        talk = [message for message in messages if message.role != "host" and message.pieces]
        offered = tuple(name for content in pieces for name in content.offered)
        return Request(system=tuple(system), messages=tuple(self._joined(talk)), offered=offered, around=around)

    def _read(self, dialect: Dialect, name: str, data: bytes, start: int) -> _Content:
        """Return the content of a body, or of an element of the named list at `start`."""
        key = (dialect.name, name, data)
        content = self._contents.get(key)
        if content is None:
            before = f'{{"{name}":['.encode() if name else b""
            outline = dialect.outline(before + data + b"]}" if name else data)
            content = (
                _Content(len(before), *_messages_and_tools(outline)) if outline is not None else _Content(0, (), ())
            )
            self._size += len(data)
            if self._size > MOST_KNOWN:
                self._contents.clear()
                self._size = len(data)
        self._contents[key] = content = content.moved(start)
        return content

    def _joined(self, messages: Sequence[Heard]) -> Iterator[Heard]:
        """Merge consecutive messages of one role, because vendors split answers and results differently."""
        waiting: list[Heard] = []
        for message in messages:
            if waiting and waiting[-1].role != message.role:
                yield self._whole(waiting)
                waiting = []
            waiting.append(message)
        if waiting:
            yield self._whole(waiting)

    def _whole(self, messages: Sequence[Heard]) -> Heard:
        if len(messages) == 1:
            return messages[0]
        key = tuple(message.mark for message in messages)
        if key not in self._marks:
            self._marks[key] = as_one(messages).mark
        pieces = tuple(piece for message in messages for piece in message.pieces)
        return Heard(role=messages[0].role, pieces=pieces, mark=self._marks[key])


def _messages_and_tools(outline: Outline) -> tuple[tuple[Heard, ...], tuple[str, ...]]:
    """Return the messages and tool names of an outline."""
    parts = (
        message
        for part in outline.parts
        for message in (part.children if part.kind == "messages" else (part,) if part.kind == "message" else ())
    )
    offered = tuple(part.name for part in outline.walk() if part.kind == "tool")
    return tuple(message_of(outline, part) for part in parts), offered


def _with_results(messages: Sequence[Heard]) -> Iterator[Heard]:
    """Yield the messages, with results that hosts send as system messages changed to the user's role."""
    is_answered = False
    for message in messages:
        is_answered |= message.role == "model"
        is_result = message.role == "host" and is_answered and message.text.lstrip().startswith(_RESULT)
        yield replace(message, role="user") if is_result else message


def _start_of(message: Heard) -> int:
    return message.pieces[0].start if message.pieces else 0


def _moved(message: Heard, by: int) -> Heard:
    pieces = tuple(
        replace(piece, start=piece.start + by, end=piece.end + by, says=(piece.says[0] + by, piece.says[1] + by))
        for piece in message.pieces
    )
    return Heard(role=message.role, pieces=pieces, mark=message.mark)
