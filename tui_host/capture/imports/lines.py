"""Logs of home-made proxies: request lines and `data:` lines, JSON-RPC lines, with whatever their authors wrote before them.

Such a script writes what it passed on as lines of text: `>>> {…}`, `[2025-12-01 10:00:00] client -> server: {…}`, `输入: {…}`, or each
message, or each exchange, in an object of its own. What of a line is JSON is what was on the wire; what stands around it tells when and
which way. Hosts' own logs of their servers are written so too. Source: tool-protocols.md, section 7.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tui_host.capture.imports.clock import Clock, by_the_last
from tui_host.capture.imports.exchanges import Exchanges
from tui_host.capture.imports.labels import Labels, key_in, label_in
from tui_host.capture.imports.lanes import Habits, Lanes
from tui_host.capture.imports.linewise import PREFIX_MOST, Line, Lines
from tui_host.capture.imports.quoted import Around, Quoted, quoted, text_in, with_empty_lines
from tui_host.capture.imports.seen import LATER, File, Moment, Notes, Progress, Seen, line_of, read_value
from tui_host.capture.imports.servers import Servers
from tui_host.capture.imports.ways import Ways
from tui_host.capture.imports.wires import Known, Wires, is_bare_error, is_piece, known
from tui_host.capture.record import Direction
from tui_host.capture.words import mapping
from tui_host.errors import JSON

OTHERS = "lines that are of neither wire"

_STDERR = re.compile(r"std_?err|\berr\b", re.IGNORECASE)
_FIELD = re.compile(r"(?:data|event):[ \t]?")
_DONE = re.compile(rb"data:[ \t]*\[DONE\]")
_NAMED = re.compile(rb"event:[ \t]?([\w.]{1,80})\s*$")
_NUMBERS = re.compile(r"\d+")
_REQUEST_LINE = re.compile(r"\bPOST\s+(\S{1,2000})")
_BRACKETS = b" \t[]{},"
"""What is left of a line of a list, or of an object, that is written for eyes."""
_LOOKED_AT = 1 << 16
"""Bytes in which the first time is looked for."""
_LEARNT_FROM = 1 << 20
"""Bytes from which the meaning of words is learnt before the first line is given; from there on it is as it is read."""
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


class _Taught(NamedTuple):
    """What a log taught of itself.

    Attributes:
        ways: What its words mean.
        habits: Of its answers.
    """

    ways: Ways
    habits: Habits


def recognise(file: File, wires: Wires) -> bool:
    """Whether at least one line is of a wire."""
    log = _Log(file, wires, Notes(), "", Clock(0), _Taught(Ways(), Habits()))
    return any(seen.draft.wire != "stderr" for line in Lines(file.data) for seen in log.take(line))


def begin_of(file: File, wires: Wires, changed_ns: int, progress: Progress) -> Begin:
    """The first time that a log tells.

    One without dates is read to its end for it, and so there is no row before that: its last line is of the day on which the file was
    last changed, and each midnight before that is counted from there.

    Args:
        file: The log; its time is that of what tells none.
        wires: The dialects.
        changed_ns: When it was last changed itself.
        progress: Told how far it is read, where that is to its end.
    """
    clock = Clock(_SOME_DAY_NS)
    log = _Log(file, wires, Notes(), "", clock, _Taught(Ways(), Habits()))
    lines = Lines(file.data)
    at = 0
    for line in lines:
        deque(log.take(line), maxlen=0)
        if clock.is_dated or (not clock.first_ns and lines.at > _LOOKED_AT):
            break
        if lines.at > _LOOKED_AT:
            progress.expected += 0 if at else len(file.data)
            progress.advance(lines.at - at)
            at = lines.at
    if not clock.first_ns:
        return Begin(file.time_ns)
    if clock.is_dated:
        return Begin(clock.first_ns, is_dated=True)
    return Begin(by_the_last(clock.first_ns, clock.now_ns, changed_ns), is_of_a_day=True)


def read(
    file: File, wires: Wires, notes: Notes, peer: str, begin_ns: int = 0, way: Direction | None = None
) -> Iterator[Seen]:
    """What the lines say, in their order; times never go back, nor before it begins.

    Args:
        file: The log.
        wires: The dialects.
        notes: Told what is left out.
        peer: What a server or provider is called that only this log is known of.
        begin_ns: The first time that it tells.
        way: The way that all its frames went, where that is known.
    """
    clock = Clock(begin_ns, later=lambda: notes.leave_out(LATER))
    log = _Log(file, wires, notes, peer, clock, _Taught(Ways(way), Habits()) if way else _learnt(file, wires))
    lines = Lines(file.data)
    notes.progress.expected += len(file.data)
    at = 0
    for line in lines:
        notes.progress.advance(lines.at - at)
        at = lines.at
        yield from log.take(line)
    yield from log.finish()
    if lines.pythonic:
        notes.told.append(
            f"{file.name} has {lines.pythonic:,} bodies as Python writes them: they are shown as the JSON that says the same."
        )


def _learnt(file: File, wires: Wires) -> _Taught:
    """What the beginning of a log teaches: also of those lines that stand before what teaches it."""
    taught = _heard(file, wires, _Taught(Ways(), Habits()))
    return _heard(file, wires, taught) if taught.habits.have_labels else taught  # what stands behind these, too


def _heard(file: File, wires: Wires, taught: _Taught) -> _Taught:
    log = _Log(file, wires, Notes(), "", Clock(0), taught)
    lines = Lines(file.data)
    for line in lines:
        deque(log.take(line), maxlen=0)
        if lines.at > _LEARNT_FROM:
            break
    return taught._replace(habits=log.habits)


class _Log:
    """What was read of one log so far."""

    def __init__(self, file: File, wires: Wires, notes: Notes, peer: str, clock: Clock, taught: _Taught) -> None:
        self._file = file
        self._notes = notes
        self._wires = wires
        self._clock = clock
        self._lanes = Lanes(notes, peer, replace(taught.habits))
        self._labels = Labels()
        self._have_labels = taught.habits.have_labels
        self._servers = Servers(notes, peer, file.name, taught.ways)
        self._url = ""
        self._label = self._lead = ""
        self._event_line = b""
        self._place: tuple[str, ...] = ()

    @property
    def habits(self) -> Habits:
        """What it taught of its answers."""
        return replace(self._lanes.habits, have_labels=self._labels.are_several)

    def take(self, line: Line) -> Iterator[Seen]:
        """The next line."""
        if line.printed is not None and (yield from self._printed(line.printed, line.lead)):
            return
        if not line.data:
            yield from self._words(line)
            return
        before, self._label = line.before if line.before.strip() else self._label, ""
        self._lead = self._lead_of(before)
        if (yield from self._value(line.data, line.value, before)):
            return
        lane = self._lanes.of(self._key(before))
        if lane.is_open and is_bare_error(line.value):
            yield from self._whole(line.data, before)
        elif lane.is_open and _FIELD.search(before):
            yield from self._event(lane, line.data, line.value, "openai", self._clock.at(before))
        else:
            self._notes.leave_out(OTHERS, lambda: f"line {line_of(self._file.data, line.at)}")

    def finish(self) -> Iterator[Seen]:
        """The end of the log."""
        yield from self._lanes.finish()
        self._servers.tell_guesses()
        if count := self._lanes.doubtful:
            what = "an answer" if count == 1 else f"{count:,} answers"
            self._notes.told.append(
                f"{self._file.name} has {what} to one of several requests: to which is not beyond doubt, and that stands alone."
            )

    def _printed(self, data: bytes, lead: str) -> Generator[Seen, None, bool]:
        """A text or bytes in a line, as they were printed; says whether they are of a wire."""
        around = Around(lead, key=self._key(lead), place=("", _NUMBERS.sub("0", lead)))
        if self._goes_on(around, data):
            return (yield from self._part(data, around))
        value = read_value(data) if data.lstrip()[:1] in {b"{", b"["} else None
        if is_bare_error(value) and self._lanes.of(around.key).is_open:
            yield from self._whole(data.strip(), lead)
            return True
        if value is not None:
            return (yield from self._value(data.strip(), value, lead))
        found = quoted(data.decode("utf-8", "replace"), lead)
        if found and found[0].is_stream:
            return (yield from self._part(with_empty_lines(data), around, found[0].known.dialect))
        lane = self._lanes.of(around.key)
        if not found and data.lstrip()[:1] == b"{" and lane.is_open and not lane.is_answered:
            return (yield from self._part(data, around, form="json"))
        return (yield from self._found(found))

    def _value(self, data: bytes, value: JSON, before: str) -> Generator[Seen, None, bool]:
        """What is JSON in a line; says whether it is of a wire, or quotes what is."""
        if it := known(value):
            yield from self._known(data, value, it, Around(before, key=self._key(before)))
            return True
        text = text_in(value, before, self._place)
        if text is not None and self._goes_on(text[0], text[1].encode("utf-8", "surrogatepass")):
            return (yield from self._part(text[1].encode("utf-8", "surrogatepass"), text[0]))
        return (yield from self._found(quoted(value, before)))

    def _found(self, found: Sequence[Quoted]) -> Generator[Seen, None, bool]:
        """What is quoted; says whether any is of a wire."""
        is_taken = False
        for each in found:
            self._url = each.around.url if self._wires.dialect_at(each.around.url) else self._url
            if each.is_stream:
                is_taken |= yield from self._part(each.data, each.around, each.known.dialect)
            else:
                yield from self._known(each.data, each.value, each.known, each.around)
                is_taken = True
        if len(found) > 1 and found[-1].is_stream and any(each.known.kind == "request" for each in found):
            yield from self._lanes.last.finish()  # one object has all of the exchange
        return is_taken

    def _goes_on(self, around: Around, data: bytes) -> bool:
        """Whether something stands where the last piece of a stream did, and is the next, whatever it says."""
        if around.place != self._place:
            return False
        lane = self._lanes.of(around.key)
        return not data.strip() or (lane.is_open and lane.stream.goes_on(data))

    def _part(self, data: bytes, around: Around, dialect: str = "", form: str = "sse") -> Generator[Seen, None, bool]:
        """A stream's text, or a piece of it; says whether it is one: what tells no dialect is one where something was asked."""
        lane = self._lanes.of(around.key)
        if dialect or lane.is_open:
            lane = self._lanes.answering(around.key, lane.stream.value_in(data))
            yield from self._lanes.ended()
        if lane.stream.begins_anew(data):
            yield from lane.finish()
        if not dialect and not lane.is_open:
            return not data.strip()
        at = self._clock.at(around.words)
        if data := lane.stream.put(data):
            self._place = around.place
            yield from lane.answer(data, at, dialect=dialect, form=form)
        if lane.stream.is_done:
            yield from lane.finish()
        return True

    def _known(self, data: bytes, value: JSON, it: Known, around: Around) -> Iterator[Seen]:
        """What was on a wire itself."""
        at = self._clock.at(around.words)
        if it.kind != "frame" and self._labels.do_name:
            self._labels.hear(label_in(self._naming(around.words)), is_request=it.kind == "request")
        match it.kind:
            case "frame":
                yield Seen(at, self._servers.frame(data, around.words, value, around.server))
            case "request":
                url, self._url, self._event_line = self._url, "", b""
                lane = self._lanes.asking(around.key, data)
                yield from self._lanes.ended()
                yield from lane.request(data, at, dialect=it.dialect, url=url)
            case "answer":
                lane = self._lanes.answering(around.key, value)
                yield from self._lanes.ended()
                yield from self._answer(lane, data, value, it.dialect, at, is_event=bool(_FIELD.search(around.words)))

    def _answer(
        self, lane: Exchanges, data: bytes, value: JSON, dialect: str, at: Moment, *, is_event: bool
    ) -> Iterator[Seen]:
        if is_event or is_piece(value):
            yield from self._event(lane, data, value, dialect, at)
        else:
            form = "ndjson" if dialect == "ollama" else "json"
            yield from lane.answer(data + b"\n", at, dialect=dialect, form=form)
            if form == "json" or mapping(value).get("done") is True:
                yield from lane.finish()

    def _event(self, lane: Exchanges, data: bytes, value: JSON, dialect: str, at: Moment) -> Iterator[Seen]:
        """What a `data:` line has."""
        if lane.stream.is_followed_by(value):
            yield from lane.finish()
        lane.stream.hear(value)
        line, self._event_line = self._event_line, b""
        event = b"%sdata: %s\n\n" % (line, data)  # logs lose the empty line
        yield from lane.answer(event, at, dialect=dialect, form="sse")

    def _whole(self, error: bytes, words: str) -> Iterator[Seen]:
        """An error in a word, as the whole answer."""
        lane = self._lanes.answering(self._key(words))
        yield from self._lanes.ended()
        yield from lane.answer(error, self._clock.at(words), dialect="ollama", form="json")
        yield from lane.finish()

    def _key(self, words: str) -> str:
        """What names the exchange of what these words stand before."""
        words = self._naming(words)
        return key_in(words) or (label_in(words) if self._have_labels and self._labels.do_name else "")

    def _naming(self, words: str) -> str:
        """The words that may name an exchange: a line of a stream that has none was written with the one before."""
        return self._lead + words if _FIELD.match(words) else words

    def _lead_of(self, words: str) -> str:
        """What stands before the last line of a stream that has words of its own."""
        field = _FIELD.search(words)
        if field is None:
            return "" if words.strip() else self._lead
        return words[: field.start()] or self._lead

    def _done(self, lane: Exchanges) -> Iterator[Seen]:
        """A word that a stream has ended."""
        at = self._clock.at("")
        for each in self._lanes.ending() if lane is self._lanes.last else [lane]:
            yield from each.answer(b"data: [DONE]\n\n", at, dialect="openai", form="sse")
            yield from each.finish()

    def _words(self, line: Line) -> Iterator[Seen]:
        """A line without JSON."""
        text = line.text
        words = text[:PREFIX_MOST].decode("utf-8", "replace")
        self._clock.hear(words)
        self._lead = self._lead_of(words)
        self._label = words if words.rstrip().endswith((":", "：")) else ""
        self._event_line = b"" if text.strip() else self._event_line
        lane = self._lanes.of(self._key(words))
        if lane.is_open and _DONE.search(text):
            yield from self._done(lane)
        elif lane.is_open and (event := _NAMED.search(text)):
            self._event_line = event[0].strip() + b"\n"  # its data tell of which stream it is
        elif lane.is_open and text.startswith(b": "):
            yield from lane.answer(text + b"\n\n", self._clock.at(""), dialect="openai", form="sse")
        elif _STDERR.search(words[:80]):
            yield Seen(self._clock.at(""), self._servers.line(text))
        elif found := _REQUEST_LINE.search(words):
            self._url = found[1] if self._wires.dialect_at(found[1]) else ""
        elif not self._label and text.strip(_BRACKETS):
            self._notes.leave_out(OTHERS, lambda: f"line {line_of(self._file.data, line.at)}")
