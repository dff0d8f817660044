"""Makes the rows of an exchange: two with a model; one with a server, only if it failed or had no frames."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from tui_host.capture.http.exchange_end import Ending, kept_in_words, read_ending
from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.row import RowState
from tui_host.capture.ladder.rows import LadderRows, Value
from tui_host.capture.record import MISSING, TAP, Direction, Head, Record

_REFUSAL_BYTES = 800
"""Number of bytes of a refusal's body to search for a message."""
_NO_STREAM = "GET", 405
"""How a server refuses the stream that is optional. Source: MCP 2025-11-25, Listening for Messages from the Server."""
_MARKS = {"text/event-stream": b"\ndata:", "application/x-ndjson": b"\n", "application/ndjson": b"\n"}
"""With what an event begins or ends in the bodies that have events."""


class LadderExchange:
    """An exchange in progress.

    Attributes:
        request: Row of the request, or of its first frame; -1 without one.
        response: Row of the response, of an exchange without frames the request's; -1 without one.
    """

    def __init__(self, rows: LadderRows) -> None:
        self.request = self.response = -1
        self._refusal = -1  # the row of the frame in a refusal's body, which represents the refusal
        self._asked: dict[str, Value] = {}  # the fields that rows have from the head of the request
        self._answered: dict[str, Value] = {"head": ()}  # and from that of the response
        self._status = 0
        self._rows = rows
        self._is_of_tap = False
        self._body = b""  # the beginning of a refusal's
        self._count = EventCount(Head())

    def take(self, record: Record) -> None:
        """Read the next record of the exchange."""
        match record.kind:
            case "request":
                self._begin(record)
            case "response":
                self._answer(record)
            case "chunk":
                self._grow(record)
            case _:
                self._end(record)

    def cut(self) -> None:
        """End the exchange in a capture that is over: an answer is cut there, and a request has none."""
        rows = self._rows
        if self.response >= 0:
            is_stream = rows.rows.text("lane", self.response) == "mcp"
            rows.change(self.response, state="done" if is_stream else "cut")
        elif self.request >= 0 and rows.partner(self.request) is None:
            rows.change(self.request, state="unanswered")

    def carrier(self, direction: Direction | None) -> Mapping[str, Value]:
        """Return what a frame's row has from the exchange that carries it."""
        return self._asked if direction == "out" else {**self._asked, **self._answered, "status": 0}

    def carried(self, number: int) -> None:
        """Note that a frame of the exchange has become a row."""
        if self.request < 0:
            self.request = number
        elif self._status >= 400:
            self._refusal = number

    def _begin(self, record: Record) -> None:
        head = record.head or Head()
        method = head.method or ""
        self._asked = {"method": method, "url": head.url or "", "head": head.lines, "request_seq": record.seq}
        if record.wire == "llm":
            marks: dict[str, Value] = {"malformed": "", "missing": True} if record.malformed == MISSING else {}
            self.request = self._rows.add(record, "llm", "request", **self._asked, **marks)
        elif method != "POST" or not is_rpc(record.data):
            self.request = self.response = self._rows.add(record, "mcp", "request", **self._asked, state="open", size=0)

    def _answer(self, record: Record) -> None:
        head = record.head or Head()
        self._status = head.status or 0
        self._answered = {"status": self._status, "head": head.lines, "response_seq": record.seq}
        self._is_of_tap = head.value("server") == TAP
        if record.wire == "llm":
            self._count = EventCount(head)
            self._add_answer(record)
        elif self.response >= 0:
            news: dict[str, Value] = {"status": self._status, "response_seq": record.seq}
            self._rows.change(self.response, **news, end_mono_ns=record.mono_ns, last_seq=record.seq)

    def _grow(self, record: Record) -> None:
        if record.wire == "llm" and self.response < 0:
            self._add_answer(record)
        if self.response >= 0:
            self._rows.grow(self.response, record, self._count.feed(record.data))
        if self._status >= 400 and record.encoding is None:
            self._body += record.data[: _REFUSAL_BYTES - len(self._body)]

    def _end(self, record: Record) -> None:
        ending = read_ending(record.data)
        offers_no_stream = record.wire == "mcp" and (self._asked.get("method"), self._status) == _NO_STREAM
        is_refused = self._status >= 400 and not offers_no_stream
        words = ending.error or ("no stream offered" if offers_no_stream else "")
        if is_refused and not words:
            words = self._words_of_refusal()
        if ending.reason == MISSING and self.response < 0:
            self._add_answer(record)
        if self.response >= 0:
            self._end_answer(record, ending, words, is_refused=is_refused)
        elif self._refusal >= 0 and ending.kind == "end":
            self._rows.change(self._refusal, status=self._status, error=True)
        elif record.wire == "llm" or is_refused or ending.kind == "error":
            self._add_fault(record, ending, words)

    def _add_answer(self, record: Record) -> None:
        values: dict[str, Value] = {**self._asked, **self._answered, "outward": False, "state": "open", "size": 0}
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
        is_refused = self._status >= 400
        if is_refused and not words:
            phrase = next((status.phrase for status in HTTPStatus if status == self._status), "")
            words = f"HTTP {self._status} {phrase}".rstrip()
        words = words or ending.reason
        values: dict[str, Value] = {
            **self._asked,
            **self._answered,
            "outward": False,
            "size": ending.size,
            "error": True,
        }
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
