"""Logs of home-made proxies: request lines and `data:` lines, JSON-RPC lines, with whatever their authors wrote before them.

Such a script writes what it passed on as lines of text: `>>> {…}`, `[2025-12-01 10:00:00] client -> server: {…}`, `输入: {…}`, or each
message in an object of its own. What of a line is JSON is what was on the wire; what stands around it tells when and which way.
Source: tool-protocols.md, section 7.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from tui_host.capture.correlator import Correlator
from tui_host.capture.frames import read_frame
from tui_host.capture.imports.elements import BrokenError, Data, value_end
from tui_host.capture.imports.exchanges import Exchanges
from tui_host.capture.imports.seen import MOST, File, Notes, Seen, read_value
from tui_host.capture.imports.wires import Wires, dialect_of_answer, dialect_of_request
from tui_host.capture.record import Direction, Draft
from tui_host.capture.words import mapping
from tui_host.errors import JSON

OTHERS = "lines that are of neither wire"
PREFIX_MOST = 300
"""Bytes before what is JSON in a line, at most; in a line of prose a bracket means nothing."""
SEVERAL_MOST = 8 << 20
"""Bytes of JSON that goes over several lines."""
TRIES = 5
"""How often the end of such JSON is looked for in vain: a file of nothing but brackets takes no longer than another."""
_INNER = ("message", "msg", "body", "request", "response", "payload", "frame", "data", "json", "content", "raw", "line")
"""Under which a log of objects has what was on the wire."""

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?"
    r"|(?<![\d.])(1[5-9]\d{8})(?:\.(\d{1,9})|(\d{3}))?(?![\d])"
)
_OUT = re.compile(
    r">>>|-->|==>|→\s*(?:server|mcp)|(?:client|host)\s*(?:->|→|=>|to)\s*(?:the )?(?:mcp )?server|\bto[ _-]?server|\bstdin\b"
    r"|\b(?:sent|send|sending|request|outgoing|out|c2s|c->s)\b|请求|发送|输入",
    re.IGNORECASE,
)
_IN = re.compile(
    r"<<<|<--|<==|server\s*(?:->|→|=>|to)\s*(?:the )?(?:client|host)|\bfrom[ _-]?server|\bto[ _-]?client|\bstdout\b"
    r"|\b(?:received|recv|receiving|response|incoming|in|s2c|s->c)\b|响应|返回|接收|输出",
    re.IGNORECASE,
)
_STDERR = re.compile(r"std_?err|\berr\b", re.IGNORECASE)
_FIELD = re.compile(rb"(data|event):[ \t]?")
_DONE = re.compile(rb"data:[ \t]*\[DONE\]")
_REQUEST_LINE = re.compile(r"\bPOST\s+(\S{1,2000})")
_OF_SERVERS = re.compile(
    r"sampling/|elicitation/|roots/list$|notifications/(?:message|progress|elicitation/|\w+/(?:list_changed|updated))"
)
_OF_CLIENTS = re.compile(
    r"initialize$|tools/|resources/|prompts/|completion/|logging/|server/discover"
    r"|notifications/(?:initialized|roots/list_changed)"
)


class _Line(NamedTuple):
    """What there is of one line, or of a value that goes over several.

    Attributes:
        before: What stands before the JSON, or around what it quotes.
        data: The JSON, as it stands; empty if there is none.
        value: What it says.
        text: The whole line, where there is no JSON.
    """

    before: str
    data: bytes
    value: JSON
    text: bytes


def recognise(file: File, wires: Wires) -> bool:
    """Whether at least one line is of a wire."""
    return any(seen.draft.wire != "stderr" for seen in read(file, wires, Notes(), ""))


def read(file: File, wires: Wires, notes: Notes, peer: str) -> Iterator[Seen]:
    """What the lines say, in their order; times never go back."""
    log = _Log(file, wires, notes, peer)
    lines = _Lines(file.data)
    notes.progress.expected += len(file.data)
    at = 0
    for line in lines:
        notes.progress.advance(lines.at - at)
        at = lines.at
        yield from log.take(line)
    yield from log.finish()


class _Lines:
    """The lines of a log, each with the JSON that begins in it, over as many lines as that takes.

    Attributes:
        at: The first byte after what was given last.
    """

    def __init__(self, data: Data) -> None:
        self.at = 0
        self._data = data
        self._tries = TRIES

    def __iter__(self) -> Iterator[_Line]:
        while self.at < len(self._data):
            end = self._data.find(b"\n", self.at)
            end = len(self._data) if end < 0 else end
            found, end = self._line(self.at, end)
            self.at = end + 1
            yield found

    def _line(self, at: int, end: int) -> tuple[_Line, int]:
        """A line, and where it ends: later, where the value that begins in it does."""
        data = self._data
        brace = data.find(b"{", at, min(end, at + PREFIX_MOST))
        start = brace - 1 if brace > at and data[brace - 1 : brace] == b"[" else brace
        for begin in dict.fromkeys((start, brace)) if brace >= 0 else ():
            found = self._value(begin, end)
            if found is not None and isinstance(value := read_value(found), Mapping | list):
                after = data.find(b"\n", begin + len(found))
                before = data[at:begin].decode("utf-8", "replace")
                return _Line(before, found, value, b""), len(data) if after < 0 else after
        return _Line("", b"", None, data[at : min(end, at + MOST)].rstrip(b"\r")), end

    def _value(self, begin: int, end: int) -> bytes | None:
        """The value that begins there; over several lines only where its bracket ends its line, as in what is written for eyes."""
        line = self._data[begin : min(end, begin + MOST)]
        with suppress(BrokenError):
            return line[: value_end(line, 0)]
        if self._tries and line.rstrip() in {b"{", b"[", b"[{"}:
            several = self._data[begin : begin + SEVERAL_MOST]
            with suppress(BrokenError):
                return several[: value_end(several, 0)]
            self._tries -= 1
        return None


@dataclass(slots=True)
class _Clock:
    """The time of what a log has, which never goes back."""

    now_ns: int

    def at(self, words: str) -> int:
        """The time that is told in words, else that of what came before."""
        found = _TIME.search(words)
        if found is not None:
            try:
                self.now_ns = max(self.now_ns, _time_ns(found))
            except (ValueError, OverflowError, OSError):
                return self.now_ns
        return self.now_ns


def _time_ns(found: re.Match[str]) -> int:
    day, clock, fraction, zone, epoch, after, milliseconds = found.groups()
    if epoch is not None:
        return int(epoch) * 10**9 + int((after or milliseconds or "0").ljust(9, "0"))
    moment = datetime.fromisoformat(f"{day}T{clock}{zone or ''}")
    seconds = (moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    return seconds * 10**9 + int((fraction or "0").ljust(9, "0"))


class _Log:
    """What was read of one log so far."""

    def __init__(self, file: File, wires: Wires, notes: Notes, peer: str) -> None:
        self._notes = notes
        self._wires = wires
        self._peer = peer
        self._clock = _Clock(_first_time(file))
        self._lane = Exchanges(wires, notes, peer)
        self._correlator = Correlator()
        self._connection = ""
        self._url = ""
        self._label = ""
        self._asked: dict[str, Direction] = {}

    def take(self, line: _Line) -> Iterator[Seen]:
        """The next line."""
        if not line.data:
            yield from self._words(line.text)
            return
        if not line.before.strip():
            line = line._replace(before=self._label)
        self._label = ""
        at_ns = self._clock.at(line.before)
        inner = _inner(line)
        if inner is not None:
            at_ns, line = self._clock.at(inner.before), inner
        value = line.value
        if _is_frame(value):
            yield self._frame(line, at_ns)
        elif dialect := dialect_of_answer(value):
            yield from self._answer(line, at_ns, dialect)
        elif dialect := dialect_of_request(value):
            url, self._url = self._url, ""
            yield from self._lane.request(line.data, at_ns, dialect=dialect, url=url)
        elif self._lane.is_open and _FIELD.search(line.before.encode()):
            yield from self._lane.answer(_event(line), at_ns, dialect="openai", form="sse")
        else:
            self._notes.left_out[OTHERS] += 1

    def finish(self) -> Iterator[Seen]:
        """The end of the log."""
        yield from self._lane.finish(self._clock.now_ns)

    def _words(self, text: bytes) -> Iterator[Seen]:
        """A line without JSON."""
        words = text[:PREFIX_MOST].decode("utf-8", "replace")
        at_ns = self._clock.at(words)
        self._label = words if words.rstrip().endswith((":", "：")) else ""
        if self._lane.is_open and _DONE.search(text):
            yield from self._lane.answer(b"data: [DONE]\n\n", at_ns, dialect="openai", form="sse")
            yield from self._lane.finish(at_ns)
        elif self._lane.is_open and (event := re.search(rb"event:[ \t]?[\w.]{1,80}\s*$", text)):
            yield from self._lane.answer(event[0].strip() + b"\n", at_ns, dialect="anthropic", form="sse")
        elif _STDERR.search(words[:80]):
            draft = Draft(wire="stderr", kind="line", peer=self._peer, direction="in", connection=self._connected())
            yield Seen(at_ns=at_ns, draft=_with(draft, text + b"\n"))
        elif found := _REQUEST_LINE.search(words):
            self._url = found[1] if self._wires.dialect_at(found[1]) else ""
        elif text.strip():
            self._notes.left_out[OTHERS] += 1

    def _answer(self, line: _Line, at_ns: int, dialect: str) -> Iterator[Seen]:
        if _FIELD.search(line.before.encode()):
            yield from self._lane.answer(_event(line), at_ns, dialect=dialect, form="sse")
            return
        form = "ndjson" if dialect == "ollama" else "json"
        yield from self._lane.answer(line.data + b"\n", at_ns, dialect=dialect, form=form)
        if form == "json" or mapping(line.value).get("done") is True:
            yield from self._lane.finish(at_ns)

    def _frame(self, line: _Line, at_ns: int) -> Seen:
        head = read_frame(line.data).head
        direction = self._direction(line.before, head.method, head.id)
        if head.method and head.id:
            self._asked[head.id] = direction
        seen = self._correlator.see(direction, head)
        draft = Draft(wire="mcp", kind="frame", peer=self._peer, direction=direction, connection=self._connected())
        return Seen(at_ns=at_ns, draft=_with(draft, line.data + b"\n", head.reason or seen.odd or None))

    def _direction(self, before: str, method: str, identity: str) -> Direction:
        """Which way a frame went: as its method tells, else as what stands before it, else against what it answers."""
        if _OF_SERVERS.match(method):
            return "in"
        if _OF_CLIENTS.match(method):
            return "out"
        before = _TIME.sub("", before)
        is_out, is_in = _OUT.search(before) is not None, _IN.search(before) is not None
        if is_out != is_in:
            return "out" if is_out else "in"
        asked = self._asked.get(identity)
        return "out" if method or asked == "in" else "in"

    def _connected(self) -> str:
        if not self._connection:
            self._connection = self._notes.new_connection(self._peer)
        return self._connection


def _first_time(file: File) -> int:
    """The first time that is told: what stands before it is of the same."""
    found = _TIME.search(file.data[: 1 << 16].decode("utf-8", "replace"))
    try:
        return file.time_ns if found is None else _time_ns(found)
    except (ValueError, OverflowError, OSError):
        return file.time_ns


def _is_frame(value: JSON) -> bool:
    return "jsonrpc" in mapping(value) or (isinstance(value, list) and bool(value) and "jsonrpc" in mapping(value[0]))


def _event(line: _Line) -> bytes:
    """A `data:` line with the empty line that logs lose."""
    return b"data: " + line.data + b"\n\n"


def _inner(line: _Line) -> _Line | None:
    """What an object that a log has for each message quotes; None if it quotes nothing."""
    outer = mapping(line.value)
    if _is_frame(outer) or dialect_of_request(outer) or dialect_of_answer(outer):
        return None
    for name in _INNER:
        quoted = outer.get(name)
        value = read_value(quoted.encode("utf-8", "surrogatepass")) if isinstance(quoted, str) else quoted
        if _is_frame(value) or dialect_of_request(value) or dialect_of_answer(value):
            rest = {key: item for key, item in outer.items() if key != name and isinstance(item, str | int | float)}
            words = " ".join(f"{item}" for item in rest.values())
            data = quoted if isinstance(quoted, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            return _Line(f"{line.before} {words}", data.strip().encode("utf-8", "surrogatepass"), value, b"")
    return None


def _with(draft: Draft, data: bytes, malformed: str | None = None) -> Draft:
    return Draft(
        wire=draft.wire,
        kind=draft.kind,
        peer=draft.peer,
        direction=draft.direction,
        connection=draft.connection,
        data=data,
        malformed=malformed,
    )
