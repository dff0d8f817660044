"""Makes rows for exchanges: two for an exchange with a model; one for a server's only if it failed or had no frames."""

from __future__ import annotations

from collections.abc import Mapping
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
_MARKS = {"text/event-stream": b"\ndata:", "application/x-ndjson": b"\n", "application/ndjson": b"\n"}
"""With what an event begins or ends in the bodies that have events."""


class ExchangeRows:
    """Makes rows from the records of exchanges."""

    def __init__(self, rows: LadderRows) -> None:
        self._rows = rows
        self._open: dict[tuple[str, str], _Exchange] = {}
        self._halves: dict[tuple[str, str], tuple[int, int]] = {}  # of exchanges with models

    def take(self, record: Record) -> None:
        """Read the next record of an exchange."""
        key = record.capture, record.exchange or ""
        exchange = self._open.get(key)
        if exchange is None:
            exchange = self._open[key] = _Exchange(self._rows)
        match record.kind:
            case "request":
                exchange.begin(record)
            case "response":
                exchange.answer(record)
            case "chunk":
                exchange.grow(record)
            case _:
                exchange.end(record)
                del self._open[key]
        if record.wire == "llm":
            self._halves[key] = exchange.request, exchange.response

    def close(self, capture: str) -> None:
        """End what is open in a capture that is over: answers are cut there, and requests have none."""
        for key in [key for key in self._open if key[0] == capture]:
            self._open.pop(key).cut()

    def carrier(self, record: Record) -> Mapping[str, Value]:
        """Return what a frame's row has from the exchange that carries it; nothing for a frame of a process."""
        exchange = None if record.exchange is None else self._open.get((record.capture, record.exchange))
        if exchange is None:
            return {}
        return exchange.asked if record.direction == "out" else {**exchange.asked, **exchange.answered, "status": 0}

    def carried(self, record: Record, number: int) -> None:
        """Note that a frame of an exchange has become a row."""
        exchange = self._open.get((record.capture, record.exchange or ""))
        if exchange is not None and exchange.request < 0:
            exchange.request = number
        elif exchange is not None and exchange.status >= 400:
            exchange.refusal = number

    def half(self, capture: str, exchange: str, *, is_request: bool) -> int | None:
        """Return the row of a model's request or response."""
        number = self._halves.get((capture, exchange), (-1, -1))[0 if is_request else 1]
        return number if number >= 0 else None


class _Exchange:
    """An exchange in progress.

    Attributes:
        request: Row of the request, or of its first frame; -1 without one.
        response: Row of the response, of an exchange without frames the request's; -1 without one.
        refusal: Row of the frame in a refusal's body, which represents the refusal; -1 without one.
        asked: The fields that rows have from the head of the request.
        answered: The fields that rows have from the head of the response.
        status: The response's status; 0 before the response.
    """

    def __init__(self, rows: LadderRows) -> None:
        self.request = self.response = self.refusal = -1
        self.asked: dict[str, Value] = {}
        self.answered: dict[str, Value] = {"head": ()}
        self.status = 0
        self._rows = rows
        self._is_of_tap = False
        self._body = b""  # the beginning of a refusal's
        self._count = EventCount(Head())

    def begin(self, record: Record) -> None:
        head = record.head or Head()
        method = head.method or ""
        self.asked = {"method": method, "url": head.url or "", "head": head.lines, "request_seq": record.seq}
        if record.wire == "llm":
            marks: dict[str, Value] = {"malformed": "", "missing": True} if record.malformed == MISSING else {}
            self.request = self._rows.add(record, "llm", "request", **self.asked, **marks)
        elif method != "POST" or not is_rpc(record.data):
            self.request = self.response = self._rows.add(record, "mcp", "request", **self.asked, state="open", size=0)

    def answer(self, record: Record) -> None:
        head = record.head or Head()
        self.status = head.status or 0
        self.answered = {"status": self.status, "head": head.lines, "response_seq": record.seq}
        self._is_of_tap = head.value("server") == TAP
        if record.wire == "llm":
            self._count = EventCount(head)
            self._add_answer(record)
        elif self.response >= 0:
            news: dict[str, Value] = {"status": self.status, "response_seq": record.seq}
            self._rows.change(self.response, **news, end_mono_ns=record.mono_ns, last_seq=record.seq)

    def grow(self, record: Record) -> None:
        if record.wire == "llm" and self.response < 0:
            self._add_answer(record)
        if self.response >= 0:
            self._rows.grow(self.response, record, self._count.feed(record.data))
        if self.status >= 400 and record.encoding is None:
            self._body += record.data[: _REFUSAL_BYTES - len(self._body)]

    def end(self, record: Record) -> None:
        ending = read_ending(record.data)
        offers_no_stream = record.wire == "mcp" and (self.asked.get("method"), self.status) == _NO_STREAM
        is_refused = self.status >= 400 and not offers_no_stream
        words = ending.error or ("no stream offered" if offers_no_stream else "")
        if is_refused and not words:
            words = self._words_of_refusal()
        if ending.reason == MISSING and self.response < 0:
            self._add_answer(record)
        if self.response >= 0:
            self._end_answer(record, ending, words, is_refused=is_refused)
        elif self.refusal >= 0 and ending.kind == "end":
            self._rows.change(self.refusal, status=self.status, error=True)
        elif record.wire == "llm" or is_refused or ending.kind == "error":
            self._add_fault(record, ending, words)

    def cut(self) -> None:
        rows = self._rows
        if self.response >= 0:
            is_stream = rows.rows.text("lane", self.response) == "mcp"
            rows.change(self.response, state="done" if is_stream else "cut")
        elif self.request >= 0 and rows.partner(self.request) is None:
            rows.change(self.request, state="unanswered")

    def _add_answer(self, record: Record) -> None:
        values: dict[str, Value] = {**self.asked, **self.answered, "outward": False, "state": "open", "size": 0}
        self.response = self._rows.add(record, "llm", "response", **values)
        if self.request >= 0:
            self._rows.pair(self.request, self.response)

    def _end_answer(self, record: Record, ending: Ending, words: str, *, is_refused: bool) -> None:
        row = self._rows.rows[self.response]
        is_stream = row.lane == "mcp" and ending.reason == "closed by host"
        state = "done" if is_stream else _state(ending)
        if is_refused and state == "done":
            state = "failed"
        self._rows.change(
            row.number,
            last_seq=record.seq,
            end_mono_ns=record.mono_ns,
            state=state,
            error=is_refused or state == "failed",
            words=words or row.words or (ending.reason if state == "cut" else ""),
            malformed=row.malformed or kept_in_words(ending),
            missing=ending.reason == MISSING,
        )

    def _add_fault(self, record: Record, ending: Ending, words: str) -> None:
        is_refused = self.status >= 400
        if is_refused and not words:
            phrase = next((status.phrase for status in HTTPStatus if status == self.status), "")
            words = f"HTTP {self.status} {phrase}".rstrip()
        words = words or ending.reason
        values: dict[str, Value] = {**self.asked, **self.answered, "outward": False, "size": ending.size, "error": True}
        values |= {"state": "failed" if is_refused else _state(ending), "words": words}
        number = self._rows.add(record, "llm" if record.wire == "llm" else "mcp", "fault", **values)
        if self.request >= 0:
            self._rows.pair(self.request, number)
            if self._rows.rows.text("state", self.request) == "open":
                self._rows.change(self.request, state="unanswered", ending=words)

    def _words_of_refusal(self) -> str:
        words = " ".join(self._body.decode("utf-8", "backslashreplace").split())
        if self._is_of_tap:
            message = text_or_empty(mapping(read_object(self._body).get("error")).get("message"))
            words = f"the tap itself answered: {message.removeprefix(f'{TAP}: ') or words}"
        return words[:200]


def _state(ending: Ending) -> RowState:
    if ending.reason in {"complete", MISSING}:
        return "done"
    return "failed" if ending.reason in {"not connected", "failed"} else "cut"


class EventCount:
    """Counts the events of a body by the beginnings or ends of lines.

    Args:
        head: The response's head. A body with a content coding, or that is no stream, has no events.
    """

    def __init__(self, head: Head) -> None:
        is_plain = head.value("content-encoding") in {"", "identity"}
        kind = head.value("content-type").partition(";")[0].strip()
        self._mark = _MARKS.get(kind, b"") if is_plain else b""
        self._tail = b"\n" if len(self._mark) > 1 else b""

    def feed(self, data: bytes) -> int:
        """Return the number of further events in the next bytes."""
        if not self._mark:
            return 0
        text = self._tail + data
        self._tail = text[1 - len(self._mark) :] if len(self._mark) > 1 else b""
        return text.count(self._mark)
