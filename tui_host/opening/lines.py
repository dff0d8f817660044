"""Reads lines of JSON-RPC, requests to a model, answers and `data:` events, with an optional time and direction before each.

A line may also be an object that holds such values under any names, as logging proxies write them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from json import JSONDecoder

from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.capture.json.reading import VALUE_LIMIT, read_value
from tui_host.capture.json.spans import BrokenError, value_at
from tui_host.capture.record import Direction
from tui_host.errors import JSON
from tui_host.llm.body_kinds import AnswerPart
from tui_host.llm.dialects.table import dialect_at
from tui_host.opening.bodies import BodyForm, form_of, to_json
from tui_host.opening.file_wires import FileWires
from tui_host.opening.files import CapturedFile
from tui_host.opening.line_exchanges import LineExchanges

BEGINS = re.compile(rb"\s*\S")  # as a file that may have lines
_DECODER = JSONDecoder(strict=False)
_PREFIX = 300  # characters before a line's JSON: a later brace belongs to prose
_TRIES = 8  # braces in a line: loggers write its subject in braces too
_DEPTH = 3  # of the objects around a message: a line, its exchange, the request in it
_SHORT, _AROUND = 100, 1000  # characters of a member that may be a time, a direction or an address, and of all
# a run of events, each with the empty line behind it, which are many; else a line
_PIECE = re.compile(rb"(?P<run>(?:data:[^\n]*\}\r?\n(?:\r?\n)?){1,64})|data:[^\n]*\n?\n?|[^\n]+\n?|\n")
_FIELD = re.compile(r"(?:event|id|retry):|: ")  # of an event, before its data
_STDERR = re.compile(r"std_?err|\berr\b", re.IGNORECASE)
# ISO 8601 with or without a zone, or seconds or milliseconds since 1970
_TIME = re.compile(
    r"(?<!\d)(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?( ?(?:Z|UTC|[+-]\d\d:?\d\d)\b)?"
    r"|(?<![\d.])(1[5-9]\d{8})(?:\.(\d{1,9})|(\d{3}))?(?!\d)"
)
_ADDRESS = re.compile(r"(?<![^\s\"'`(\[<=:])(?:https?://|/)[^\s\"'`()\[\]<>{},;]{1,2000}")
# lines of Claude Desktop: those of all servers, with the server's name in each
_OF_CLAUDE = re.compile(r"(?:\[(?:info|debug|warn|error)\] )?\[([^\]]{1,60})\].*Message from (?:client|server): ?$")
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


def read(file: CapturedFile, wires: FileWires) -> None:
    """Report the messages of a file, in the order of its lines."""
    reader, end = _LineReader(file, wires, LineExchanges(wires, file.peer)), 0
    wires.at(_time_in(file.head.decode("utf-8", "replace")) or file.time_ns)
    line = file.head.lstrip().partition(b"\n")[0].rstrip()
    if line[:1] in {b"{", b"["} and not (len(line) > 2 and read_value(line) is not None):
        with suppress(BrokenError):  # a value that stands over several lines at the beginning
            start = file.head.index(line[:1])
            value, behind = value_at(file.data, start)
            end = behind if reader.value(file.data[start:behind], value, "") else 0
    for piece in _PIECE.finditer(file.data, end):
        if piece.lastgroup:
            reader.events(piece[0], piece.start())
        else:
            reader.line(piece[0], piece.start())
    reader.exchanges.settle(is_over=True)


@dataclass(slots=True, eq=False)
class _LineReader:
    """Its methods that return something say whether what they read means something."""

    _file: CapturedFile
    _wires: FileWires
    exchanges: LineExchanges
    _requests: dict[tuple[str, str], Direction] = field(default_factory=dict[tuple[str, str], Direction])
    _latest_ns: int = 0
    _before: str = ""  # what lines without a value say of the next value
    _fields: bytes = b""  # lines of an event before its data

    def events(self, run: bytes, start: int) -> None:
        """Read a run of events that starts there in the file."""
        at = 0
        while at < len(run):
            end = at if self._fields or self._before else self.exchanges.go_on(run, at)
            if end == at:
                end = run.find(b"\ndata:", at) + 1 or len(run)
                self.line(run[at:end], start + at)
            at = end

    def line(self, raw: bytes, start: int) -> None:
        """Read a line that starts there in the file; count it if it means nothing."""
        raw = raw[:VALUE_LIMIT]
        text = raw.decode("utf-8", "surrogateescape")
        if raw.startswith(b"data:"):
            value: JSON = None
            with suppress(ValueError, RecursionError):
                value = _DECODER.decode(text[5:].strip())
            is_known = self._event(raw, raw[5:].strip(), value, "")
        elif not raw.strip():
            is_known = True
            if self.exchanges.is_streaming:
                self._answer(raw, None, "sse", "")
        elif _FIELD.match(text):
            is_known = True
            self._fields += raw
        else:
            is_known = self._text(text)
        if not is_known:
            self._wires.leave_out("lines that are of neither wire", partial(self._file.line_at, start))

    def _text(self, text: str) -> bool:
        """Read the values in a line, or what it says of those that follow."""
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
            is_known |= self.value(text[start:end].encode("utf-8", "surrogateescape"), value, text[at:start])
            at = end
        if is_known:
            return True
        words = text[:_PREFIX].strip()
        if words.endswith("[DONE]") and self.exchanges.is_streaming:
            return self._event(b"data: [DONE]\n\n", b"[DONE]", None, words)
        if _STDERR.search(words[:80]):
            self.exchanges.settle()
            self._wires.at(self._time(words))
            self._wires.pipe(self._file.peer).error(text.encode("utf-8", "surrogateescape"))
            return True
        is_known = words.endswith((":", "：")) or bool(_address_in(words)) or not words.strip("[]{},-=")
        stamp = _TIME.search(words)
        if is_known or stamp is not None:
            self._before = f"{words if stamp is None or is_known else stamp[0]} {self._before}"[:_AROUND]
        return is_known

    def value(self, data: bytes, value: JSON, words: str) -> bool:
        if words.rstrip().endswith("data:"):
            return self._event(b"data: %s\n\n" % data, data, value, words)
        messages = sorted(_messages_in(data, value, words, _DEPTH), key=lambda message: message[3].kind == "answer")
        for around, written, message, body in messages:
            if body.kind == "frame":
                self._frame(around, written, message)
            elif body.kind == "request":
                url = _address_in(f"{around} {self._before}")
                self.exchanges.request(written, body.dialects, url, self._time(around))
            elif not body.part.is_event:
                self._answer(written, body, "json", around)
            elif body.dialects == ("ollama",):
                self._answer(written + b"\n", body, "ndjson", around)
            else:
                self._answer(b"data: %s\n\n" % written, body, "sse", around)
        is_error = isinstance(value, Mapping) and len(value) == 1 and isinstance(value.get("error"), str)
        if is_error and any(
            not each.form for each in self.exchanges.open
        ):  # as Ollama says it; other programs may write the same
            self._answer(data, BodyForm("answer", ("ollama",)), "json", words)
            return True
        return bool(messages)

    def _event(self, raw: bytes, payload: bytes, value: JSON, words: str) -> bool:
        """Read an event of a stream: an answer's, a server's message, or one that means nothing, such as `ping`."""
        body, is_end = form_of(value), payload == b"[DONE]"
        if body is not None and body.kind == "frame":
            self._fields = b""
            self._frame(words, payload, value)
        elif body is not None or self.exchanges.is_streaming:
            if body is None and (value is not None or is_end):
                body = BodyForm("answer", ("",), AnswerPart(is_event=True, is_empty=is_end))
            self._answer(raw, body, "sse", words)
        else:
            self._fields = b""
            return False
        return True

    def _answer(self, data: bytes, body: BodyForm | None, form: str, words: str) -> None:
        if form == "sse":
            data, self._fields = self._fields + data, b""
        self.exchanges.answer(data, body, form, self._time(words))

    def _frame(self, words: str, data: bytes, value: JSON) -> None:
        match = _OF_CLAUDE.search(words)
        peer = self._file.peer if match is None else match[1]
        message = mapping(value[0] if isinstance(value, list) else value)
        around = words if words.strip() else self._before
        # as only it can go, else as its request did not, else as the words say
        method, key = text_or_empty(message.get("method")), (peer, f"{message.get('id')!r}")
        asked = None if method else self._requests.pop(key, None)
        direction: Direction = "in"
        if _OF_CLIENTS.match(method) or asked == "in":
            direction = "out"
        elif not (_OF_SERVERS.match(method) or asked == "out"):
            is_out, is_in = _OUT.search(around) is not None, _IN.search(around) is not None
            if is_out > is_in or (is_out == is_in and method):  # nothing tells it: a host asks more than a server
                direction = "out"
        if method and "id" in message:
            self._requests[key] = direction
        self.exchanges.settle()
        self._wires.at(self._time(words))
        self._wires.pipe(peer).take(direction, data + b"\n")

    def _time(self, words: str) -> int | None:
        """Return the time in some words, or in those before; None if there was none. It never goes back."""
        words_ns = _time_in(words[:_AROUND]) or _time_in(self._before)
        self._before = ""
        self._latest_ns = max(words_ns, self._latest_ns)
        return self._latest_ns if words_ns else None


def _messages_in(
    data: bytes | None, value: JSON, words: str, depth: int
) -> Iterator[tuple[str, bytes, JSON, BodyForm]]:
    """Find the messages in a value: itself, or those in its members, each with the names and short texts around it."""
    body = form_of(value)
    if body is not None:
        yield words, to_json(value) if data is None else data, value, body
    elif isinstance(value, str) and "{" in value:  # a body as a text, or the events of a stream
        is_body = value.lstrip()[:1] in {"{", "["} and value.rstrip()[-1:] in {"}", "]"}
        for line in [value] if is_body else value.splitlines():
            written = line.removeprefix("data:").strip().encode("utf-8", "surrogatepass")
            inner = read_value(written) if written[:1] in {b"{", b"["} else None
            if inner is not None:
                yield from _messages_in(written, inner, words, depth - 1)
    elif isinstance(value, list) and depth:
        for item in value:
            yield from _messages_in(None, item, words, depth - 1)
    elif isinstance(value, Mapping) and depth:
        texts = [f"{item}" for item in value.values() if isinstance(item, str | int | float)]
        around = " ".join([words, *(text for text in texts if len(text) <= _SHORT and "{" not in text)])
        for name, item in value.items():
            yield from _messages_in(None, item, f"{around[:_AROUND]} {name}", depth - 1)


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
    return max(int(moment), 0) * 10**9 + int(fraction.ljust(9, "0"))
