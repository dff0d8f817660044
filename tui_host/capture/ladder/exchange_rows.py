"""Makes rows for exchanges: two for an exchange with a model; one for a server's only if it failed or had no frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus

from tui_host.capture.http.exchange_end import Ending, kept_in_words, read_ending
from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.row import RowState
from tui_host.capture.ladder.rows import LadderRows
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
        status: The response's status, 0 before the response.
        is_the_taps: Whether a tap made the response itself.
        body: The beginning of a refusal's body.
    """

    request: int = -1
    response: int = -1
    refusal: int = -1
    method: str = ""
    url: str = ""
    status: int = 0
    is_the_taps: bool = False
    body: bytes = b""
    count: EventCount = field(default_factory=lambda: EventCount(None))


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
                self._rows.end(exchange.response, "done" if is_stream else "cut")
            elif exchange.request >= 0 and self._rows.partner(exchange.request) is None:
                self._rows.end(exchange.request, "unanswered")

    def url(self, record: Record) -> str:
        """Return the URL of the request that carries a frame; empty for a frame of a process."""
        exchange = None if record.exchange is None else self._open.get((record.capture, record.exchange))
        return "" if exchange is None else exchange.url

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
        if record.head is not None:
            exchange.method, exchange.url = record.head.method or "", record.head.url or ""
        method, url = exchange.method, exchange.url
        if record.wire == "llm":
            is_missing = record.malformed == MISSING
            malformed = "" if is_missing else record.malformed or ""
            exchange.request = self._rows.add(
                record, "llm", "request", method=method, url=url, malformed=malformed, missing=is_missing
            )
        elif exchange.method != "POST" or not is_rpc(record.data):
            number = self._rows.add(record, "mcp", "request", method=method, url=url, state="open", size=0)
            exchange.request = exchange.response = number

    def _response(self, record: Record, exchange: _OpenExchange) -> None:
        head = record.head or Head()
        exchange.status, exchange.is_the_taps = head.status or 0, head.value("server") == TAP
        if record.wire == "llm":
            exchange.count = EventCount(head)
            self._answer_row(record, exchange)
        elif exchange.response >= 0:
            self._rows.change(
                exchange.response, status=exchange.status, end_mono_ns=record.mono_ns, last_seq=record.seq
            )

    def _chunk(self, record: Record, exchange: _OpenExchange) -> None:
        if record.wire == "llm" and exchange.response < 0:
            self._answer_row(record, exchange)
        if exchange.response >= 0:
            self._rows.grow(exchange.response, record, exchange.count.feed(record.data))
        if exchange.status >= 400 and record.encoding is None:
            exchange.body += record.data[: _REFUSAL_BYTES - len(exchange.body)]

    def _answer_row(self, record: Record, exchange: _OpenExchange) -> None:
        exchange.response = self._rows.add(
            record,
            "llm",
            "response",
            outward=False,
            method=exchange.method,
            url=exchange.url,
            status=exchange.status,
            state="open",
            size=0,
        )
        if exchange.request >= 0:
            self._rows.pair(exchange.request, exchange.response)

    def _end(self, record: Record, exchange: _OpenExchange) -> None:
        ending = read_ending(record.data)
        offers_no_stream = record.wire == "mcp" and (exchange.method, exchange.status) == _NO_STREAM
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
        number = self._rows.add(
            record,
            "llm" if record.wire == "llm" else "mcp",
            "fault",
            outward=False,
            method=exchange.method,
            url=exchange.url,
            status=exchange.status,
            size=ending.size,
            state="failed" if is_refused else _state(ending),
            error=True,
            words=words,
        )
        if exchange.request >= 0:
            self._rows.pair(exchange.request, number)
            if self._rows.is_open(exchange.request):
                self._rows.end(exchange.request, "unanswered", words)


def _status_words(status: int) -> str:
    phrase = next((known.phrase for known in HTTPStatus if known == status), "")
    return f"HTTP {status} {phrase}".rstrip()


def _state(ending: Ending) -> RowState:
    if ending.reason in {"complete", MISSING}:
        return "done"
    return "failed" if ending.reason in {"not connected", "failed"} else "cut"


def _first_words(exchange: _OpenExchange) -> str:
    words = " ".join(exchange.body.decode("utf-8", "backslashreplace").split())
    if exchange.is_the_taps:
        message = text_or_empty(mapping(read_object(exchange.body).get("error")).get("message"))
        words = f"the tap itself answered: {message.removeprefix(f'{TAP}: ') or words}"
    return words[:200]


class EventCount:
    """Counts the events of a body by the beginnings or ends of lines.

    Args:
        head: The response's head. A body with a content coding, or that is no stream, has no events.
    """

    def __init__(self, head: Head | None) -> None:
        kind, coding = (head.value(name) if head is not None else "" for name in ("content-type", "content-encoding"))
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
