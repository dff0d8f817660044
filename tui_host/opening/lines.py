"""Reads lines of JSON-RPC, requests to a model, answers and `data:` events, with an optional time and direction before each.

A line may also be an object that holds such values under any names, as logging proxies write them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from json import JSONDecodeError, JSONDecoder
from typing import NamedTuple

from tui_host.capture.json.file_values import VALUE_LIMIT, BrokenError, read_value, value_at
from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.capture.json.reading import integer
from tui_host.capture.record import Direction
from tui_host.errors import JSON
from tui_host.llm.body_kinds import AnswerPart
from tui_host.llm.dialects.table import dialect_at
from tui_host.opening.bodies import Body, body_of, is_bare_error, to_json
from tui_host.opening.file_wires import FileWires
from tui_host.opening.files import LATEST_NS, CapturedFile
from tui_host.opening.line_exchanges import LineExchanges

OTHERS = "lines that are of neither wire"

_DECODER = JSONDecoder(strict=False, parse_int=integer)
_PREFIX = 300  # characters before a line's JSON: a later brace belongs to prose
_MISSES = 3  # braces that begin no JSON: loggers write a line's subject in braces
_DEPTH = 3  # of the objects around a message: a line, its exchange, the request in it
_SHORT, _AROUND = 100, 1000  # characters of a member that may be a time, a direction or an address, and of all
_TIME = re.compile(
    r"(?<!\d)(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?( ?(?:Z|UTC|[+-]\d\d:?\d\d)\b)?"
    r"|(?<![\d.])(1[5-9]\d{8})(?:\.(\d{1,9})|(\d{3}))?(?!\d)"
)
"""ISO 8601 with or without a zone, or seconds or milliseconds since 1970."""
_ADDRESS = re.compile(r"(?<![^\s\"'`(\[<=:])(?:https?://|/)[^\s\"'`()\[\]<>{},;]{1,2000}")
_FIELD = re.compile(r"(data|event|id|retry)?:")
_STDERR = re.compile(r"std_?err|\berr\b", re.IGNORECASE)
_OF_CLAUDE = re.compile(r"(?:\[(?:info|debug|warn|error)\] )?\[([^\]]{1,60})\].*Message from (?:client|server): ?$")
"""Lines of Claude Desktop: those of all servers, with the server's name in each."""

_SERVER, _CLIENT = r"(?:server|child|upstream|backend)", r"(?:client|host|editor)"
_TO = r"[\s_\])-]*(?:->|→|=>|to|2)[\s_\[(-]*"
_OUT = re.compile(
    rf"{_CLIENT}{_TO}{_SERVER}|(?:→|->|=>)\s*{_SERVER}\b|client says|from[ _-]?client|\bstdin\b|>>>|-->|==>|(?:->|→|>)\s*$"
    r"|\b(?:c2s|sent|send|sending|request|outgoing|out)\b|请求|发送|输入",
    re.IGNORECASE,
)
_IN = re.compile(
    rf"{_SERVER}{_TO}{_CLIENT}|\b{_SERVER}\s*(?:→|->|=>)|server says|from[ _-]?server|\bstdout\b|<<<|<--|<==|(?:<-|←|<)\s*$"
    r"|\b(?:s2c|received|recv|receiving|response|incoming|in)\b|响应|返回|接收|输出",
    re.IGNORECASE,
)
_OF_CLIENTS = re.compile(
    r"initialize$|tools/|resources/|prompts/|completion/|logging/|server/discover"
    r"|notifications/(?:initialized|roots/list_changed)"
)
_OF_SERVERS = re.compile(
    r"sampling/|elicitation/|roots/list$|notifications/(?:message$|elicitation/|progress$|\w+/(?:list_changed|updated))"
)
_RESULTS_OF_SERVERS = frozenset(
    ("serverInfo", "tools", "resources", "resourceTemplates", "contents", "prompts", "messages", "completion")
)


class _Message(NamedTuple):
    words: str
    data: bytes
    value: JSON
    body: Body


def recognise(file: CapturedFile) -> bool:
    """Whether there may be lines in a file."""
    return bool(file.head.strip())


def read(file: CapturedFile, wires: FileWires) -> None:
    """Report the messages of a file, in the order of its lines."""
    _LineReader(file, wires).read()


class _LineReader:
    def __init__(self, file: CapturedFile, wires: FileWires) -> None:
        self._file = file
        self._wires = wires
        self._exchanges = LineExchanges(file, wires)
        self._requests: dict[tuple[str, str], Direction] = {}
        self._guesses = 0
        self._line_start = 0
        self._now_ns: int | None = None
        self._latest_ns = 0
        self._label = self._url = ""  # what a line without a value says of the next value
        self._fields = b""  # lines of an event before its data

    def read(self) -> None:
        data = self._file.data
        self._wires.at(min(_time_in(self._file.head.decode("utf-8", "replace")) or self._file.time_ns, LATEST_NS))
        at = self._first_value()
        while at < len(data):
            end = data.find(b"\n", at) + 1 or len(data)
            self._line_start = at
            self._line(data[at : min(end, at + VALUE_LIMIT)])
            at = end
        self._exchanges.end_all()
        if self._guesses:
            count = f"{self._guesses:,} message{'s' * (self._guesses != 1)}"
            what = "requests are shown as the host's, answers as a server's"
            self._wires.messages.append(f"{self._file.name} does not tell which way {count} went: {what}.")

    def _first_value(self) -> int:
        """Read a value that stands over several lines, if the file begins with one; return where it ends."""
        start = len(self._file.head) - len(self._file.head.lstrip())
        line = self._file.head[start:].partition(b"\n")[0].rstrip()
        if line[:1] not in {b"{", b"["} or (len(line) > 2 and read_value(line) is not None):
            return 0
        try:
            value, end = value_at(self._file.data, start)
        except BrokenError:
            return 0
        return end if self._value(self._file.data[start:end], value, "") else 0

    # Lines.

    def _line(self, raw: bytes) -> None:
        text = raw.decode("utf-8", "surrogateescape")
        match = _FIELD.match(text)
        if not text.strip():
            if self._exchanges.is_streaming:
                fields, self._fields = self._fields, b""
                self._exchanges.answer(fields + raw, None, "sse", None, line=self._line_start)
        elif match is not None and match[1] == "data":
            self._event(raw, text[5:].strip())
        elif match is not None and (match[1] or text.startswith(": ")):
            self._fields += raw
        elif not self._values(text) and not self._words(text):
            self._wires.leave_out(OTHERS, self._file.line_at(self._line_start))

    def _values(self, text: str) -> bool:
        """Read the values of a line; return whether any means something."""
        at = brace = misses = 0
        is_known = False
        while misses < _MISSES and (brace := text.find("{", brace, at + _PREFIX)) >= 0:
            start = brace - text[at:brace].endswith("[")
            try:
                value, end = _DECODER.raw_decode(text, start)
            except (JSONDecodeError, RecursionError):
                brace, misses = brace + 1, misses + 1
                continue
            data = text[start:end].encode("utf-8", "surrogateescape")
            is_known |= self._value(data, value, text[at:start])
            at = brace = end
            misses = 0
        return is_known

    def _value(self, data: bytes, value: JSON, before: str) -> bool:
        """Read a value; return whether it means something."""
        words = before if before.strip() else self._label
        self._label = ""
        if before.rstrip().endswith("data:"):
            self._hear(words)
            return self._event(b"data: %s\n\n" % data, data.decode("utf-8", "replace"))
        messages = _once_each(_messages_in(data, value, words, _DEPTH))
        for message in messages:
            self._message(message)
        if not messages and is_bare_error(value) and self._exchanges.is_waiting:
            self._hear(words)
            self._answer(data, Body("answer", ("ollama",)), "json")
            return True
        return bool(messages)

    def _message(self, message: _Message) -> None:
        words, data, value, body = message
        self._hear(words)
        if body.kind == "frame":
            self._frame(words, data, value)
        elif body.kind == "request":
            url, self._url = _address_in(words) or self._url, ""
            self._exchanges.request(data, body.dialects, url, self._heard())
        elif body.part is None or not body.part.is_event:
            self._answer(data, body, "json")
        elif body.dialects == ("ollama",):
            self._answer(data + b"\n", body, "ndjson")
        else:
            self._answer(b"data: %s\n\n" % data, body, "sse")

    def _answer(self, data: bytes, body: Body | None, form: str, *, is_cut: bool = False) -> None:
        self._exchanges.answer(data, body, form, self._heard(), line=self._line_start, is_cut=is_cut)

    def _event(self, raw: bytes, payload: str) -> bool:
        """Read an event of a stream: an answer's, a server's message, or one that means nothing, such as `ping`."""
        fields, self._fields = self._fields, b""
        value = read_value(payload.encode("utf-8", "surrogateescape"))
        body = body_of(value)
        if body is not None and body.kind == "frame":
            self._frame("", payload.encode("utf-8", "surrogateescape"), value)
            return True
        if body is None and not self._exchanges.is_streaming:
            return False
        is_done = payload == "[DONE]"
        if body is None and (is_done or value is not None):
            body = Body("answer", ("",), AnswerPart(is_event=True, is_empty=is_done))
        is_cut = body is None and payload.startswith("{")
        self._answer(fields + raw, body, "sse", is_cut=is_cut)
        return True

    def _words(self, text: str) -> bool:
        """Read a line without a value; return whether it means something."""
        words = text[:_PREFIX].strip()
        self._hear(words)
        if words.endswith("[DONE]") and self._exchanges.is_streaming:
            return self._event(b"data: [DONE]\n\n", "[DONE]")
        if _STDERR.search(words[:80]):
            self._exchanges.settle()
            self._wires.at(self._heard())
            self._wires.pipe(self._file.peer).error(text.encode("utf-8", "surrogateescape"), None, self._wires.now())
            return True
        self._label = words if words.endswith((":", "：")) else ""
        url = _address_in(words)
        self._url = url or self._url
        return bool(self._label or url or not words.strip("[]{},-="))

    # Frames.

    def _frame(self, words: str, data: bytes, value: JSON) -> None:
        match = _OF_CLAUDE.search(words)
        peer = self._file.peer if match is None else match[1]
        message = mapping(value[0] if isinstance(value, list) else value)
        method, identity = text_or_empty(message.get("method")), f"{message.get('id')!r}"
        direction = self._direction(peer, message, words)
        if method and "id" in message:
            self._requests[peer, identity] = direction
        self._exchanges.settle()
        self._wires.at(self._heard())
        self._wires.pipe(peer).passed(direction, data + b"\n", None, self._wires.now())

    def _direction(self, peer: str, message: Mapping[str, JSON], words: str) -> Direction:
        """Return which way a message went: as only it can, else as its request did not, else as the words say."""
        method = text_or_empty(message.get("method"))
        if _OF_CLIENTS.match(method):
            return "out"
        if _OF_SERVERS.match(method):
            return "in"
        asked = None if method else self._requests.pop((peer, f"{message.get('id')!r}"), None)
        if asked is not None:
            return "in" if asked == "out" else "out"
        result = mapping(message.get("result"))
        # a model's answer to a server has a list of content too, but beside a role
        if _RESULTS_OF_SERVERS & result.keys() or ("content" in result and "role" not in result):
            return "in"
        is_out, is_in = _OUT.search(words) is not None, _IN.search(words) is not None
        if is_out == is_in:
            self._guesses += 1
            is_out = bool(method)
        return "out" if is_out else "in"

    # Times.

    def _hear(self, words: str) -> None:
        """Read the time in some words. It never goes back."""
        told_ns = _time_in(words[:_AROUND])
        if told_ns:
            self._now_ns = self._latest_ns = max(told_ns, self._latest_ns)

    def _heard(self) -> int | None:
        """Return the time that was heard for what comes now; None if there was none since the last."""
        now_ns, self._now_ns = self._now_ns, None
        return now_ns


def _messages_in(data: bytes | None, value: JSON, words: str, depth: int) -> Iterator[_Message]:
    """Find the messages in a value: itself, or those in its members, each with the names and short texts around it."""
    body = body_of(value)
    if body is not None:
        yield _Message(words, to_json(value) if data is None else data, value, body)
    elif isinstance(value, str) and "{" in value:  # a body as a text, or the events of a stream
        yield from _messages_in_text(value, words, depth - 1)
    elif isinstance(value, list) and depth:
        for item in value:
            yield from _messages_in(None, item, words, depth - 1)
    elif isinstance(value, Mapping) and depth:
        texts = [f"{item}" for item in value.values() if isinstance(item, str | int | float)]
        around = " ".join([words, *(text for text in texts if len(text) <= _SHORT and "{" not in text)])
        for name, item in value.items():
            yield from _messages_in(None, item, f"{around[:_AROUND]} {name}", depth - 1)


def _messages_in_text(text: str, words: str, depth: int) -> Iterator[_Message]:
    lines = [text] if text.lstrip()[:1] in {"{", "["} and text.rstrip()[-1:] in {"}", "]"} else text.splitlines()
    for line in lines:
        data = line.removeprefix("data:").strip().encode("utf-8", "surrogatepass")
        value = read_value(data) if data[:1] in {b"{", b"["} else None
        if value is not None:
            yield from _messages_in(data, value, words, depth)


def _once_each(found: Iterator[_Message]) -> list[_Message]:
    """Return the messages of a line in the order of the wire, without what is in it twice: as a text, and parsed."""
    messages: list[_Message] = []
    for message in sorted(found, key=_rank):
        is_event = _rank(message) == 2
        if is_event and messages and _rank(messages[-1]) == 1:
            break  # the whole answer, and the stream of which it was made
        if is_event or all(message.value != earlier.value for earlier in messages):
            messages.append(message)
    return messages


def _rank(message: _Message) -> int:
    if message.body.kind != "answer":
        return 0
    return 2 if message.body.part is not None and message.body.part.is_event else 1


def _address_in(words: str) -> str:
    """Return the address of an API in some words; empty without one."""
    return next((match[0] for match in _ADDRESS.finditer(words) if dialect_at(match[0]) is not None), "")


def _time_in(words: str) -> int:
    """Return the first time in nanoseconds since 1970, 0 without one. A time without a zone is of this machine's."""
    match = _TIME.search(words)
    if match is None:
        return 0
    written, fraction, zone, seconds, part, milliseconds = match.groups("")
    if seconds:
        return int(seconds) * 10**9 + int((part or milliseconds).ljust(9, "0"))
    whole = written.replace("/", "-") + zone.strip().replace("UTC", "Z")
    try:
        moment = datetime.fromisoformat(whole).timestamp()
    except (ValueError, OverflowError, OSError):  # no such day exists
        return 0
    return max(int(moment), 0) * 10**9 + int((fraction or "0").ljust(9, "0"))
