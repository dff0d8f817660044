"""What a log has that was on the wires, put together: exchanges with models, and the frames of servers."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON
from tui_host.opening.cut_values import CUT, Cuts
from tui_host.opening.drafts import Moment, Seen
from tui_host.opening.exchange_assembly import NO_ANSWER_BUT, NO_STATUS, Exchanges
from tui_host.opening.log_clock import Clock
from tui_host.opening.logs.labels import Habits, Labels, key_in, label_in
from tui_host.opening.logs.lanes import Lanes
from tui_host.opening.logs.marks import Marks, marks_in
from tui_host.opening.logs.names import Naming
from tui_host.opening.logs.servers import Servers
from tui_host.opening.pythonic import written_as_json
from tui_host.opening.quote import Around, Quoted
from tui_host.opening.wire_detection import Known, Wires, dialects_of_request, is_piece

_FIELD = re.compile(r"(?:data|event):[ \t]?")
_ADDRESS = re.compile(r"(?<![^\s\"'`(\[<=:])(?:https?://|/)[^\s\"'`()\[\]<>{},;]{1,2000}")


def address_in(words: str, wires: Wires) -> str:
    """The address of a model that words before something tell; empty if they tell none."""
    return next((found[0] for found in _ADDRESS.finditer(words) if wires.dialect_at(found[0])), "")


class Passed:
    """What of a log was on the wires so far.

    Args:
        wires: The dialects.
        lanes: Its exchanges.
        servers: Its servers.
        clock: Hears its times.
        habits: What the log taught before of its answers.
        names: Learns what names exchanges here and in another file, where that is asked.

    Attributes:
        lanes: Its exchanges.
        servers: Its servers.
        clock: Its time.
        labels: Learns what names an exchange.
        marks: Learns it, too, whatever it is called.
        spoken: The dialects in which answers were written.
        url: Where the next request is sent; empty if that is not told.
        event_name: The line with the name of the next event; empty if there is none.
        outer: What stands around the text in which what comes stands; None where that is a line of the log itself.
        place: Where the last piece of a stream stood.
        lead: What stands before the last line of a stream that has words of its own.
        at: Where the line that is read begins.
        cuts: What is shown up to where it is cut off.
    """

    def __init__(
        self, wires: Wires, lanes: Lanes, servers: Servers, clock: Clock, habits: Habits, names: Naming | None = None
    ) -> None:
        self._wires = wires
        self.lanes = lanes
        self.servers = servers
        self.clock = clock
        self.labels = Labels()
        self.marks = Marks()
        self._names = names
        self._mark = habits.mark
        self._have_labels = habits.have_labels
        self._answered = habits.spoken
        self.spoken: set[str] = set()
        self.url = ""
        self.event_name = b""
        self.outer: Around | None = None
        self.place: tuple[str, ...] = ()
        self.lead = ""
        self.at = 0
        self.cuts = Cuts()

    def key(self, words: str) -> str:
        """What names the exchange of what these words stand before."""
        naming = self._naming(words)
        label = label_in(naming) if self._have_labels and self.labels.do_name else ""
        outer = "" if self.outer is None else self.outer.key
        return self._marked(Around(words)) or key_in(naming) or label or outer

    def _marked(self, around: Around) -> str:
        """What names the exchange as nothing else of the log surely does; empty if nothing is known to."""
        if not self._mark:
            return ""
        return marks_in(self._near(around)).get(self._mark, "")

    def _near(self, around: Around) -> Around:
        """All that may name an exchange of what stands around something."""
        outer = self.outer or Around("")
        return around._replace(words=self._naming(around.words), members={**outer.members, **around.members})

    def hear(self, words: str) -> None:
        """What stands before the next line, or is all of it."""
        field = _FIELD.search(words)
        if field is not None:
            self.lead = words[: field.start()] or self.lead
        elif words.strip():
            self.lead = ""

    def _naming(self, words: str) -> str:
        """The words that may name an exchange: a line of a stream that has none was written with the one before."""
        return self.lead + words if _FIELD.match(words) else words

    def dialect_at(self, around: Around) -> str:
        """The dialect of the address that is told around something, or was told before it; empty if none is."""
        url = address_in(f"{around.words} {around.url}", self._wires) or self.url
        return self._wires.dialect_at(url) if url else ""

    def found(self, found: Sequence[Quoted]) -> Generator[Seen, None, bool]:
        """What is quoted; says whether any is of a wire."""
        is_taken = False
        has_both = {each.known.kind for each in found} >= {"request", "answer"}
        for each in found:
            self.url = each.around.url if self._wires.dialect_at(each.around.url) else self.url
            if each.is_stream:
                is_taken |= yield from self.part(each.data, each.around, each.known.dialect)
            else:
                yield from self.known(each.data, each.value, each.known, each.around)
                is_taken = True
                if each.known.is_cut:
                    self.cuts.add(self.at)
            if has_both and each.known.kind == "request":
                self.lanes.answer_next()
        if len(found) > 1 and found[-1].is_stream and any(each.known.kind == "request" for each in found):
            yield from self.lanes.last.finish()  # one object has all of the exchange
        return is_taken

    def goes_on(self, around: Around, data: bytes) -> bool:
        """Whether something stands where the last piece of a stream did, and is the next, whatever it says."""
        if around.place != self.place:
            return False
        lane = self.lanes.of(self._marked(around) or around.key)
        return not data.strip() or (lane.is_open and lane.stream.goes_on(data))

    def part(self, data: bytes, around: Around, dialect: str = "", form: str = "sse") -> Generator[Seen, None, bool]:
        """A stream's text, or a piece of it; says whether it is one: what tells no dialect is one where something was asked."""
        self.spoken |= {dialect} - {""}
        key = self._marked(around) or around.key
        lane = self.lanes.of(key)
        if dialect or lane.is_open:
            self._hear(around, data, None, is_request=False)
            lane = self.lanes.answering(key, lane.stream.value_in(data))
            yield from self.lanes.ended()
        if lane.begins_anew(data):
            yield from lane.finish()
        if not dialect and not lane.is_open:
            return not data.strip()
        at = self.clock.at(around.words)
        lane.stream.tell_cut = self.cuts.add
        if data := lane.stream.put(data, self.at):
            self.place = around.place
            yield from lane.answer(data, at, dialect=dialect, form=form)
        if lane.stream.is_done:
            yield from lane.end()
        return True

    def known(self, data: bytes, value: JSON, it: Known, around: Around) -> Iterator[Seen]:
        """What was on a wire itself."""
        at = self.clock.at(around.words)
        if it.kind != "frame" and self.labels.do_name:
            self.labels.hear(label_in(self._naming(around.words)), is_request=it.kind == "request")
        if it.kind != "frame":
            self._hear(around, data, value, is_request=it.kind == "request")
        key = self._marked(around) or around.key
        match it.kind:
            case "frame":
                cut = CUT if it.is_cut else ""
                yield Seen(at, self.servers.frame(data, around.words, value, around.server, cut))
            case "request":
                url, self.url, self.event_name = address_in(around.words, self._wires) or self.url, "", b""
                lane = self.lanes.asking(key, b"" if it.is_cut else data)
                yield from self.lanes.ended()
                dialect = self._dialect_of(value, it.dialect)
                yield from lane.request(data, at, dialect=dialect, url=url, malformed=CUT if it.is_cut else None)
            case "answer":
                self.spoken |= {it.dialect} - {""}
                lane = self.lanes.answering(key, value)
                yield from self.lanes.ended()
                yield from self._answer(lane, data, value, it, at, is_event=bool(_FIELD.search(around.words)))

    def _hear(self, around: Around, data: bytes, value: JSON, *, is_request: bool) -> None:
        if self._names is not None:
            self._names.hear(self._near(around), data, value, is_request=is_request)
        elif not self._mark:
            self.marks.hear(self._near(around), data, value, is_request=is_request)

    def _dialect_of(self, value: JSON, dialect: str) -> str:
        """That of a request: where it may be one of several, the one in which it is answered, if that is told apart."""
        fitting = dialects_of_request(value, dialect) & self._answered
        return next(iter(fitting)) if len(fitting) == 1 else dialect

    def _answer(
        self, lane: Exchanges, data: bytes, value: JSON, it: Known, at: Moment, *, is_event: bool
    ) -> Iterator[Seen]:
        are_pieces = is_event or is_piece(value) or mapping(value).get("done") is False or lane.is_answered
        if are_pieces and b"\n" in data and not it.is_cut:
            data = written_as_json(value)  # a stream has each in a line, which whoever wrote it for eyes took apart
        if is_event or is_piece(value):
            yield from self.event(lane, data, value, it.dialect, at)
            lane.cut = CUT if it.is_cut else lane.cut
        else:
            form = "ndjson" if it.dialect == "ollama" else "json"
            lacks = NO_ANSWER_BUT if it.is_message else NO_STATUS
            yield from lane.answer(data + b"\n", at, dialect=it.dialect, form=form, lacks=lacks)
            lane.cut = CUT if it.is_cut else lane.cut
            if form == "json" or mapping(value).get("done") is True:
                yield from lane.end()

    def event(self, lane: Exchanges, data: bytes, value: JSON, dialect: str, at: Moment) -> Iterator[Seen]:
        """What a `data:` line has."""
        if lane.is_followed_by(value):
            yield from lane.finish()
        lane.stream.hear(value)
        name, self.event_name = self.event_name, b""
        yield from lane.answer(
            b"%sdata: %s\n\n" % (name, data), at, dialect=dialect, form="sse"
        )  # logs lose the empty line

    def whole(self, error: bytes, words: str) -> Iterator[Seen]:
        """An error in a word, as the whole answer."""
        lane = self.lanes.answering(self.key(words))
        yield from self.lanes.ended()
        yield from lane.answer(error, self.clock.at(words), dialect="ollama", form="json")
        yield from lane.end()

    def done(self, lane: Exchanges) -> Iterator[Seen]:
        """A word that a stream has ended."""
        at = self.clock.at("")
        for each in self.lanes.ending() if lane is self.lanes.last else [lane]:
            yield from each.answer(b"data: [DONE]\n\n", at, dialect="openai", form="sse")
            yield from each.end()
