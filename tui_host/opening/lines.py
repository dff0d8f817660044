"""Reads lines of JSON-RPC, requests to a model, answers and `data:` events, with an optional time and direction before each.

A line may also be an object that holds such values under any names, as logging proxies write them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from json import JSONDecoder
from typing import NamedTuple

from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.capture.json.spans import VALUE_LIMIT, BrokenError, read_value, value_at
from tui_host.capture.record import Direction
from tui_host.errors import JSON
from tui_host.llm.body_kinds import AnswerPart
from tui_host.llm.dialects.table import dialect_at
from tui_host.opening.bodies import EVENT, Body, body_of, to_json
from tui_host.opening.file_wires import FileWires
from tui_host.opening.files import LATEST_NS, CapturedFile
from tui_host.opening.line_exchanges import LineExchanges

OTHERS = "lines that are of neither wire"

_DECODER = JSONDecoder(strict=False)
_PREFIX = 300  # characters before a line's JSON: a later brace belongs to prose
_TRIES = 8  # braces in a line: loggers write its subject in braces too
_DEPTH = 3  # of the objects around a message: a line, its exchange, the request in it
_SHORT, _AROUND = 100, 1000  # characters of a member that may be a time, a direction or an address, and of all
_TIME = re.compile(
    r"(?<!\d)(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?( ?(?:Z|UTC|[+-]\d\d:?\d\d)\b)?"
    r"|(?<![\d.])(1[5-9]\d{8})(?:\.(\d{1,9})|(\d{3}))?(?!\d)"
)
"""ISO 8601 with or without a zone, or seconds or milliseconds since 1970."""
_ADDRESS = re.compile(r"(?<![^\s\"'`(\[<=:])(?:https?://|/)[^\s\"'`()\[\]<>{},;]{1,2000}")
_LINE = re.compile(rb"data:[^\n]*\n?\n?|[^\n]+\n?|\n")  # an event goes with the empty line behind it
_FIELD = re.compile(r"(data|event|id|retry)?:")
_STDERR = re.compile(r"std_?err|\berr\b", re.IGNORECASE)
_OF_CLAUDE = re.compile(r"(?:\[(?:info|debug|warn|error)\] )?\[([^\]]{1,60})\].*Message from (?:client|server): ?$")
"""Lines of Claude Desktop: those of all servers, with the server's name in each."""

_OUT = re.compile(
    r"(?:client|host|editor|sse)[\s_\])-]*(?:->|→|=>|to|2)|client says|from[ _-]?client|\bstdin\b|>>>|-->|==>|(?:->|→|>)\s*$"
    r"|\b(?:c2s|sent|send|sending|request|outgoing|out)\b|请求|发送|输入",
    re.IGNORECASE,
)
_IN = re.compile(
    r"(?:server|child)[\s_\])-]*(?:->|→|=>|to|2)|server says|from[ _-]?server|\bstdout\b|<<<|<--|<==|(?:<-|←|<)\s*$"
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
        self._exchanges = LineExchanges(wires, file.peer)
        self._requests: dict[tuple[str, str], Direction] = {}
        self._now_ns: int | None = None
        self._latest_ns = 0
        self._label = self._url = ""  # what a line without a value says of the next value
        self._fields = b""  # lines of an event before its data

    def read(self) -> None:
        head = self._file.head.decode("utf-8", "replace")
        self._wires.at(min(_time_in(head) or self._file.time_ns, LATEST_NS))
        for match in _LINE.finditer(self._file.data, self._first_value()):
            if not self._is_read(match[0][:VALUE_LIMIT]):
                self._wires.leave_out(OTHERS, partial(self._file.line_at, match.start()))
        self._exchanges.end_all()

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

    def _is_read(self, raw: bytes) -> bool:
        """Read a line; return whether it means something."""
        if raw.startswith(b"data:") and not self._fields and self._exchanges.go_on(raw, self._now_ns):
            self._now_ns = None
            return True
        text = raw.decode("utf-8", "surrogateescape")
        match = _FIELD.match(text)
        if not text.strip():
            if self._exchanges.is_streaming:
                fields, self._fields = self._fields, b""
                self._exchanges.answer(fields + raw, None, "sse", None)
            return True
        if match is not None and match[1] == "data":
            return self._event(raw, text[5:].strip())
        if match is not None and (match[1] or text.startswith(": ")):
            self._fields += raw
            return True
        return self._values(text) or self._words(text)

    def _values(self, text: str) -> bool:
        """Read the values of a line; return whether any means something."""
        is_known, at, start = False, 0, -1
        for _ in range(_TRIES):
            start = text.find("{", max(at, start + 1), at + _PREFIX)
            if start < 0:
                break
            start -= text[at:start].endswith("[")
            try:
                value, end = _DECODER.raw_decode(text, start)
            except (ValueError, RecursionError):  # a number of thousands of digits is none either
                start += text[start] == "["
                continue
            data = text[start:end].encode("utf-8", "surrogateescape")
            is_known |= self._value(data, value, text[at:start])
            at = end
        return is_known

    def _value(self, data: bytes, value: JSON, before: str) -> bool:
        """Read a value; return whether it means something."""
        words = before if before.strip() else self._label
        self._label = ""
        if before.rstrip().endswith("data:"):
            self._hear(words)
            return self._event(b"data: %s\n\n" % data, data.decode("utf-8", "replace"))
        messages = sorted(_messages_in(data, value, words, _DEPTH), key=lambda message: message.body.kind == "answer")
        for message in messages:
            self._message(message)
        is_error = isinstance(value, Mapping) and len(value) == 1 and isinstance(value.get("error"), str)
        if is_error and self._exchanges.is_waiting:  # as Ollama says it; other programs may write the same
            self._exchanges.answer(data, Body("answer", ("ollama",)), "json", self._heard(words))
            return True
        return bool(messages)

    def _message(self, message: _Message) -> None:
        words, data, value, body = message
        if body.kind == "frame":
            self._frame(words, data, value)
        elif body.kind == "request":
            url, self._url = _address_in(words) or self._url, ""
            self._exchanges.request(data, body.dialects, url, self._heard(words))
        elif body.part is None or not body.part.is_event:
            self._exchanges.answer(data, body, "json", self._heard(words))
        elif body.dialects == ("ollama",):
            self._exchanges.answer(data + b"\n", body, "ndjson", self._heard(words))
        else:
            self._exchanges.answer(b"data: %s\n\n" % data, body, "sse", self._heard(words))

    def _event(self, raw: bytes, payload: str) -> bool:
        """Read an event of a stream: an answer's, a server's message, or one that means nothing, such as `ping`."""
        fields, self._fields = self._fields, b""
        value, is_done = None, payload == "[DONE]"
        with suppress(ValueError, RecursionError):
            value = _DECODER.decode(payload)
        body = body_of(value)
        if body is not None and body.kind == "frame":
            self._frame("", payload.encode("utf-8", "surrogateescape"), value)
            return True
        if body is None and not self._exchanges.is_streaming:
            return False
        if body is None and (is_done or value is not None):
            body = EVENT._replace(part=AnswerPart(is_event=True, is_empty=is_done))
        self._exchanges.answer(fields + raw, body, "sse", self._heard(""))
        return True

    def _words(self, text: str) -> bool:
        """Read a line without a value; return whether it means something."""
        words = text[:_PREFIX].strip()
        self._hear(words)
        if words.endswith("[DONE]") and self._exchanges.is_streaming:
            return self._event(b"data: [DONE]\n\n", "[DONE]")
        if _STDERR.search(words[:80]):
            self._exchanges.settle()
            self._wires.at(self._heard(""))
            self._wires.pipe(self._file.peer).error(text.encode("utf-8", "surrogateescape"), None, self._wires.now())
            return True
        self._label = words if words.endswith((":", "：")) else ""
        url = _address_in(words)
        self._url = url or self._url
        return bool(self._label or url or not words.strip("[]{},-="))

    def _frame(self, words: str, data: bytes, value: JSON) -> None:
        match = _OF_CLAUDE.search(words)
        peer = self._file.peer if match is None else match[1]
        message = mapping(value[0] if isinstance(value, list) else value)
        direction = self._direction(peer, message, words)
        if "method" in message and "id" in message:
            self._requests[peer, f"{message['id']!r}"] = direction
        self._exchanges.settle()
        self._wires.at(self._heard(words))
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
            is_out = bool(method)  # nothing tells it: a host asks more than a server
        return "out" if is_out else "in"

    def _hear(self, words: str) -> None:
        """Read the time in some words. It never goes back."""
        told_ns = _time_in(words[:_AROUND])
        if told_ns:
            self._now_ns = self._latest_ns = max(told_ns, self._latest_ns)

    def _heard(self, words: str) -> int | None:
        """Return the time in some words, or in those before; None if there was none since the last."""
        self._hear(words)
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
