"""One log while it is read, line by line: what of a line is JSON, printed, or text in an object of a logger, and what words say."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import NamedTuple

from tui_host.capture.record import Draft
from tui_host.errors import JSON
from tui_host.opening.course import is_of_a_course
from tui_host.opening.cut_values import OTHERS as CUT_OTHERS
from tui_host.opening.cut_values import known_by_its_beginning, said_before_the_cut
from tui_host.opening.drafts import File, Notes, Seen, line_of, read_value
from tui_host.opening.log_clock import Clock
from tui_host.opening.logs.labels import Habits
from tui_host.opening.logs.lanes import Lanes
from tui_host.opening.logs.linewise import FIELD, PREFIX_MOST, Line, Lines
from tui_host.opening.logs.names import Naming
from tui_host.opening.logs.passed import Passed, address_in
from tui_host.opening.logs.servers import Servers
from tui_host.opening.logs.tangle import Tangles
from tui_host.opening.logs.ways import Ways, words_before
from tui_host.opening.quote import Around
from tui_host.opening.quoted import TEXTS, holds_both, quoted, text_in, texts_in, with_empty_lines
from tui_host.opening.unsupported import LeftOut
from tui_host.opening.wire_detection import Known, Wires, is_bare_error, known

OTHERS = "lines that are of neither wire"

_STDERR = re.compile(r"std_?err|\berr\b", re.IGNORECASE)
_IS_STDERR = re.compile(
    rb"""["'](?:dir|direction|way|stream|channel|source|from|type|kind|event)["']\s*:\s*["']std_?err["']""",
    re.IGNORECASE,
)
"""So an object says that what it has is a line of a server's standard error."""
_FIELD = re.compile(r"(?:data|event):[ \t]?")
_DATA = re.compile(r"(?<!\w)data:[ \t]*\Z")
_DONE = re.compile(rb"data:[ \t]*\[DONE\]")
_NAMED = re.compile(rb"event:[ \t]?([\w.]{1,80})\s*$")
_NUMBERS = re.compile(r"\d+")
_OBJECT = re.compile(rb"""\{(?:\\[nrt]|[ \t])*(?:\\["nu]|')|\[\\n""")
_OBJECT_OR_PIECE = re.compile(rb"""%s|'|\\"|\b(?:data|event):""" % _OBJECT.pattern)
"""Text in JSON that has such in it."""
_REQUEST_LINE = re.compile(r"\bPOST\s+(\S{1,2000})")
_BRACKETS = b" \t[]{},"
"""What is left of a line of a list, or of an object, that is written for eyes."""
_BETWEEN = " \t,;|"
"""What says nothing between two values of a line."""
_ALSO = 4
"""Texts of an object that are looked for at the end of its others."""
_WITHIN = 2
"""Objects of loggers in each other, as where one takes in what another wrote."""


class Taught(NamedTuple):
    """What a log taught of itself.

    Attributes:
        ways: What its words mean.
        habits: Of its answers.
        looks_ahead: What is of several answers is sought where it may be, and no answer is made of it.
        naming: Learns what names exchanges in two files; None where this is read alone.
    """

    ways: Ways
    habits: Habits
    looks_ahead: bool = False
    naming: Naming | None = None


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
        self._wires = wires
        self._notes = notes
        self._taught = taught
        self._at = self._within = 0
        self._label = ""
        self._lead = ""
        self._is_taken = self._is_asked = self._is_cut = False
        self._tangles = Tangles(file.data, self._from)
        lanes = Lanes(notes, peer, replace(taught.habits), self._tangles if taught.looks_ahead else None)
        servers = Servers(notes, peer, file.name, taught.ways)
        self._passed = Passed(wires, lanes, servers, clock, taught.habits, taught.naming)
        self._left_out = LeftOut(file)

    @property
    def habits(self) -> Habits:
        """What it taught of its answers."""
        passed = self._passed
        return replace(
            passed.lanes.habits,
            have_labels=passed.labels.are_several,
            mark=self._taught.habits.mark or passed.marks.name,
            spoken=frozenset(passed.spoken),
        )

    def take(self, line: Line) -> Iterator[Seen]:
        """The next line."""
        self._at = self._passed.at = self._tangles.at = line.at
        self._is_cut = line.cut is not None
        if self._passed.lanes.tangled is not None and line.at >= self._tangles.end:
            yield from self._passed.lanes.untangle()
        is_taken = yield from self._line(line)
        self._is_taken = is_taken or (line.is_more and self._is_taken)
        is_left_out = not self._is_taken and not line.has_more
        if is_left_out or line.text.endswith(b"{"):
            self._left_out.see(line.at, line.text, line.value)
        if is_left_out:
            what = CUT_OTHERS if self._is_cut else OTHERS
            self._notes.leave_out(what, self._file.name, lambda: f"line {line_of(self._file.data, line.at)}")

    def _line(self, line: Line) -> Generator[Seen, None, bool]:
        """A line, of the log or of a text in one of its objects; says whether anything is to be learnt from it."""
        if line.printed is not None and (yield from self._printed(line.printed, line.lead)):
            return True
        if line.cut is not None and (yield from self._beginning(line)):
            return True
        if not line.data or line.cut is not None:
            has_words = not line.is_more or FIELD.match(line.text) is not None
            return has_words and (yield from self._words(line))
        before, self._label = line.before if line.before.strip() else self._label, ""
        if line.is_more or line.has_more:
            before = self._in_one_line(line, before)
        self._passed.hear(before)
        if (yield from self._value(line.data, line.value, before)):
            self._passed.event_name = b""
            return True
        lane = self._passed.lanes.of(self._passed.key(before))
        if lane.is_open and is_bare_error(line.value):
            yield from self._passed.whole(line.data, before)
        elif lane.is_open and _FIELD.search(before):
            yield from self._passed.event(lane, line.data, line.value, "openai", self._passed.clock.at(before))
        else:
            return (yield from self._record(line.data, line.value, before))
        return True

    def _beginning(self, line: Line) -> Generator[Seen, None, bool]:
        """A value that is cut off; says whether it shows what it was."""
        before = line.before if line.before.strip() else self._label
        outer = self._passed.outer or Around("")
        url = address_in(f"{before} {outer.url}", self._wires) or self._passed.url
        it = known_by_its_beginning(line.cut, self._wires.dialect_at(url) if url else "")
        key = self._passed.key(before)
        if it is None and _DATA.search(before) and self._passed.lanes.of(key).is_open:
            it = Known("answer", is_cut=True)  # whose it is shows where it stands
        if it is None:
            return False
        self._label, self._passed.url = "", url
        self._passed.hear(before)
        self._passed.cuts.add(self._at)
        around = Around(before, key=key, server=outer.server)
        yield from self._passed.known(line.data, line.cut, it, around)
        return True

    def _in_one_line(self, line: Line, before: str) -> str:
        """What stands before one of several values of a line: what words between do not tell of time and way those before the first do."""
        it = known(line.value)
        if not line.is_more:
            self._lead = before
        elif self._lead.strip():
            before = words_before(self._lead, line.before)
        has_words = bool(line.before.strip(_BETWEEN)) and _FIELD.search(line.before) is None
        if line.is_more and it and it.kind == "answer" and self._is_asked and has_words:
            self._passed.lanes.answer_next()  # who writes both at once has the answer to that request
        self._is_asked = it is not None and it.kind == "request"
        return before

    def _record(self, data: bytes, value: JSON, before: str) -> Generator[Seen, None, bool]:
        """An object that quotes nothing: loggers have a text in it, which is a line as others write them alone."""
        if _IS_STDERR.search(data) and (yield from self._of_stderr(value, before)):
            return True
        wanted = _OBJECT_OR_PIECE if self._passed.lanes.last.is_open else _OBJECT
        if self._within == _WITHIN or wanted.search(data) is None:
            return False
        outer, taken = self._passed.outer, list[str]()
        lead, is_asked = self._lead, self._is_asked
        self._within += 1
        for around, text in texts_in(value, Around(before)):
            if any(text.rstrip().endswith(each) or each.endswith(text.rstrip()) for each in taken[:_ALSO]):
                continue  # Loguru has the message, and the line at whose end it stands
            self._passed.outer, is_taken = around, False
            for line in Lines(text.encode("utf-8", "surrogatepass")):
                words = line.before or line.text[:PREFIX_MOST].decode("utf-8", "replace")
                inner = line._replace(
                    before=words_before(around.words, words), lead=words_before(around.words, line.lead)
                )
                is_taken |= yield from self._line(inner)
            self._passed.outer = outer
            taken += [text.rstrip()] if is_taken else []
        self._within -= 1
        self._lead, self._is_asked = lead, is_asked
        return bool(taken)

    def _of_stderr(self, value: JSON, before: str) -> Generator[Seen, None, bool]:
        """Lines of standard error that an object has; says whether it has any."""
        said = [(near, text) for near, text in texts_in(value, Around(before), 1) if near.place[-1] in TEXTS]
        for near, text in said[:1]:
            at = self._passed.clock.at(near.words)
            for line in text.rstrip("\r\n").split("\n"):
                yield Seen(at, self._passed.servers.line(line.encode("utf-8", "surrogatepass"), near.server))
        return bool(said)

    def finish(self) -> Iterator[Seen]:
        """The end of the log."""
        yield from self._passed.lanes.finish()
        self._passed.servers.tell_guesses()
        self._notes.told += self._tangles.told(self._file.name)
        self._notes.told += self._passed.cuts.told(self._file)
        self._notes.told += self._left_out.told()
        if count := self._passed.lanes.doubtful:
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
        around = Around(lead, key=self._passed.key(lead), place=("", _NUMBERS.sub("0", lead)))
        if self._passed.goes_on(around, data):
            return (yield from self._passed.part(data, around))
        value = read_value(data) if data.lstrip()[:1] in {b"{", b"["} else None
        if is_bare_error(value) and self._passed.lanes.of(around.key).is_open:
            yield from self._passed.whole(data.strip(), lead)
            return True
        if value is not None:
            return (yield from self._value(data.strip(), value, lead))
        found = [each for each in quoted(data.decode("utf-8", "replace"), lead) if not each.known.is_cut]
        if found and found[0].is_stream:
            return (yield from self._passed.part(with_empty_lines(data), around, found[0].known.dialect))
        lane = self._passed.lanes.of(around.key)
        is_waited_for = lane.is_open and not lane.is_answered
        begun = None if found else said_before_the_cut(data.strip())
        it = known(begun)
        if begun is not None and not (is_waited_for and it and it.kind == "answer"):  # of which the rest may come yet
            line = Line(lead, data.strip(), None, data, self._at, cut=begun)
            if (yield from self._beginning(line)):
                return True
        if not found and data.lstrip()[:1] == b"{" and is_waited_for:
            return (yield from self._passed.part(data, around, form="json"))
        return (yield from self._passed.found(found))

    def _value(self, data: bytes, value: JSON, before: str) -> Generator[Seen, None, bool]:
        """What is JSON in a line; says whether it is of a wire, or quotes what is."""
        it = known(value)
        if it and holds_both(value, it):
            return (yield from self._passed.found(quoted(value, before, self._passed.dialect_at)))
        if it:
            server = "" if self._passed.outer is None else self._passed.outer.server
            yield from self._passed.known(data, value, it, Around(before, key=self._passed.key(before), server=server))
            return True
        text = text_in(value, before, self._passed.place)
        if text is not None and self._passed.goes_on(text[0], text[1].encode("utf-8", "surrogatepass")):
            return (yield from self._passed.part(text[1].encode("utf-8", "surrogatepass"), text[0]))
        return (yield from self._passed.found(quoted(value, before, self._passed.dialect_at)))

    def _words(self, line: Line) -> Generator[Seen, None, bool]:
        """A line without JSON; says whether anything is to be learnt from it."""
        text = line.text
        words = line.before or text[:PREFIX_MOST].decode("utf-8", "replace")
        self._passed.clock.hear(words)
        self._passed.hear(words)
        self._label = words if line.cut is None and words.rstrip().endswith((":", "：")) else ""
        lane = self._passed.lanes.of(self._passed.key(words))
        if lane.is_open and _DONE.search(text):
            yield from self._passed.done(lane)
        elif (event := _NAMED.search(text)) and (lane.is_open or is_of_a_course({"type": event[1].decode()})):
            self._passed.event_name = event[0].strip() + b"\n"  # its data tell whose it is
        elif lane.is_open and text.startswith(b": "):
            yield from lane.answer(text + b"\n\n", self._passed.clock.at(""), dialect="openai", form="sse")
        elif self._passed.outer is not None:
            return False
        elif _STDERR.search(words[:80]):
            yield Seen(self._passed.clock.at(""), self._passed.servers.line(text))
        elif found := _REQUEST_LINE.search(words):
            self._passed.url = found[1] if self._wires.dialect_at(found[1]) else ""
            return line.cut is None
        else:
            return line.cut is None and (bool(self._label) or not text.strip(_BRACKETS))
        return True
