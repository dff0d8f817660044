"""Makes the rows of the inspector from records as they arrive: joins answers to requests, folds repeats, adds calls by links."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeAlias

from tui_host.capture.connection_end import ORDERLY, reason_of_end
from tui_host.capture.frames.frame_heads import FrameHead, read_frame
from tui_host.capture.http.exchange_end import EMPTY, kept_in_words, read_ending
from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.json.narrowing import WORDS, mapping, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.row import Lane, Row, RowKind, RowNumbers, RowState, RowTable, Value
from tui_host.capture.ladder.sections import Sections
from tui_host.capture.link import Link, read_link
from tui_host.capture.record import MISSING, TAP, Direction, Head, Place, Record

REMEMBERED_REQUESTS = 10_000
"""Number of requests to remember until their answer comes."""
_LISTENING = "subscriptions/listen"
"""The request that is open as long as its connection."""
_DEGREES = {"value": "inferred", "time": "inferred", "maybe": "maybe"}
"""What a row is whose call was found by comparing contents; by an id, or by hand, it is certain."""
_REFUSAL_BYTES = 800
"""Number of bytes of a refusal's body to search for a message."""
_NO_STREAM = "GET", 405
"""How a server refuses the stream that is optional. Source: MCP 2025-11-25, Listening for Messages from the Server."""
_MARKS = {"text/event-stream": b"\ndata:", "application/x-ndjson": b"\n", "application/ndjson": b"\n"}
"""With what an event begins or ends in the bodies that have events."""
_STATES: Mapping[str, RowState] = {"complete": "done", MISSING: "done", "not connected": "failed", "failed": "failed"}
"""The state of a row after an end; after any other it is cut."""
_NO_HEAD = Head()
_RequestKey: TypeAlias = "tuple[str, str, Direction | None, str]"


@dataclass(slots=True, eq=False)
class LadderExchange:
    """An exchange in progress."""

    _rows: Ladder
    request: int = -1  # the row of the request, or of its first frame
    response: int = -1  # the row of the response, of an exchange without frames the request's
    refusal: int = -1  # the row of the frame in a refusal's body, which represents the refusal
    asked: Mapping[str, Value] = field(default_factory=dict[str, Value])  # what rows have from the head of the request
    answered: Mapping[str, Value] = field(default_factory=lambda: {"head": ()})  # and from that of the response
    head: Head = _NO_HEAD  # of the response
    _body: bytes = b""  # the beginning of a refusal's
    _mark: bytes = b""  # of the body's events
    _tail: bytes = b""  # of its bytes so far

    def take(self, record: Record) -> None:
        rows, head, is_of_model = self._rows, record.head or _NO_HEAD, record.wire == "llm"
        headers = tuple(map(": ".join, head.headers))
        if record.kind == "chunk":
            if is_of_model and self.response < 0:
                self._add_answer(record)
            events = 0
            if self._mark:
                text = self._tail + record.data
                self._tail = text[1 - len(self._mark) :] if len(self._mark) > 1 else b""
                events = text.count(self._mark)
            if self.response >= 0:
                rows.grow(self.response, record, events)
            if (self.head.status or 0) >= 400 and record.encoding is None:
                self._body += record.data[: _REFUSAL_BYTES - len(self._body)]
        elif record.kind == "request":
            method = head.method or ""
            self.asked = {"method": method, "url": head.url or "", "head": headers, "request_seq": record.seq}
            values = self.asked
            if record.malformed == MISSING:
                values = {**values, "malformed": "", "missing": True, "words": MISSING}
            if is_of_model:
                self.request = rows.add(record, "llm", "request", **values)
            elif method != "POST" or not is_rpc(record.data):
                self.request = self.response = rows.add(record, "mcp", "request", **values, state="open", size=0)
        elif record.kind == "response":
            self.head = head
            self.answered = {"status": head.status or 0, "head": headers, "response_seq": record.seq}
            if is_of_model:
                is_plain = head.value("content-encoding") in {"", "identity"}
                kind = head.value("content-type").partition(";")[0].strip()
                self._mark = _MARKS.get(kind, b"") if is_plain else b""
                self._tail = b"\n" if len(self._mark) > 1 else b""  # the body's beginning is that of a line
                self._add_answer(record)
            elif self.response >= 0:
                rows.change(self.response, status=head.status or 0, response_seq=record.seq)
                rows.grow(self.response, record, 0)
        else:
            self._end(record)

    def _add_answer(self, record: Record) -> None:
        values: dict[str, Value] = {**self.asked, **self.answered, "outward": False, "state": "open", "size": 0}
        self.response = self._rows.add(record, "llm", "response", **values)
        if self.request >= 0:
            self._rows.pair(self.request, self.response)

    def _end(self, record: Record) -> None:
        rows, ending, status = self._rows, read_ending(record.data), self.head.status or 0
        is_of_model = record.wire == "llm"
        offers_no_stream = not is_of_model and (self.asked.get("method"), status) == _NO_STREAM
        is_refused = status >= 400 and not offers_no_stream
        words = ending.error or ("no stream offered" if offers_no_stream else "")
        if is_refused and not words:
            words = " ".join(self._body.decode("utf-8", "backslashreplace").split())
            if self.head.value("server") == TAP:
                message = text_or_empty(mapping(read_object(self._body).get("error")).get("message"))
                words = f"the tap itself answered: {message.removeprefix(f'{TAP}: ') or words}"
        words = words[:WORDS]
        is_missing = ending.reason == MISSING
        if is_missing:
            words = words or ending.missing
            if is_of_model and self.response < 0:
                self._add_answer(record)
        is_closed_stream = not is_of_model and self.response >= 0 and ending.reason == "closed by host"
        state = "done" if is_closed_stream else _STATES.get(ending.reason, "cut")
        if is_refused and state == "done":
            state = "failed"
        if self.response >= 0:
            row = rows.rows[self.response]
            if is_of_model and ending.reason == "complete" and not (row.size or ending.size or words):
                words = EMPTY
            rows.change(
                row.number,
                last_seq=record.seq,
                end_mono_ns=record.mono_ns,
                state=state,
                error=is_refused or state == "failed",
                words=words or row.words or (ending.reason if state == "cut" else ""),
                malformed=row.malformed or kept_in_words(ending),
                missing=is_missing or row.missing,
            )
        elif self.refusal >= 0 and ending.kind == "end":
            rows.change(self.refusal, status=status, error=True)
        elif is_of_model or is_refused or ending.kind == "error":
            phrases = (f"HTTP {status} {code.phrase}" for code in HTTPStatus if code == status)
            if is_refused and (is_missing or not words):
                words = " · ".join(filter(None, (next(phrases, f"HTTP {status}"), words)))
            words = words or ending.reason
            values = {**self.asked, **self.answered, "outward": False, "size": ending.size, "error": True}
            lane = "llm" if is_of_model else "mcp"
            number = rows.add(record, lane, "fault", **values, state=state, words=words)
            if self.request >= 0:
                rows.pair(self.request, number)
                if rows.rows.text("state", self.request) == "open":
                    rows.leave(self.request, words)
        elif is_missing and self.request >= 0 and rows.rows.text("state", self.request) == "open":
            asked = rows.rows[self.request]
            values = {**self.asked, **self.answered, "status": 0, "answer": True, "missing": True}
            # The method is the question's, not that of HTTP.
            values |= {"method": asked.method, "tool": asked.tool, "rpc_id": asked.rpc_id, "calls": asked.calls}
            values |= {"turn": asked.turn, "step": asked.step}
            number = rows.add(record, "mcp", "frame", **values, size=0, words=words)
            rows.pair(self.request, number)
            rows.change(self.request, state="done")


class Ladder:
    """The rows of a session or a capture. Adding a record takes the same time, however many came before."""

    def __init__(self, clock: str = "") -> None:
        self.rows = RowTable()  # all rows, in the order of their first bytes. A row's index is its number.
        self.sections = Sections()  # steps of turns, and connections, up to the last finished revision
        self.numbers = RowNumbers(self.partner)  # the numbers of requests and connections
        self.revision = 0  # grows when rows were added or changed
        self.calls: dict[str, array[int]] = {}  # the rows of each call, in the order of their first bytes
        self.tools: dict[str, str] = {}  # `server.tool` of each call, if known
        self._clock = clock  # the name of the common clock of all captures; empty if each has its own
        self._partners = array("i")
        self._of_captures: dict[str, array[int]] = {}  # the rows of each capture, by their first records
        self._changes = array("q"), array("i")  # revisions, and the row that changed in each
        self.hosts: Mapping[int, str] = {}  # of turns, where there are several: set anew by whoever finds that out
        self._open: dict[tuple[str, str], LadderExchange] = {}
        self.halves: dict[tuple[str, str], tuple[int, int]] = {}  # request and response of exchanges with models
        self._waiting: dict[tuple[str, str], list[tuple[Link, Place]]] = {}  # for the rows of their exchanges
        self.links: dict[
            tuple[str, str], array[int]
        ] = {}  # the `link` records of each exchange, in both directions, by number
        self._asked: dict[_RequestKey, int] = {}  # rows by capture, connection, direction and id
        # The row of the last frame or line, which may repeat; its record, and the frame's head.
        self._latest: tuple[int, Record, FrameHead | None] = -1, Record(wire="mcp", kind="frame"), None

    def add(self, record: Record, lane: Lane, kind: RowKind, **values: Value) -> int:
        """Add a row that begins with a record, and return its number. `values` are fields that the record does not tell."""
        number, place, seqs = len(self.rows), record.place, self.rows.columns["seq"]
        fields: dict[str, Value] = {
            "lane": lane,
            "kind": kind,
            "state": "done",
            "outward": record.direction == "out",
            "capture": record.capture,
            "clock": self._clock or record.capture,
            "seq": record.seq,
            "last_seq": record.seq,
            "time_ns": record.time_ns,
            "mono_ns": record.mono_ns,
            "end_mono_ns": record.mono_ns,
            "turn": place.turn or 0,
            "step": place.step or 0,
            "peer": record.peer,
            "connection": record.connection or "",
            "exchange": record.exchange or "",
            "size": len(record.data),
            "calls": frozenset((place.call,)) if place.call else frozenset(),
            "malformed": record.malformed or "",
            "redacted": bool(record.redacted),
            **values,
        }
        self.rows.append(fields)
        self._partners.append(-1)
        of_capture = self._of_captures.setdefault(record.capture, array("i"))
        if not of_capture or seqs[of_capture[-1]] < record.seq:
            of_capture.append(number)
        else:  # a record that came late
            insort(of_capture, number, key=seqs.__getitem__)
        for call in self.rows.calls[number]:
            self.calls.setdefault(call, array("i")).append(number)
        if lane == "mcp":
            self.numbers.count(record.peer, record.capture, record.connection or "")
        elif kind == "request" and values.get("method") != "GET":  # GET lists models
            self.numbers.requests.append(number)
        self._note(number)
        return number

    def change(self, number: int, **values: Value) -> None:
        self.rows.put(number, values)
        self._note(number)

    def grow(self, number: int, record: Record, events: int) -> None:
        """Add a record's bytes, and a number of events, to a row."""
        columns = self.rows.columns
        columns["size"][number] += len(record.data)
        columns["events"][number] += events
        if record.redacted:
            columns["redacted"][number] = True
        self.change(number, last_seq=record.seq, end_mono_ns=record.mono_ns)

    def pair(self, first: int, second: int) -> None:
        for number, partner in ((first, second), (second, first)):
            if self._partners[number] < 0:  # a row keeps the first partner
                self._partners[number] = partner
                self._note(number)

    def partner(self, number: int) -> int | None:
        """Return the partner of a row: a request's response, or a question's answer."""
        partner = self._partners[number]
        return partner if partner >= 0 else None

    def partner_of(self, row: Row) -> Row | None:
        """Return the other half of an exchange; None if it is not there."""
        partner = self._partners[row.number]
        return self.rows[partner] if partner >= 0 else None

    def relatives(self, number: int) -> Sequence[int]:
        """Return the rows that share a call with a row, nearest first; for a row without calls its partner."""
        numbers = {row for call in self.rows.calls[number] for row in self.calls[call]} - {number}
        if not numbers and self._partners[number] >= 0:
            return (self._partners[number],)
        return tuple(sorted(numbers, key=lambda row: (abs(row - number), row)))

    def row_of(self, key: tuple[str, int]) -> int | None:
        """Return the row whose first record has this capture and number."""
        numbers, seqs = self._of_captures.get(key[0], ()), self.rows.columns["seq"]
        at = bisect_left(numbers, key[1], key=seqs.__getitem__)
        return numbers[at] if at < len(numbers) and seqs[numbers[at]] == key[1] else None

    def changed_since(self, revision: int) -> Sequence[int]:
        """Return the numbers of new and changed rows after a revision, in order."""
        revisions, numbers = self._changes
        return sorted(set(numbers[bisect_right(revisions, revision) :]))

    def _note(self, number: int) -> None:
        revisions, numbers = self._changes
        coming = self.revision + 1
        if not revisions or revisions[-1] != coming or numbers[-1] != number:
            revisions.append(coming)
            numbers.append(number)

    def feed(self, records: Iterable[Record]) -> None:
        """Read the next records in order; several captures may follow each other. If rows changed, a new revision begins."""
        for record in records:
            match record.kind:
                case "frame":
                    self._frame(record)
                case "line":
                    words = record.data.lstrip()[: 4 * WORDS].decode("utf-8", "backslashreplace").strip()[:WORDS]
                    if not self._is_repeated(record, None, words):
                        number = self.add(record, "mcp", "line", outward=False, words=words, events=1)
                        self._latest = number, record, None
                case "decision":
                    value = read_object(record.data)
                    names = ("server", "tool", "words", "decision", "by")
                    server, tool, words, decision, by = (text_or_empty(value.get(name)) for name in names)
                    words = (words or f"{decision} by {by}")[:WORDS]
                    self.add(record, "host", "decision", peer=server, tool=tool, words=words)
                    if record.place.call:
                        self.tools.setdefault(record.place.call, f"{server}.{tool}")
                case "link":
                    self._link(record)
                case "end" if record.exchange is None:
                    reason = reason_of_end(record)
                    self.add(record, "mcp", "end", outward=False, words=reason, size=0, error=reason not in ORDERLY)
                    if reason.startswith(("exited ", "ended by ", "closed its ")):
                        reason = f"{record.peer} {reason}"
                    self._leave_unanswered(record.capture, record.connection or "", reason)
                case _:
                    key = record.capture, record.exchange or ""
                    exchange = self._open.get(key)
                    if exchange is None:
                        exchange = self._open[key] = LadderExchange(self)
                    exchange.take(record)
                    if record.wire == "llm":
                        self.halves[key] = exchange.request, exchange.response
                    for link, place in self._waiting.pop(key, ()):
                        self._join(record.capture, link, place)
                    if record.kind in {"end", "error"}:
                        del self._open[key]
                        self._waiting.pop(key, None)  # no other half will come
        self.sections.take(self.rows, self.partner)
        revisions = self._changes[0]
        self.revision = revisions[-1] if revisions else 0

    def close(self, running: Container[str] = ()) -> None:
        """End what is open in captures that are over, to which no more may come: their requests have no answer."""
        for capture in self._of_captures:
            if capture not in running:
                self._leave_unanswered(capture)
        for key in [key for key in self._open if key[0] not in running]:
            exchange = self._open.pop(key)
            if exchange.response >= 0:  # the answer is cut here
                is_stream = self.rows.text("lane", exchange.response) == "mcp"
                self.change(exchange.response, state="done" if is_stream else "cut")
            elif exchange.request >= 0 and self._partners[exchange.request] < 0:
                self.leave(exchange.request)
        self.feed(())

    def _frame(self, record: Record) -> None:
        head = read_frame(record.data, in_words=True).head
        if self._is_repeated(record, head, head.words):
            return
        capture, connection = record.capture, record.connection or ""
        exchange = None if record.exchange is None else self._open.get((capture, record.exchange))
        asked = None  # the row of the request that the frame answers, readable or not
        is_answer = head.answers or (head.kind == "malformed" and not head.method)
        if head.id and record.direction is not None and is_answer:
            opposite: Direction = "out" if record.direction == "in" else "in"
            asked = self._asked.get((capture, connection, opposite, head.id))
            if asked is None:
                asked = self._asked.get((capture, connection, opposite, head.id_of_other_type))
        words = head.words
        if head.kind == "malformed" and not words:
            words = record.data[:800].decode("utf-8", "backslashreplace").strip().partition("\n")[0][:200]
        values: dict[str, Value] = {}
        if exchange is not None:  # what the row has from the exchange that carries it
            way = exchange.asked if record.direction == "out" else {**exchange.asked, **exchange.answered, "status": 0}
            values.update(way)
        values |= {
            "method": head.method,
            "rpc_id": head.id,
            "answer": head.answers,
            "error": head.is_error,
            "tool": head.name if head.method == "tools/call" else "",
            "words": words,
            "malformed": record.malformed or head.reason,
            "state": "open" if head.kind == "request" else "done",
        }
        if asked is not None:
            question, place = self.rows[asked], record.place
            values |= {name: getattr(question, name) for name in ("method", "tool", "inferred", "maybe")}
            values |= {"turn": place.turn or question.turn, "step": place.step or question.step}
            values |= {} if place.call else {"calls": question.calls}
        kind = "fault" if head.kind == "malformed" else "frame"
        number = self.add(record, "mcp", kind, **values)
        self._latest = number, record, head
        if exchange is not None and exchange.request < 0:
            exchange.request = number
        elif exchange is not None and (exchange.head.status or 0) >= 400:
            exchange.refusal = number
        if asked is not None:
            self.pair(asked, number)
            self.change(asked, state="done", ending="")  # also one that was cancelled: its answer came all the same
        if head.kind == "request":
            key = capture, connection, record.direction, head.id
            self._asked.pop(key, None)
            self._asked[key] = number
            if len(self._asked) > REMEMBERED_REQUESTS:
                del self._asked[next(iter(self._asked))]
        cancelled = self._asked.get((capture, connection, record.direction, head.request_id))
        if head.request_id and cancelled is not None and self.rows.text("state", cancelled) == "open":
            self.leave(cancelled, "cancelled")

    def _leave_unanswered(self, capture: str, connection: str | None = None, ending: str = "") -> None:
        """Leave the open requests of a connection, or of a whole capture, without an answer."""
        for key, number in self._asked.items():
            if key[0] == capture and connection in {None, key[1]} and self.rows.text("state", number) == "open":
                self.leave(number, ending)

    def leave(self, number: int, ending: str = "") -> None:
        """Leave a request without an answer; one that is open as long as its connection has done its work."""
        is_to_last = self.rows.text("method", number) == _LISTENING
        self.change(number, state="done" if is_to_last else "unanswered", ending=ending)

    def _is_repeated(self, record: Record, head: FrameHead | None, words: str) -> bool:
        """Fold another line of standard error, a frame of equal bytes or more progress for a token into the last row."""
        number, before, its_head = self._latest
        is_last = number == len(self.rows) - 1 and (record.kind, record.direction) == (before.kind, before.direction)
        sender = before.capture, before.peer, before.connection
        if not is_last or sender != (record.capture, record.peer, record.connection):
            return False
        if head is not None and head.kind == "notification" and head.method == "notifications/progress":
            if its_head is None or (its_head.method, its_head.progress_token) != (head.method, head.progress_token):
                return False
        elif head is not None and (head.kind not in {"notification", "malformed"} or before.data != record.data):
            return False
        self.grow(number, record, 1 if self.rows.columns["events"][number] else 2)  # the first one was not counted
        if words:
            self.change(number, words=words)
        return True

    def _link(self, record: Record) -> None:
        link = read_link(record.data)
        if link is None:
            return
        if link.span.exchange is not None:
            self.links.setdefault((record.capture, link.span.exchange), array("Q")).append(record.seq)
        if link.relation == "vendor":
            self.add(record, "llm", "vendor", outward=False, words=link.words, size=0)
        if link.call and link.tool:
            self.tools[link.call] = f"{link.server}.{link.tool}" if link.server else link.tool
        if link.call:  # else it is of bytes alone
            self._join(record.capture, link, record.place)

    def _join(self, capture: str, link: Link, place: Place) -> None:
        """Add a link's call to the row of its bytes, the turn to a message to a server, and the call's words to a response."""
        key = capture, link.span.exchange or ""
        if link.span.exchange is None:
            number = self.row_of((capture, link.span.seq or 0))
        else:
            number = self.halves.get(key, (-1, -1))[link.span.side == "response"]
        if number is None or number < 0:
            if link.span.exchange is not None:  # the rows of its exchange are to come
                self._waiting.setdefault(key, []).append((link, place))
            return
        row = self.rows[number]
        if link.call in row.calls:
            return
        insort(self.calls.setdefault(link.call, array("i")), number)
        changes: dict[str, Value] = {"calls": row.calls | {link.call}}
        if link.relation == "asked":
            asked = f"{self.tools.get(link.call, link.tool)} {link.words}".strip()
            before = f"{row.words}, " if row.words.startswith("asks ") else "asks "
            changes["words"] = f"{before}{asked}"[:WORDS]
        if link.known in _DEGREES:
            changes[_DEGREES[link.known]] = True
        if row.lane == "mcp" and place.turn is not None:  # until then it only seemed to be of one, or of none
            changes |= {"turn": place.turn, "step": place.step or 0}
            self.sections.move(number, (row.clock, place.turn, place.step or 0))
        self.change(number, **changes)
