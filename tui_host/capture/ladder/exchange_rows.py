"""Makes rows for exchanges: two for an exchange with a model; one for a server's only if it failed or had no frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from tui_host.capture.http.exchange_end import Ending, kept_in_words, read_ending
from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.row import RowState
from tui_host.capture.ladder.rows import LadderRows, Value
from tui_host.capture.record import MISSING, TAP, Head, Record

_REFUSAL_BYTES = 800
"""Number of bytes of a refusal's body to search for a message."""

_NO_STREAM = "GET", 405
"""How a server refuses the stream that is optional. Source: MCP 2025-11-25, Listening for Messages from the Server."""


@dataclass(slots=True)
class _OpenExchange:
    """An exchange in progress.

    Attributes:
        request: Row of the request, or of its first frame; -1 without one.
        response: Row of the response, of an exchange without frames the request's; -1 without one.
        refusal: Row of the frame in a refusal's body, which represents the refusal; -1 without one.
        asked: The request's head, with the number of its record.
        answered: The response's head, with the number of its record.
        body: The beginning of a refusal's body.
    """

    request: int = -1
    response: int = -1
    refusal: int = -1
    asked: tuple[Head, int] = (Head(), 0)
    answered: tuple[Head, int] = (Head(), 0)
    body: bytes = b""
    count: EventCount = field(default_factory=lambda: EventCount(Head()))

    @property
    def status(self) -> int:
        """The response's status; 0 before the response."""
        return self.answered[0].status or 0

    def of_request(self) -> dict[str, Value]:
        """Return the fields of a row that came with the request."""
        head, seq = self.asked
        return {"method": head.method or "", "url": head.url or "", "head": head.lines, "request_seq": seq}

    def of_answer(self) -> dict[str, Value]:
        """Return the fields of a row that came with the response."""
        head, seq = self.answered
        return {**self.of_request(), "status": self.status, "head": head.lines, "response_seq": seq}


class ExchangeRows:
    """Makes rows from the records of exchanges."""

    def __init__(self, rows: LadderRows) -> None:
        self._rows = rows
        self._open: dict[tuple[str, str], _OpenExchange] = {}
        self._halves: dict[tuple[str, str], tuple[int, int]] = {}  # of exchanges with models

    def take(self, record: Record) -> None:
        """Read the next record of an exchange."""
        key = (record.capture, record.exchange or "")
        exchange = self._open.setdefault(key, _OpenExchange())
        match record.kind:
            case "request":
                self._request(record, exchange)
            case "response":
                self._response(record, exchange)
            case "chunk":
                self._chunk(record, exchange)
            case _:
                self._end(record, exchange)
                del self._open[key]
        if record.wire == "llm":
            self._halves[key] = (exchange.request, exchange.response)

    def close(self, capture: str) -> None:
        """End what is open in a capture that is over: answers are cut there, and requests have none."""
        for key in [key for key in self._open if key[0] == capture]:
            exchange = self._open.pop(key)
            if exchange.response >= 0:
                is_stream = self._rows.rows.choice("lane", exchange.response) == "mcp"
                self._rows.change(exchange.response, state="done" if is_stream else "cut")
            elif exchange.request >= 0 and self._rows.partner(exchange.request) is None:
                self._rows.change(exchange.request, state="unanswered")

    def carrier(self, record: Record) -> Mapping[str, Value]:
        """Return what a frame's row has from the exchange that carries it; nothing for a frame of a process."""
        exchange = None if record.exchange is None else self._open.get((record.capture, record.exchange))
        if exchange is None:
            return {}
        return exchange.of_request() if record.direction == "out" else {**exchange.of_answer(), "status": 0}

    def carried(self, record: Record, number: int) -> None:
        """Note that a frame of an exchange has become a row."""
        exchange = self._open.get((record.capture, record.exchange or ""))
        if exchange is None:
            return
        if exchange.request < 0:
            exchange.request = number
        elif exchange.status >= 400:
            exchange.refusal = number

    def half(self, capture: str, exchange: str, *, is_request: bool) -> int | None:
        """Return the row of a model's request or response."""
        number = self._halves.get((capture, exchange), (-1, -1))[0 if is_request else 1]
        return number if number >= 0 else None

    def _request(self, record: Record, exchange: _OpenExchange) -> None:
        exchange.asked = record.head or Head(), record.seq
        values = exchange.of_request()
        if record.wire == "llm":
            if record.malformed == MISSING:
                values |= {"malformed": "", "missing": True}
            exchange.request = self._rows.add(record, "llm", "request", **values)
        elif values["method"] != "POST" or not is_rpc(record.data):
            number = self._rows.add(record, "mcp", "request", **{**values, "state": "open", "size": 0})
            exchange.request = exchange.response = number

    def _response(self, record: Record, exchange: _OpenExchange) -> None:
        exchange.answered = record.head or Head(), record.seq
        if record.wire == "llm":
            exchange.count = EventCount(exchange.answered[0])
            self._answer_row(record, exchange)
        elif exchange.response >= 0:
            self._rows.change(
                exchange.response,
                status=exchange.status,
                response_seq=record.seq,
                end_mono_ns=record.mono_ns,
                last_seq=record.seq,
            )

    def _chunk(self, record: Record, exchange: _OpenExchange) -> None:
        if record.wire == "llm" and exchange.response < 0:
            self._answer_row(record, exchange)
        if exchange.response >= 0:
            self._rows.grow(exchange.response, record, exchange.count.feed(record.data))
        if exchange.status >= 400 and record.encoding is None:
            exchange.body += record.data[: _REFUSAL_BYTES - len(exchange.body)]

    def _answer_row(self, record: Record, exchange: _OpenExchange) -> None:
        values: dict[str, Value] = {**exchange.of_answer(), "outward": False, "state": "open", "size": 0}
        exchange.response = self._rows.add(record, "llm", "response", **values)
        if exchange.request >= 0:
            self._rows.pair(exchange.request, exchange.response)

    def _end(self, record: Record, exchange: _OpenExchange) -> None:
        ending = read_ending(record.data)
        offers_no_stream = record.wire == "mcp" and (exchange.asked[0].method, exchange.status) == _NO_STREAM
        is_refused = exchange.status >= 400 and not offers_no_stream
        words = ending.error or ("no stream offered" if offers_no_stream else "")
        if is_refused and not words:
            words = _first_words(exchange)
        if ending.reason == MISSING and exchange.response < 0:
            self._answer_row(record, exchange)
        if exchange.response >= 0:
            self._answer_end(record, exchange, ending, words, is_refused=is_refused)
        elif exchange.refusal >= 0 and ending.kind == "end":
            self._rows.change(exchange.refusal, status=exchange.status, error=True)
        elif record.wire == "llm" or is_refused or ending.kind == "error":
            self._fault(record, exchange, ending, words)

    def _answer_end(
        self, record: Record, exchange: _OpenExchange, ending: Ending, words: str, *, is_refused: bool
    ) -> None:
        row = self._rows.rows[exchange.response]
        is_stream = row.lane == "mcp" and ending.reason == "closed by host"
        state = "done" if is_stream else _state(ending)
        if is_refused and state == "done":
            state = "failed"
        why = ending.reason if state == "cut" else ""
        self._rows.change(
            row.number,
            last_seq=record.seq,
            end_mono_ns=record.mono_ns,
            state=state,
            error=is_refused or state == "failed",
            words=words or row.words or why,
            malformed=row.malformed or kept_in_words(ending),
            missing=ending.reason == MISSING,
        )

    def _fault(self, record: Record, exchange: _OpenExchange, ending: Ending, words: str) -> None:
        is_refused = exchange.status >= 400
        words = words or (_status_words(exchange.status) if is_refused else ending.reason)
        values: dict[str, Value] = {
            **exchange.of_answer(),
            "outward": False,
            "size": ending.size,
            "state": "failed" if is_refused else _state(ending),
            "error": True,
            "words": words,
        }
        number = self._rows.add(record, "llm" if record.wire == "llm" else "mcp", "fault", **values)
        if exchange.request >= 0:
            self._rows.pair(exchange.request, number)
            if self._rows.is_open(exchange.request):
                self._rows.change(exchange.request, state="unanswered", ending=words)


def _status_words(status: int) -> str:
    phrase = next((known.phrase for known in HTTPStatus if known == status), "")
    return f"HTTP {status} {phrase}".rstrip()


def _state(ending: Ending) -> RowState:
    if ending.reason in {"complete", MISSING}:
        return "done"
    return "failed" if ending.reason in {"not connected", "failed"} else "cut"


def _first_words(exchange: _OpenExchange) -> str:
    words = " ".join(exchange.body.decode("utf-8", "backslashreplace").split())
    if exchange.answered[0].value("server") == TAP:
        message = text_or_empty(mapping(read_object(exchange.body).get("error")).get("message"))
        words = f"the tap itself answered: {message.removeprefix(f'{TAP}: ') or words}"
    return words[:200]


class EventCount:
    """Counts the events of a body by the beginnings or ends of lines.

    Args:
        head: The response's head. A body with a content coding, or that is no stream, has no events.
    """

    def __init__(self, head: Head) -> None:
        kind, coding = head.value("content-type"), head.value("content-encoding")
        self._mark = b""
        if coding in {"", "identity"} and kind.startswith("text/event-stream"):
            self._mark = b"\ndata:"
        elif coding in {"", "identity"} and "ndjson" in kind:
            self._mark = b"\n"
        self._tail = b"\n" if len(self._mark) > 1 else b""

    def feed(self, data: bytes) -> int:
        """Return the number of further events in the next bytes."""
        if not self._mark:
            return 0
        text = self._tail + data
        self._tail = text[1 - len(self._mark) :] if len(self._mark) > 1 else b""
        return text.count(self._mark)
