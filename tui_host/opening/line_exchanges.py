"""Puts exchanges with a model together from the requests and answers in lines, and finds which answer is to which request."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tui_host.capture.http.observer import ObservedExchange
from tui_host.capture.record import MISSING, NOT_KNOWN
from tui_host.llm.body_kinds import AnswerPart
from tui_host.llm.dialects.table import dialect_at
from tui_host.opening.bodies import BodyForm
from tui_host.opening.file_wires import FileWires

MIXED = "events of several answers stand among each other, and nothing tells them apart: record with tui-host tap"

_NO_HEAD = NOT_KNOWN, "method, address and headers: the file has the body alone"
_NO_HEADERS = NOT_KNOWN, "headers: the file has the body and the address alone"
_NO_REQUEST = NOT_KNOWN, "the request: the file has the answer alone"
_NO_STATUS = NOT_KNOWN, "status and headers: the file has the body alone, which tells the type that follows"
_TYPES = {"sse": "text/event-stream", "ndjson": "application/x-ndjson", "json": "application/json"}
# what an event has that begins or ends an answer, or is no answer's
_TURNS = {
    "openai": (b'"error"', b'"jsonrpc"', b'_reason": "', b'_reason":"', b'"usage'),
    "openai-responses": (b'"error"', b'"jsonrpc"', b"response.c", b"response.f", b"response.inc"),
    "anthropic": (b'"error"', b'"jsonrpc"', b"message_st"),
}
_UNENDED = re.compile(rb"(\}\r?\n)(?=data:)")  # an event without the empty line behind it
_MOST = 32  # requests that wait: for an answer to more, nobody waits
_AT_ONCE = 1 << 16  # bytes of events without times that make one record


@dataclass(slots=True, eq=False)
class _Exchange:
    """An exchange as far as it was read."""

    sent: bytes = b""  # empty if the request is not in the file
    dialects: tuple[str, ...] = ()  # in which the request may be written
    url: str = ""
    at_ns: int | None = None  # of what was read last; None if the file does not tell it
    observed: ObservedExchange | None = None
    form: str = ""  # of the answer, as in `_TYPES`; empty before it
    dialect: str = ""  # of the answer; empty as long as nothing tells it
    stream: str = ""  # the id in the answer's events
    is_finished: bool = False  # only usage or `[DONE]` may follow
    is_mixed: bool = False
    is_open: bool = False  # no empty line stands behind the last event
    gathered: bytearray = field(default_factory=bytearray)


@dataclass(slots=True, eq=False)
class LineExchanges:
    """The exchanges with models of one file."""

    _wires: FileWires
    _peer: str
    open: list[_Exchange] = field(default_factory=list[_Exchange])  # those without a form have no answer yet
    _last: _Exchange | None = None  # whose answer came last

    @property
    def is_streaming(self) -> bool:
        """Whether a streamed answer goes on."""
        return self._last is not None and self._last.form == "sse"

    def request(self, sent: bytes, dialects: tuple[str, ...], url: str, at_ns: int | None) -> None:
        """Take in a request."""
        self.settle()
        for exchange in list(self.open):
            if not exchange.form and exchange.sent == sent:  # it is sent again
                self._end(exchange)
        if len(self.open) > _MOST:
            self._end(self.open[0])
        named = dialect_at(url)
        self.open.append(_Exchange(sent, dialects if named is None else (named.name,), url, at_ns))

    def go_on(self, run: bytes, at: int) -> int:
        """Take in, without parsing them, those events of a run that surely go on with the last answer; return their end."""
        last = self._last
        if last is None or last.form != "sse" or last.is_finished or len(self.open) > 1 or last.dialect not in _TURNS:
            return at
        marks = _TURNS[last.dialect] if last.stream else (*_TURNS[last.dialect], b'"id"')
        turns = [place for mark in marks if (place := run.find(mark, at)) >= 0]
        end = len(run)
        if turns:
            end = run.rfind(b"\ndata:", at, min(turns)) + 1 or at
        stream = last.stream.encode()
        if stream and run.count(stream, at, end) != run.count(b"\ndata:", at, end) + 1:
            following = run.find(b"\ndata:", at) + 1 or len(run)
            end = following if following <= end and run.find(stream, at, following) >= 0 else at
        if end > at:
            self._gather(last, _UNENDED.sub(rb"\1\n", run[at:end]), None, begins=True)
        return end

    def answer(self, data: bytes, body: BodyForm | None, form: str, at_ns: int | None) -> None:
        """Take in bytes of an answer, in the form `sse`, `ndjson` or `json`; `body` is None for a part of the last event."""
        part, dialect = (AnswerPart(is_event=True), "") if body is None else (body.part, body.dialects[0])
        exchange = self._last
        if exchange is None or body is not None:
            exchange = self._exchange_of(part, dialect)
        is_other = bool(dialect and exchange.dialect) and dialect != exchange.dialect and not part.is_empty
        ends_again = part.ends and exchange.is_finished and dialect != "gemini"  # which may say so in each event
        exchange.is_mixed |= is_other or ends_again
        exchange.dialect = exchange.dialect or dialect
        exchange.stream = exchange.stream or part.stream
        observed = exchange.observed or self._flush(exchange)
        if exchange is not self._last:
            self.settle()
        if not exchange.form:
            exchange.form = form
            self._wires.at(at_ns)
            observed.response(0, (_NO_STATUS, ("content-type", _TYPES[form])))
        self._gather(exchange, data, at_ns, begins=body is not None)
        self._last = exchange
        exchange.is_finished |= part.ends
        if form == "json":
            self._end(exchange)

    def settle(self, *, is_over: bool = False) -> None:
        """Report what waits for more, before anything else that comes later; at the end of the file, all."""
        for exchange in list(self.open):
            if exchange.is_finished or is_over:
                self._end(exchange)
            else:
                self._flush(exchange)

    def _exchange_of(self, part: AnswerPart, dialect: str) -> _Exchange:
        """Find the exchange of a part of an answer; a new one without a request where nothing tells it."""
        last = self._last
        for exchange in self.open:
            if part.stream and exchange.stream == part.stream:
                return exchange
        is_rest = part.is_empty and not part.begins  # the number of tokens, or the stream's end
        goes_on = is_rest or not (part.begins or (last is not None and last.is_finished))
        if last is not None and part.is_event and goes_on and not (part.stream and last.stream):
            return last
        waiting = [exchange for exchange in self.open if not exchange.form]
        waiting = [exchange for exchange in waiting if not dialect or dialect in exchange.dialects] or waiting
        if len(waiting) == 1:
            return waiting[0]
        if last is not None and part.begins and not (last.is_finished or last.stream):
            last.is_mixed = True  # nothing will tell its events and those of the new one apart
            return last
        for exchange in waiting:  # nobody knows which of them got it
            self._end(exchange)
        self.open.append(_Exchange())
        return self.open[-1]

    def _gather(self, exchange: _Exchange, data: bytes, at_ns: int | None, *, begins: bool) -> None:
        """Keep bytes of an answer, until there are many, or another time."""
        if exchange.gathered and (at_ns is not None or len(exchange.gathered) > _AT_ONCE):
            self._flush(exchange)
        if not exchange.gathered:
            exchange.at_ns = at_ns
        if exchange.is_open and begins:
            exchange.gathered += b"\n"  # which is dropped by whoever writes line by line
        exchange.gathered += data
        is_event = exchange.form == "sse" and not data.isspace()
        exchange.is_open = is_event and not data.endswith((b"\n\n", b"\r\n\r\n"))

    def _flush(self, exchange: _Exchange) -> ObservedExchange:
        """Report the request, which waits since its answer may tell its dialect, and what was gathered."""
        if exchange.observed is None:
            is_told = exchange.dialect in exchange.dialects or not exchange.dialects
            method, url = "", f"{exchange.dialect if is_told else exchange.dialects[0]}:"
            what, missing = (_NO_HEAD, "") if exchange.sent else (_NO_REQUEST, MISSING)
            if exchange.url:
                method, url, what = "POST", exchange.url, _NO_HEADERS
            self._wires.at(exchange.at_ns)
            sent = method, url, (what,), exchange.sent
            exchange.observed = self._wires.model(self._peer).begin(*sent, self._wires.place, lacks=missing)
        if exchange.gathered:
            self._wires.at(exchange.at_ns)
            exchange.observed.chunk(bytes(exchange.gathered))
            exchange.gathered.clear()
        return exchange.observed

    def _end(self, exchange: _Exchange) -> None:
        observed = self._flush(exchange)
        self.open.remove(exchange)
        self._last = None if self._last is exchange else self._last
        self._wires.at(exchange.at_ns)
        if exchange.is_mixed:
            observed.end("failed", MIXED)
        else:
            observed.end("complete" if exchange.form else MISSING)
