"""Logs of home-made proxies: request lines and `data:` lines, JSON-RPC lines, with whatever their authors wrote before them.

Such a script writes what it passed on as lines of text: `>>> {…}`, `[2025-12-01 10:00:00] client -> server: {…}`, `输入: {…}`, or each
message, or each exchange, in an object of its own. What of a line is JSON is what was on the wire; what stands around it tells when and
which way. Hosts' own logs of their servers are written so too. Source: tool-protocols.md, section 7.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from tui_host.capture.imports.clock import Clock, by_the_last
from tui_host.capture.imports.exchanges import Exchanges
from tui_host.capture.imports.linewise import PREFIX_MOST, Line, Lines
from tui_host.capture.imports.quoted import is_known, quoted
from tui_host.capture.imports.seen import File, Moment, Notes, Seen, line_of
from tui_host.capture.imports.servers import Servers
from tui_host.capture.imports.wires import Wires, dialect_of_answer, dialect_of_request, is_bare_error, is_frame
from tui_host.capture.words import mapping

OTHERS = "lines that are of neither wire"

_STDERR = re.compile(r"std_?err|\berr\b", re.IGNORECASE)
_FIELD = re.compile(r"(?:data|event):[ \t]?")
_DONE = re.compile(rb"data:[ \t]*\[DONE\]")
_REQUEST_LINE = re.compile(r"\bPOST\s+(\S{1,2000})")
_BRACKETS = b" \t[]{},"
"""What is left of a line of a list, or of an object, that is written for eyes."""
_LOOKED_AT = 1 << 16
"""Bytes in which the first time is looked for."""
_SOME_DAY_NS = 2 * 86_400 * 10**9
"""On that day a log's times are counted from whose day is not known yet."""


class Begin(NamedTuple):
    """The first time that a log tells: what stands before it is of the same.

    Attributes:
        ns: That time; without one, the file's.
        is_dated: Its day is told.
        is_of_a_day: Its day is not, and is taken to be such that the last line is of the day on which the file was last changed.
    """

    ns: int
    is_dated: bool = False
    is_of_a_day: bool = False


def recognise(file: File, wires: Wires) -> bool:
    """Whether at least one line is of a wire."""
    return any(seen.draft.wire != "stderr" for seen in read(file, wires, Notes(), ""))


def begin_of(file: File, wires: Wires, changed_ns: int) -> Begin:
    """The first time that a log tells.

    Args:
        file: The log; its time is that of what tells none.
        wires: The dialects.
        changed_ns: When it was last changed itself.
    """
    clock = Clock(_SOME_DAY_NS)
    log = _Log(file, wires, Notes(), "", clock)
    lines = Lines(file.data)
    first_ns = 0
    for line in lines:
        deque(log.take(line), maxlen=0)
        first_ns = first_ns or (clock.now_ns if clock.is_dated or clock.is_of_a_day else 0)
        if clock.is_dated or (not first_ns and lines.at > _LOOKED_AT):
            break  # else the days are counted up to the last line
    if clock.is_dated:
        return Begin(clock.now_ns, is_dated=True)
    if not first_ns:
        return Begin(file.time_ns)
    return Begin(by_the_last(first_ns, clock.now_ns, changed_ns), is_of_a_day=True)


def read(file: File, wires: Wires, notes: Notes, peer: str, begin_ns: int = 0) -> Iterator[Seen]:
    """What the lines say, in their order; times never go back, nor before it begins."""
    log = _Log(file, wires, notes, peer, Clock(begin_ns))
    lines = Lines(file.data)
    notes.progress.expected += len(file.data)
    at = 0
    for line in lines:
        notes.progress.advance(lines.at - at)
        at = lines.at
        yield from log.take(line)
    yield from log.finish()


class _Log:
    """What was read of one log so far."""

    def __init__(self, file: File, wires: Wires, notes: Notes, peer: str, clock: Clock) -> None:
        self._file = file
        self._notes = notes
        self._wires = wires
        self._clock = clock
        self._lane = Exchanges(notes, peer)
        self._servers = Servers(notes, peer, file.name)
        self._url = ""
        self._label = ""

    def take(self, line: Line) -> Iterator[Seen]:
        """The next line."""
        if not line.data:
            yield from self._words(line)
            return
        if not line.before.strip():
            line = line._replace(before=self._label)
        self._label = ""
        if is_known(line.value):
            yield from self._known(line)
        elif found := list(quoted(line.value, line.before)):
            for each in found:
                self._url = each.url if self._wires.dialect_at(each.url) else self._url
                if each.dialect:
                    yield from self._whole(each.data, self._clock.at(each.words), each.dialect, "sse")
                else:
                    yield from self._known(Line(each.words, each.data, each.value, b"", line.at))
        elif self._lane.is_open and is_bare_error(line.value):
            yield from self._whole(line.data, self._clock.at(line.before), "ollama", "json")
        elif self._lane.is_open and _FIELD.search(line.before):
            yield from self._lane.answer(_event(line), self._clock.at(line.before), dialect="openai", form="sse")
        else:
            self._notes.leave_out(OTHERS, lambda: f"line {line_of(self._file.data, line.at)}")

    def finish(self) -> Iterator[Seen]:
        """The end of the log."""
        yield from self._lane.finish()
        self._servers.tell_guesses()

    def _known(self, line: Line) -> Iterator[Seen]:
        """What was on a wire itself."""
        at = self._clock.at(line.before)
        value = line.value
        if is_frame(value):
            yield Seen(at, self._servers.frame(line.data, line.before, value))
        elif dialect := dialect_of_answer(value):
            if _FIELD.search(line.before) or _is_piece(line):
                yield from self._lane.answer(_event(line), at, dialect=dialect, form="sse")
                return
            form = "ndjson" if dialect == "ollama" else "json"
            yield from self._lane.answer(line.data + b"\n", at, dialect=dialect, form=form)
            if form == "json" or mapping(value).get("done") is True:
                yield from self._lane.finish()
        else:
            url, self._url = self._url, ""
            yield from self._lane.request(line.data, at, dialect=dialect_of_request(value), url=url)

    def _whole(self, data: bytes, at: Moment, dialect: str, form: str) -> Iterator[Seen]:
        yield from self._lane.answer(data, at, dialect=dialect, form=form)
        yield from self._lane.finish()

    def _words(self, line: Line) -> Iterator[Seen]:
        """A line without JSON."""
        text = line.text
        words = text[:PREFIX_MOST].decode("utf-8", "replace")
        self._clock.hear(words)
        self._label = words if words.rstrip().endswith((":", "：")) else ""
        if self._lane.is_open and _DONE.search(text):
            yield from self._whole(b"data: [DONE]\n\n", self._clock.at(""), "openai", "sse")
        elif self._lane.is_open and (event := re.search(rb"event:[ \t]?[\w.]{1,80}\s*$", text)):
            yield from self._lane.answer(event[0].strip() + b"\n", self._clock.at(""), dialect="anthropic", form="sse")
        elif _STDERR.search(words[:80]):
            yield Seen(self._clock.at(""), self._servers.line(text))
        elif found := _REQUEST_LINE.search(words):
            self._url = found[1] if self._wires.dialect_at(found[1]) else ""
        elif text.strip(_BRACKETS):
            self._notes.leave_out(OTHERS, lambda: f"line {line_of(self._file.data, line.at)}")


def _event(line: Line) -> bytes:
    """A `data:` line with the empty line that logs lose."""
    return b"data: " + line.data + b"\n\n"


def _is_piece(line: Line) -> bool:
    """Whether an answer is one piece of a stream, by what such a piece says of itself."""
    value = mapping(line.value)
    kind = value.get("type")
    is_event = isinstance(kind, str) and kind.startswith(("response.", "message_", "content_block_"))
    return value.get("object") == "chat.completion.chunk" or is_event
