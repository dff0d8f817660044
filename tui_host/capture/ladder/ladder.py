"""Makes the rows of the inspector from records as they arrive."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from tui_host.capture.connection_end import is_orderly, reason_of_end, why_unanswered
from tui_host.capture.json.narrowing import WORDS, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.exchange_rows import LadderHttp
from tui_host.capture.ladder.filter_language import Query, read_filter
from tui_host.capture.ladder.frame_rows import LadderFrames
from tui_host.capture.ladder.row import Row
from tui_host.capture.ladder.row_filter import RowTexts, Test, ValuesOnly, row_test
from tui_host.capture.ladder.row_numbers import RowNumbers
from tui_host.capture.ladder.row_table import KINDS, LadderRows
from tui_host.capture.ladder.sections import Sections
from tui_host.capture.link import Link, read_link
from tui_host.capture.record import Place, Record

_OF_ONE_RECORD = {"request", "frame", "decision"}


class Ladder:
    """The rows of a session or a capture. Adding a record takes the same time, however many came before.

    Args:
        clock: Name of the common clock of all captures; empty if each has its own.

    Attributes:
        numbers: The numbers of requests and connections.
        hosts: Whose each turn is, where it is of several hosts: anew by whoever finds that out.
    """

    def __init__(self, clock: str = "") -> None:
        self._rows = LadderRows(clock)
        self.numbers = RowNumbers(self._rows)
        self._http = LadderHttp(self._rows)
        self._frames = LadderFrames(self._rows)
        self._waiting: dict[tuple[str, str], list[tuple[Link, Place]]] = {}
        self._links: dict[tuple[str, str], array[int]] = {}  # of each exchange, by the records' numbers
        self._doubtful: Mapping[tuple[str, int], str] = {}
        self.hosts: Mapping[int, str] = {}
        self._lines = -1  # the row of the last lines of standard error

    @property
    def rows(self) -> Sequence[Row]:
        """All rows, in the order of their first bytes. A row's index is its number."""
        return self._rows.table

    @property
    def sections(self) -> Sections:
        """The section of each row: a step of a turn, or connections."""
        return self._rows.sections

    @property
    def revision(self) -> int:
        """Grows when rows were added or changed."""
        return self._rows.revision

    def feed(self, records: Iterable[Record]) -> None:
        """Read the next records in order; several captures may follow each other."""
        for record in records:
            self._add(record)
        self.numbers.take()
        self._rows.settle()

    def close(self, running: Container[str] = ()) -> None:
        """End what is open in captures that are over: their requests have no answer.

        Args:
            running: The captures to which more may come.
        """
        for capture in self._rows.captures:
            if capture not in running:
                self._frames.close(capture)
                self._http.close(capture)
        self._rows.settle()

    def put_into_turns(self, turns: Mapping[tuple[str, int], tuple[int, int]]) -> None:
        """Assign rows, named by their first record, to turns and steps that were found later."""
        for key, (turn, step) in turns.items():
            number = self.row_of(key)
            if number is not None:
                self._rows.put_into_turn(number, turn, step)
        if turns:
            self._rows.sections = Sections()  # those before began without these turns
        self._rows.settle()

    def changed_since(self, revision: int) -> Sequence[int]:
        """Return the numbers of new and changed rows after a revision, in order."""
        return self._rows.changed_since(revision)

    def doubt(self, calls: Mapping[tuple[str, int], str]) -> None:
        """Set the possible calls of rows, named by first record, if it is unknown which call is right; clears all others."""
        before = self._doubtful
        for key in [key for key in {**before, **calls} if before.get(key) != calls.get(key)]:
            number = self.row_of(key)
            if number is not None:
                self._rows.change(replace(self.rows[number], doubtful=calls.get(key, "")))
        self._doubtful = calls
        self._rows.settle()

    def tool(self, number: int) -> str:
        """Return the name of a row's tool, for which no row is made; empty without one."""
        table = self._rows.table
        return table.texts.texts[table.named["tool"][number]]

    def partner(self, number: int) -> int | None:
        """Return the partner of a row: a request's response, or a question's answer."""
        return self._rows.partner(number)

    def relatives(self, number: int) -> tuple[int, ...]:
        """Return the rows that share a call with a row, nearest first; for a row without calls its partner."""
        numbers = {
            relative
            for call in self._rows.table.calls_of(number)
            for relative in self._rows.of_call(call)
            if relative != number
        }
        partner = self._rows.partner(number)
        if not numbers and partner is not None:
            return (partner,)
        return tuple(sorted(numbers, key=lambda relative: (abs(relative - number), relative)))

    def rows_of_call(self, call: str) -> Sequence[int]:
        """Return the rows of a call, in the order of their first bytes."""
        return sorted(self._rows.of_call(call))

    def row_of(self, key: tuple[str, int]) -> int | None:
        """Return the row whose first record has this capture and number."""
        return self._rows.row_of(*key)

    def request_of(self, capture: str, exchange: str) -> int | None:
        """Return the row of the request of an exchange with a model."""
        return self._http.half(capture, exchange, is_request=True)

    def links(self, row: Row) -> Sequence[tuple[str, int]]:
        """Return the `link` records about the bytes of a row's exchange, in both directions, as capture and number."""
        return [(row.capture, seq) for seq in self._links.get((row.capture, row.exchange), ())] if row.exchange else []

    def filter(self, text: str) -> array[int]:
        """Return the numbers of rows that match a filter by their values alone, in order."""
        test = row_test(read_filter(text).query, self._rows, ValuesOnly())
        return array("q", filter(test, range(len(self._rows))))

    def row_test(self, query: Query | None, texts: RowTexts | None) -> Test:
        """Return a test of rows against a query, valid until the next revision; see `row_filter.row_test`."""
        return row_test(query, self._rows, texts)

    def values(self, field: str) -> Sequence[str]:
        """Return the values of a filter's field that occur in rows: `server`, `tool`, `method`, `status` or `turn`."""
        table = self._rows.table
        texts = table.texts.texts
        match field:
            case "status" | "turn":
                return [str(number) for number in sorted(set(table.small[field])) if number]
            case "server":
                numbers = {peer for peer, lane in zip(table.named["peer"], table.lanes, strict=True) if lane}
                return sorted(texts[number] for number in numbers if number)
            case "tool":
                tools = {*self._rows.tools.values(), *(texts[number] for number in set(table.named["tool"]))}
                owned = {tool.partition(".")[2] for tool in tools}
                return sorted(tool for tool in tools if tool and tool not in owned)
            case _:
                return sorted(texts[number] for number in set(table.named[field]) if number)

    def only_record(self, number: int) -> tuple[str, int] | None:
        """Return capture and number of the record with the whole body of a row; None if more records may have a part."""
        table = self._rows.table
        if KINDS[table.kinds[number]] not in _OF_ONE_RECORD:
            return None
        return table.texts.texts[table.named["capture"][number]], table.numbers["seq"][number]

    def _add(self, record: Record) -> None:
        match record.kind:
            case "frame":
                before = len(self._rows)
                self._frames.add(record)
                if len(self._rows) > before:
                    self._http.carried(record, before)
            case "line":
                self._line(record)
            case "decision":
                self._decision(record)
            case "link":
                self._link(record)
            case "end" if record.exchange is None:
                self._connection_end(record)
            case _:
                self._http.add(record)
                self._give_waiting(record)

    def _line(self, record: Record) -> None:
        words = record.data.lstrip()[: 4 * WORDS].decode("utf-8", "backslashreplace").strip()[:WORDS]
        last = self._lines
        if last >= 0 and last == len(self._rows) - 1:
            row = self._rows.table[last]
            if (row.capture, row.peer, row.connection) == (record.capture, record.peer, record.connection or ""):
                self._rows.repeat(last, record, words)
                return
        row = replace(self._rows.row_for(record, "mcp", "line"), outward=False, words=words, events=1)
        self._lines = self._rows.add(row)

    def _connection_end(self, record: Record) -> None:
        reason = reason_of_end(record)
        row = replace(self._rows.row_for(record, "mcp", "end"), outward=False, words=reason, size=0)
        self._rows.add(replace(row, error=not is_orderly(reason)))
        self._frames.close(record.capture, record.connection or "", why_unanswered(record.peer, reason))

    def _decision(self, record: Record) -> None:
        value = read_object(record.data)
        server, tool = text_or_empty(value.get("server")), text_or_empty(value.get("tool"))
        words = (
            text_or_empty(value.get("words"))
            or f"{text_or_empty(value.get('decision'))} by {text_or_empty(value.get('by'))}"
        )
        row = replace(self._rows.row_for(record, "host", "decision"), peer=server, tool=tool, words=words[:WORDS])
        self._rows.add(row)
        for call in row.calls:
            self._rows.tools.setdefault(call, f"{server}.{tool}")

    def _link(self, record: Record) -> None:
        link = read_link(record.data)
        if link is None:
            return
        if link.span.exchange is not None:
            self._links.setdefault((record.capture, link.span.exchange), array("Q")).append(record.seq)
        if link.relation == "vendor":
            row = self._rows.row_for(record, "llm", "vendor")
            self._rows.add(replace(row, outward=False, words=link.words, size=0))
        if not link.call:
            return  # of no call: bytes alone
        if link.tool:
            self._rows.tools[link.call] = f"{link.server}.{link.tool}" if link.server else link.tool
        number = self._row_of_span(record.capture, link)
        if number is not None:
            self._join(number, link, record.place)
        elif link.span.exchange is not None:
            self._waiting.setdefault((record.capture, link.span.exchange), []).append((link, record.place))

    def _row_of_span(self, capture: str, link: Link) -> int | None:
        if link.span.exchange is not None:
            return self._http.half(capture, link.span.exchange, is_request=link.span.side == "request")
        return self._rows.row_of(capture, link.span.seq) if link.span.seq is not None else None

    def _join(self, number: int, link: Link, place: Place) -> None:
        """Add a link's call to a row, the turn to a message to a server, and the call's words to a response."""
        row = self._rows.table[number]
        if link.call in row.calls:
            return
        words = row.words
        if link.relation == "asked":
            asked = f"{self._rows.tools.get(link.call, link.tool)} {link.words}".strip()
            words = (f"{words}, {asked}" if words.startswith("asks ") else f"asks {asked}")[:WORDS]
        inferred = row.inferred or link.known != "id"
        is_told = row.lane == "mcp" and place.turn is not None  # until then it only seemed to be of one, or of none
        turn, step = (place.turn or 0, place.step or 0) if is_told else (row.turn, row.step)
        calls = row.calls | {link.call}
        self._rows.change(replace(row, turn=turn, step=step, calls=calls, words=words, inferred=inferred))

    def _give_waiting(self, record: Record) -> None:
        """Apply links that were received before the row."""
        if not self._waiting:
            return
        key = (record.capture, record.exchange or "")
        left: list[tuple[Link, Place]] = []
        for link, place in self._waiting.pop(key, ()):
            number = self._row_of_span(record.capture, link)
            if number is None:
                left.append((link, place))
            else:
                self._join(number, link, place)
        if left and record.kind not in {"end", "error"}:
            self._waiting[key] = left
