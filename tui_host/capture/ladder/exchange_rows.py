"""Rows for exchanges: two for a model's exchange, none for a server's, unless the exchange failed or had no frames."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tui_host.capture.http.exchange_end import Ending, kept_in_words, read_ending
from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.ladder.row import Row, RowState
from tui_host.capture.ladder.row_table import LadderRows
from tui_host.capture.record import BY_THE_TAP, MISSING, TAP, Head, Record

_SAID = 800
"""Bytes of a refusal's body that are looked at for words."""

_OF_EVENTS = b"\ndata:"
_OF_LINES = b"\n"


@dataclass(slots=True)
class _Open:
    """An exchange in progress.

    Attributes:
        request: The row of its request, or of its request's first frame; -1 if there is none.
        response: The row of its response; -1 if there is none.
        status: The response's status, 0 before it came.
    """

    request: int = -1
    response: int = -1
    method: str = ""
    url: str = ""
    status: int = 0
    said: bytes = b""
    has_own_row: bool = False
    count: EventCount = field(default_factory=lambda: EventCount(None))


class LadderHttp:
    """Folds the records of exchanges into rows."""

    def __init__(self, rows: LadderRows) -> None:
        self._rows = rows
        self._open: dict[tuple[str, str], _Open] = {}
        self._halves: dict[tuple[str, str], tuple[int, int]] = {}

    def add(self, record: Record) -> None:
        """Take in the next record of an exchange."""
        key = (record.capture, record.draft.exchange or "")
        exchange = self._open.setdefault(key, _Open())
        match record.draft.kind:
            case "request":
                self._request(record, exchange)
            case "response":
                self._response(record, exchange)
            case "chunk":
                self._chunk(record, exchange)
            case _:
                self._end(record, exchange, read_ending(record.draft.data))
                del self._open[key]
        if record.draft.wire == "llm":
            self._halves[key] = (exchange.request, exchange.response)

    def carried(self, record: Record, number: int) -> None:
        """A frame of an exchange has become a row."""
        exchange = self._open.get((record.capture, record.draft.exchange or ""))
        if exchange is not None and exchange.request < 0:
            exchange.request = number

    def half(self, capture: str, exchange: str, *, is_request: bool) -> int | None:
        """The row of a model's request or response."""
        number = self._halves.get((capture, exchange), (-1, -1))[0 if is_request else 1]
        return number if number >= 0 else None

    def _request(self, record: Record, exchange: _Open) -> None:
        draft = record.draft
        if draft.head is not None:
            exchange.method, exchange.url = draft.head.method or "", draft.head.url or ""
        if draft.wire == "llm":
            row = self._rows.row_for(record, "llm", "request")
            if row.malformed == MISSING:
                row = replace(row, malformed="", missing=True)
            exchange.request = self._rows.add(replace(row, method=exchange.method, url=exchange.url))
        elif exchange.method != "POST" or not is_rpc(draft.data):
            row = self._rows.row_for(record, "mcp", "request")
            row = replace(row, method=exchange.method, url=exchange.url, state="open", size=0)
            if draft.head is not None and draft.head.value("user-agent") == TAP:
                row = replace(row, words=BY_THE_TAP)
            exchange.request = exchange.response = self._rows.add(row)
            exchange.has_own_row = True

    def _response(self, record: Record, exchange: _Open) -> None:
        exchange.status = record.draft.head.status or 0 if record.draft.head is not None else 0
        if record.draft.wire == "llm":
            exchange.count = EventCount(record.draft.head)
            self._answer_row(record, exchange)
        elif exchange.has_own_row:
            row = self._rows.table[exchange.response]
            self._rows.change(replace(row, status=exchange.status, end_mono_ns=record.mono_ns, last_seq=record.seq))

    def _chunk(self, record: Record, exchange: _Open) -> None:
        draft = record.draft
        if draft.wire == "llm" and exchange.response < 0:
            self._answer_row(record, exchange)
        if exchange.response >= 0:
            self._rows.grow(exchange.response, record, exchange.count.feed(draft.data))
        if exchange.status >= 400 and draft.encoding is None:
            exchange.said += draft.data[: _SAID - len(exchange.said)]

    def _answer_row(self, record: Record, exchange: _Open) -> None:
        row = self._rows.row_for(record, "llm", "response")
        row = replace(row, outward=False, method=exchange.method, url=exchange.url, status=exchange.status)
        exchange.response = self._rows.add(replace(row, state="open", size=0))
        if exchange.request >= 0:
            self._rows.pair(exchange.request, exchange.response)

    def _end(self, record: Record, exchange: _Open, ending: Ending) -> None:
        refused = exchange.status >= 400
        words = ending.error or (_first_words(exchange.said) if refused else "")
        is_missing = ending.reason == MISSING
        if is_missing and exchange.response < 0:
            self._answer_row(record, exchange)
        if exchange.response >= 0:
            row = self._rows.table[exchange.response]
            state = "done" if row.lane == "mcp" and ending.reason == "closed by host" else _state(ending)
            state = "failed" if refused and state == "done" else state
            if words and row.words == BY_THE_TAP:
                words = f"{BY_THE_TAP}: {words}"
            self._rows.change(
                replace(
                    row,
                    last_seq=record.seq,
                    end_mono_ns=record.mono_ns,
                    state=state,
                    error=refused or state == "failed",
                    words=words or row.words or ("" if state != "cut" else ending.reason),
                    malformed=row.malformed or kept_in_words(ending),
                    missing=is_missing,
                )
            )
        elif record.draft.wire == "llm" or refused or ending.kind == "error":
            self._fault(record, exchange, ending, words)

    def _fault(self, record: Record, exchange: _Open, ending: Ending, words: str) -> None:
        row: Row = self._rows.row_for(record, "llm" if record.draft.wire == "llm" else "mcp", "fault")
        number = self._rows.add(
            replace(
                row,
                outward=False,
                method=exchange.method,
                url=exchange.url,
                status=exchange.status,
                size=ending.size,
                state="failed" if exchange.status >= 400 else _state(ending),
                error=True,
                words=words or ending.reason,
            )
        )
        if exchange.request >= 0:
            self._rows.pair(exchange.request, number)


def _state(ending: Ending) -> RowState:
    if ending.reason in {"complete", MISSING}:
        return "done"
    return "failed" if ending.reason in {"not connected", "failed"} else "cut"


def _first_words(said: bytes) -> str:
    return " ".join(said.decode("utf-8", "backslashreplace").split())[:200]


class EventCount:
    """Count the events of one body by the beginnings or ends of lines.

    Args:
        head: The response's; what is coded, or no stream, has no events to be seen.
    """

    def __init__(self, head: Head | None) -> None:
        kind, coding = (head.value(name) if head is not None else "" for name in ("content-type", "content-encoding"))
        self._mark = b""
        if coding in {"", "identity"}:
            self._mark = _OF_EVENTS if kind.startswith("text/event-stream") else _OF_LINES if "ndjson" in kind else b""
        self._tail = b"\n" if self._mark == _OF_EVENTS else b""

    def feed(self, data: bytes) -> int:
        """Return the number of further events in the next bytes."""
        if not self._mark:
            return 0
        text = self._tail + data
        self._tail = text[1 - len(self._mark) :] if len(self._mark) > 1 else b""
        return text.count(self._mark)
