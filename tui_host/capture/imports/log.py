"""One log while it is read: what of a line was on a wire, which exchange or connection it is of, and when and which way it went."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tui_host.capture.imports.clock import Clock
from tui_host.capture.imports.course import is_of_a_course
from tui_host.capture.imports.exchanges import NO_ANSWER_BUT, NO_STATUS, Exchanges
from tui_host.capture.imports.labels import Habits, Labels, key_in, label_in
from tui_host.capture.imports.lanes import Lanes
from tui_host.capture.imports.linewise import PREFIX_MOST, Line, Lines
from tui_host.capture.imports.quoted import (
    Around,
    Quoted,
    holds_both,
    quoted,
    text_in,
    texts_in,
    with_empty_lines,
)
from tui_host.capture.imports.seen import File, Moment, Notes, Seen, line_of, read_value
from tui_host.capture.imports.servers import Servers
from tui_host.capture.imports.tangle import Tangles
from tui_host.capture.imports.ways import Ways, words_before
from tui_host.capture.imports.wires import Known, Wires, is_bare_error, is_piece, known
from tui_host.capture.record import Draft
from tui_host.capture.words import mapping
from tui_host.errors import JSON

OTHERS = "lines that are of neither wire"

_STDERR = re.compile(r"std_?err|\berr\b", re.IGNORECASE)
_FIELD = re.compile(r"(?:data|event):[ \t]?")
_DONE = re.compile(rb"data:[ \t]*\[DONE\]")
_NAMED = re.compile(rb"event:[ \t]?([\w.]{1,80})\s*$")
_NUMBERS = re.compile(r"\d+")
_OBJECT = re.compile(rb"""\{(?:\\[nrt]|[ \t])*(?:\\["nu]|')|\[\\n""")
_OBJECT_OR_PIECE = re.compile(rb"""%s|'|\\"|\b(?:data|event):""" % _OBJECT.pattern)
"""Text in JSON that has such in it."""
_REQUEST_LINE = re.compile(r"\bPOST\s+(\S{1,2000})")
_BRACKETS = b" \t[]{},"
"""What is left of a line of a list, or of an object, that is written for eyes."""


WITHIN = 2
"""Objects of loggers in each other, as where one takes in what another wrote."""


class Taught(NamedTuple):
    """What a log taught of itself.

    Attributes:
        ways: What its words mean.
        habits: Of its answers.
        looks_ahead: What is of several answers is sought where it may be, and no answer is made of it.
    """

    ways: Ways
    habits: Habits
    looks_ahead: bool = False


class Log:
    """What was read of one log so far.

    Args:
        file: The log.
        wires: The dialects.
        notes: Told what is left out.
        peer: What a server or provider is called that only this log is known of.
        clock: Hears its times.
        taught: What it taught before.
    """

    def __init__(self, file: File, wires: Wires, notes: Notes, peer: str, clock: Clock, taught: Taught) -> None:
        self._file = file
        self._taught = taught
        self._at = 0
        self._event_name = b""
        self._outer: Around | None = None
        self._within = 0
        self._tangles = Tangles(file.data, self._from)
        self._notes = notes
        self._wires = wires
        self._clock = clock
        self._lanes = Lanes(
            notes,
            peer,
            replace(taught.habits),
            (lambda: self._tangles.are_at(self._at)) if taught.looks_ahead else (lambda: False),
        )
        self._labels = Labels()
        self._have_labels = taught.habits.have_labels
        self._servers = Servers(notes, peer, file.name, taught.ways)
        self._url = ""
        self._label = ""
        self._place: tuple[str, ...] = ()

    @property
    def habits(self) -> Habits:
        """What it taught of its answers."""
        return replace(self._lanes.habits, have_labels=self._labels.are_several)

    def take(self, line: Line) -> Iterator[Seen]:
        """The next line."""
        self._at = line.at
        if self._lanes.tangled is not None and line.at >= self._tangles.end:
            yield from self._lanes.untangle()
        if not (yield from self._line(line)):
            self._notes.leave_out(OTHERS, lambda: f"line {line_of(self._file.data, line.at)}")

    def _line(self, line: Line) -> Generator[Seen, None, bool]:
        """A line, of the log or of a text in one of its objects; says whether anything is to be learnt from it."""
        if line.printed is not None and (yield from self._printed(line.printed, line.lead)):
            return True
        if not line.data:
            return (yield from self._words(line))
        before, self._label = line.before if line.before.strip() else self._label, ""
        lane = self._lanes.last
        if (yield from self._value(line.data, line.value, before)):
            self._event_name = b""
            return True
        if lane.is_open and is_bare_error(line.value):
            yield from self._whole(line.data, self._clock.at(before), "ollama", "json")
        elif lane.is_open and _FIELD.search(before):
            yield from self._event(lane, line.data, line.value, "openai", self._clock.at(before))
        else:
            return (yield from self._record(line.data, line.value, before))
        return True

    def _record(self, data: bytes, value: JSON, before: str) -> Generator[Seen, None, bool]:
        """An object that quotes nothing: loggers have a text in it, which is a line as others write them alone."""
        wanted = _OBJECT_OR_PIECE if self._lanes.last.is_open else _OBJECT
        if self._within == WITHIN or wanted.search(data) is None:
            return False
        outer, is_taken = self._outer, False
        self._within += 1
        for around, text in texts_in(value, Around(before)):
            self._outer = around
            for line in Lines(text.encode("utf-8", "surrogatepass")):
                words = line.before or line.text[:PREFIX_MOST].decode("utf-8", "replace")
                inner = line._replace(
                    before=words_before(around.words, words), lead=words_before(around.words, line.lead)
                )
                is_taken |= yield from self._line(inner)
            self._outer = outer
        self._within -= 1
        return is_taken

    def finish(self) -> Iterator[Seen]:
        """The end of the log."""
        yield from self._lanes.finish()
        self._servers.tell_guesses()
        self._notes.told += self._tangles.told(self._file.name)
        if count := self._lanes.doubtful:
            what = "an answer" if count == 1 else f"{count:,} answers"
            self._notes.told.append(
                f"{self._file.name} has {what} to one of several requests: to which is not beyond doubt, and that stands alone."
            )

    def _from(self, at: int) -> Iterator[tuple[int, Draft]]:
        """What comes from a place on, where it is read as if all came after each other, and the place of each."""
        log = Log(self._file, self._wires, Notes(), "", Clock(0), Taught(Ways(), self._taught.habits))
        return ((line.at, each.draft) for line in Lines(self._file.data, at) for each in log.take(line))

    def _printed(self, data: bytes, lead: str) -> Generator[Seen, None, bool]:
        """A text or bytes in a line, as they were printed; says whether they are of a wire."""
        around = Around(lead, key=self._key(lead), place=("", _NUMBERS.sub("0", lead)))
        if self._goes_on(around, data):
            return (yield from self._part(data, around))
        value = read_value(data) if data.lstrip()[:1] in {b"{", b"["} else None
        if self._lanes.last.is_open and is_bare_error(value):
            yield from self._whole(data.strip(), self._clock.at(lead), "ollama", "json")
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
        it = known(value)
        if it and holds_both(value, it):
            return (yield from self._found(quoted(value, before)))
        if it:
            server = "" if self._outer is None else self._outer.server
            yield from self._known(data, value, it, Around(before, key=self._key(before), server=server))
            return True
        text = text_in(value, before, self._place)
        if text is not None and self._goes_on(text[0], text[1].encode("utf-8", "surrogatepass")):
            return (yield from self._part(text[1].encode("utf-8", "surrogatepass"), text[0]))
        return (yield from self._found(quoted(value, before)))

    def _found(self, found: Sequence[Quoted]) -> Generator[Seen, None, bool]:
        """What is quoted; says whether any is of a wire."""
        is_taken = False
        has_both = {each.known.kind for each in found} >= {"request", "answer"}
        for each in found:
            self._url = each.around.url if self._wires.dialect_at(each.around.url) else self._url
            if each.is_stream:
                is_taken |= yield from self._part(each.data, each.around, each.known.dialect)
            else:
                yield from self._known(each.data, each.value, each.known, each.around)
                is_taken = True
            if has_both and each.known.kind == "request":
                self._lanes.answer_next()
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
        if lane.begins_anew(data):
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
            self._labels.hear(label_in(around.words), is_request=it.kind == "request")
        match it.kind:
            case "frame":
                yield Seen(at, self._servers.frame(data, around.words, value, around.server))
            case "request":
                url, self._url = self._url, ""
                lane = self._lanes.asking(around.key, data)
                yield from self._lanes.ended()
                yield from lane.request(data, at, dialect=it.dialect, url=url)
            case "answer":
                lane = self._lanes.answering(around.key, value)
                yield from self._lanes.ended()
                yield from self._answer(lane, data, value, it, at, is_event=bool(_FIELD.search(around.words)))

    def _answer(
        self, lane: Exchanges, data: bytes, value: JSON, it: Known, at: Moment, *, is_event: bool
    ) -> Iterator[Seen]:
        if is_event or is_piece(value):
            yield from self._event(lane, data, value, it.dialect, at)
        else:
            form = "ndjson" if it.dialect == "ollama" else "json"
            lacks = NO_ANSWER_BUT if it.is_message else NO_STATUS
            yield from lane.answer(data + b"\n", at, dialect=it.dialect, form=form, lacks=lacks)
            if form == "json" or mapping(value).get("done") is True:
                yield from lane.finish()

    def _event(self, lane: Exchanges, data: bytes, value: JSON, dialect: str, at: Moment) -> Iterator[Seen]:
        """What a `data:` line has."""
        if lane.is_followed_by(value):
            yield from lane.finish()
        lane.stream.hear(value)
        name, self._event_name = self._event_name, b""
        yield from lane.answer(
            b"%sdata: %s\n\n" % (name, data), at, dialect=dialect, form="sse"
        )  # logs lose the empty line

    def _whole(self, data: bytes, at: Moment, dialect: str, form: str) -> Iterator[Seen]:
        lane = self._lanes.answering("")
        yield from self._lanes.ended()
        yield from lane.answer(data, at, dialect=dialect, form=form)
        yield from lane.finish()

    def _key(self, words: str) -> str:
        """What names the exchange of what these words stand before."""
        label = label_in(words) if self._have_labels and self._labels.do_name else ""
        return key_in(words) or label or (self._outer.key if self._outer is not None else "")

    def _done(self, lane: Exchanges) -> Iterator[Seen]:
        """A word that a stream has ended."""
        at = self._clock.at("")
        for each in self._lanes.ending() if lane is self._lanes.last else [lane]:
            yield from each.answer(b"data: [DONE]\n\n", at, dialect="openai", form="sse")
            yield from each.finish()

    def _words(self, line: Line) -> Generator[Seen, None, bool]:
        """A line without JSON; says whether anything is to be learnt from it."""
        text = line.text
        words = line.before or text[:PREFIX_MOST].decode("utf-8", "replace")
        self._clock.hear(words)
        self._label = words if words.rstrip().endswith((":", "：")) else ""
        lane = self._lanes.last
        if _DONE.search(text) and (done := self._lanes.of(self._key(words))).is_open:
            yield from self._done(done)
        elif (event := _NAMED.search(text)) and (lane.is_open or is_of_a_course({"type": event[1].decode()})):
            self._event_name = event[0].strip() + b"\n"  # its data tell whose it is
        elif lane.is_open and text.startswith(b": "):
            yield from lane.answer(text + b"\n\n", self._clock.at(""), dialect="openai", form="sse")
        elif self._outer is not None:
            return False
        elif _STDERR.search(words[:80]):
            yield Seen(self._clock.at(""), self._servers.line(text))
        elif found := _REQUEST_LINE.search(words):
            self._url = found[1] if self._wires.dialect_at(found[1]) else ""
        else:
            return bool(self._label) or not text.strip(_BRACKETS)
        return True
