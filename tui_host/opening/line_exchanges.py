"""Puts exchanges with a model together from the requests and answers in lines, and finds which answer is to which request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui_host.capture.http.exchange_end import CUT
from tui_host.capture.record import MISSING
from tui_host.llm.body_kinds import AnswerPart
from tui_host.llm.dialects.table import dialect_at
from tui_host.opening.file_wires import FileWires, lacks

if TYPE_CHECKING:
    from tui_host.capture.http.observer import ObservedExchange
    from tui_host.opening.bodies import Body
    from tui_host.opening.files import CapturedFile

NO_HEAD = "method, address and headers: the file has the body alone"
NO_HEADERS = "headers: the file has the body and the address alone"
NO_REQUEST = "the request: the file has the answer alone"
NO_STATUS = "status and headers: the file has the body alone, which tells the type that follows"
MIXED = "events of several answers stand among each other, and nothing tells them apart"
ALONE = "several requests wait, and nothing tells to which this answer belongs: it stands alone"
REMEDY = "Record with tui-host tap, which sees each connection by itself."

_TYPES = {"sse": "text/event-stream", "ndjson": "application/x-ndjson", "json": "application/json"}
_MOST = 32  # requests that wait: more are waited for by nobody
_AT_ONCE = 1 << 16  # bytes of events without times that make one record


@dataclass(slots=True, eq=False)
class _Exchange:
    """An exchange as far as it was read.

    Attributes:
        sent: The request's body; empty if it is not in the file.
        dialects: Those in which the request may be written.
        at_ns: The time of what was read last; None if the file does not tell it.
        form: The form of the answer, as in `_TYPES`; empty before an answer.
        dialect: The answer's dialect; empty as long as nothing tells it.
        stream: The id in the answer's events; empty as long as none has one.
        is_finished: Whether the answer's message has ended: only usage or `[DONE]` may follow.
        is_cut: Whether the last event breaks off.
        is_open: Whether no empty line stands behind the last event.
    """

    sent: bytes = b""
    dialects: tuple[str, ...] = ()
    url: str = ""
    at_ns: int | None = None
    observed: ObservedExchange | None = None
    form: str = ""
    dialect: str = ""
    stream: str = ""
    is_finished: bool = False
    is_mixed: bool = False
    is_cut: bool = False
    is_open: bool = False
    gathered: bytearray = field(default_factory=bytearray)


class LineExchanges:
    """The exchanges with models of one file."""

    def __init__(self, file: CapturedFile, wires: FileWires) -> None:
        self._file = file
        self._wires = wires
        self._open: list[_Exchange] = []
        self._last: _Exchange | None = None  # whose answer came last
        self._told: set[str] = set()

    @property
    def is_waiting(self) -> bool:
        """Whether a request has no answer yet."""
        return any(not exchange.form for exchange in self._open)

    @property
    def is_streaming(self) -> bool:
        """Whether a streamed answer goes on."""
        return self._last is not None and self._last.form == "sse"

    def request(self, sent: bytes, dialects: tuple[str, ...], url: str, at_ns: int | None) -> None:
        """Take in a request."""
        self.settle()
        for exchange in list(self._open):
            if not exchange.form and exchange.sent == sent:  # it is sent again
                self._end(exchange)
        if len(self._open) > _MOST:
            self._end(self._open[0])
        named = dialect_at(url)
        dialects = dialects if named is None else (named.name,)
        self._open.append(_Exchange(sent=sent, dialects=dialects, url=url, at_ns=at_ns))

    def answer(
        self, data: bytes, body: Body | None, form: str, at_ns: int | None, *, line: int, is_cut: bool = False
    ) -> None:
        """Take in bytes of an answer.

        Args:
            data: The bytes.
            body: What they are; None for a part of the event that goes on.
            form: `sse`, `ndjson` or `json`.
            at_ns: When they came; None if the file does not tell it.
            line: Where the line begins, for a message.
            is_cut: Whether an event breaks off in them.
        """
        part = AnswerPart(is_event=True) if body is None or body.part is None else body.part
        dialect = "" if body is None else body.dialects[0]
        exchange = self._last
        if exchange is None or body is not None:
            exchange = self._exchange_of(part, dialect, line)
        self._begin(exchange, dialect)
        if exchange is not self._last:
            self.settle()
        if not exchange.form:
            exchange.form = form
            self._report_head(exchange, at_ns)
        elif exchange.gathered and (at_ns is not None or len(exchange.gathered) > _AT_ONCE):
            self._flush(exchange)
        if not exchange.gathered:
            exchange.at_ns = at_ns
        if exchange.is_open and body is not None:
            exchange.gathered += b"\n"  # which is dropped by whoever writes line by line
        exchange.gathered += data
        exchange.is_cut = is_cut
        exchange.is_open = form == "sse" and bool(data.strip()) and not data.endswith((b"\n\n", b"\r\n\r\n"))
        self._last = exchange
        self._learn(exchange, part, dialect, line)
        if form == "json":
            self._end(exchange)

    def settle(self) -> None:
        """Report what waits for more, before anything else that comes later."""
        for exchange in list(self._open):
            if exchange.is_finished:
                self._end(exchange)
            else:
                self._begin(exchange, "")
                self._flush(exchange)

    def end_all(self) -> None:
        """End all exchanges, at the end of the file."""
        for exchange in list(self._open):
            self._end(exchange)

    def _exchange_of(self, part: AnswerPart, dialect: str, line: int) -> _Exchange:
        if part.stream:
            for exchange in self._open:
                if exchange.stream == part.stream:
                    return exchange
        last = self._last
        is_rest = part.is_empty and not part.begins  # the number of tokens, or the stream's end
        goes_on = is_rest or not (part.begins or (last is not None and last.is_finished))
        if last is not None and part.is_event and goes_on and not (part.stream and last.stream):
            return last
        waiting = [exchange for exchange in self._open if not exchange.form]
        waiting = [exchange for exchange in waiting if not dialect or dialect in exchange.dialects] or waiting
        if len(waiting) == 1:
            return waiting[0]
        if last is not None and part.begins and not (last.is_finished or last.stream):
            last.is_mixed = True  # nothing will tell its events and those of the new one apart
            return last
        if waiting:
            self._tell(ALONE, line)
        for exchange in waiting:  # nobody knows which of them got it
            self._end(exchange)
        alone = _Exchange()
        self._open.append(alone)
        return alone

    def _learn(self, exchange: _Exchange, part: AnswerPart, dialect: str, line: int) -> None:
        """Note what a part says of its answer."""
        is_other = bool(dialect and exchange.dialect) and dialect != exchange.dialect and not part.is_empty
        ends_again = part.ends and exchange.is_finished and dialect != "gemini"  # which may say so in each event
        exchange.is_mixed |= is_other or ends_again
        exchange.dialect = exchange.dialect or dialect
        exchange.stream = exchange.stream or part.stream
        exchange.is_finished |= part.ends
        if exchange.is_mixed:
            self._tell(MIXED, line)

    def _tell(self, what: str, line: int) -> None:
        if what not in self._told:
            self._told.add(what)
            self._wires.messages.append(f"{self._file.name}, {self._file.line_at(line)}: {what}. {REMEDY}")

    # Reporting.

    def _begin(self, exchange: _Exchange, dialect: str) -> None:
        """Report the request, if it waits: its answer may tell its dialect."""
        if exchange.observed is not None:
            return
        if dialect in exchange.dialects or not exchange.dialects:
            exchange.dialects = (dialect,)
        method, url, what = "", f"{exchange.dialects[0]}:", NO_HEAD
        if exchange.url:
            method, url, what = "POST", exchange.url, NO_HEADERS
        elif not exchange.sent:
            what = NO_REQUEST
        self._wires.at(exchange.at_ns)
        exchange.observed = self._wires.model(self._file.peer).begin(
            method,
            url,
            (lacks(what),),
            exchange.sent,
            self._wires.place,
            lacks="" if exchange.sent else MISSING,
        )

    def _report_head(self, exchange: _Exchange, at_ns: int | None) -> None:
        self._wires.at(at_ns)
        if exchange.observed is not None:
            exchange.observed.response(0, (lacks(NO_STATUS), ("content-type", _TYPES[exchange.form])))

    def _flush(self, exchange: _Exchange) -> None:
        if exchange.gathered and exchange.observed is not None:
            self._wires.at(exchange.at_ns)
            exchange.observed.chunk(bytes(exchange.gathered))
            exchange.gathered.clear()

    def _end(self, exchange: _Exchange) -> None:
        self._begin(exchange, "")
        self._flush(exchange)
        self._open.remove(exchange)
        self._last = None if self._last is exchange else self._last
        observed = exchange.observed
        if observed is None:
            return
        self._wires.at(exchange.at_ns)
        if exchange.is_mixed:
            observed.fail(MIXED)
        elif not exchange.form:
            observed.not_in_file()
        elif exchange.is_cut:
            observed.fail(CUT, "cut by peer")
        else:
            observed.end()
