"""Fold records into the rows of the inspector as they come."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tui_host.capture.chain import read_link, read_object
from tui_host.capture.json.narrowing import WORDS
from tui_host.capture.ladder.exchange_rows import LadderHttp
from tui_host.capture.ladder.frame_rows import LadderFrames
from tui_host.capture.ladder.row import Row
from tui_host.capture.ladder.row_filter import RowFilter, RowTest
from tui_host.capture.ladder.row_table import LadderRows
from tui_host.capture.link import Link
from tui_host.capture.record import Place, Record
from tui_host.errors import JSON


class Ladder:
    """The rows of a session or a capture. Each record costs the same, however many came before.

    Args:
        clock: Names the clock that the records of all captures were put on; empty where each has its own.

    Attributes:
        hosts: Whose each turn is, where it is of several hosts: anew by whoever finds that out.
    """

    def __init__(self, clock: str = "") -> None:
        self._rows = LadderRows(clock)
        self._http = LadderHttp(self._rows)
        self._frames = LadderFrames(self._rows)
        self._filter = RowFilter(self._rows)
        self._waiting: dict[tuple[str, str], list[tuple[Link, Place]]] = {}
        self._links: dict[tuple[str, str], array[int]] = {}  # of each exchange, by the records' numbers
        self._doubtful: Mapping[tuple[str, int], str] = {}
        self.hosts: Mapping[int, str] = {}
        self._lines = -1  # the row of the last lines of standard error

    @property
    def rows(self) -> Sequence[Row]:
        """All rows, in the order of their first bytes; the place of a row is the row's number."""
        return self._rows.table

    @property
    def revision(self) -> int:
        """Grows when rows came or changed."""
        return self._rows.revision

    def feed(self, records: Iterable[Record]) -> None:
        """Take in the next records, in order; several captures may follow each other."""
        for record in records:
            self._add(record)
        self._rows.settle()

    def changed_since(self, revision: int) -> Sequence[int]:
        """Return the numbers of new and changed rows after a revision, in order."""
        return self._rows.changed_since(revision)

    def doubt(self, calls: Mapping[tuple[str, int], str]) -> None:
        """Set the possible calls of rows, named by first record, where nothing decides between the calls; clear all others."""
        before = self._doubtful
        for key in [key for key in {**before, **calls} if before.get(key) != calls.get(key)]:
            number = self.row_of(key)
            if number is not None:
                self._rows.change(replace(self.rows[number], doubtful=calls.get(key, "")))
        self._doubtful = calls
        self._rows.settle()

    def partner(self, number: int) -> int | None:
        """Return the partner of a row: request and response, question and answer."""
        return self._rows.partner(number)

    def relatives(self, number: int) -> tuple[int, ...]:
        """Return the rows with a call in common, nearest first; for a row without calls the partner."""
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

    def row_of(self, key: tuple[str, int]) -> int | None:
        """Return the row with a first record, named by capture and number."""
        return self._rows.row_of(*key)

    def request_of(self, capture: str, exchange: str) -> int | None:
        """The row of an exchange's request to a model."""
        return self._http.half(capture, exchange, is_request=True)

    def links(self, row: Row) -> Sequence[tuple[str, int]]:
        """Return the `link` records about the bytes of a row's exchange, in both directions, as capture and number."""
        return [(row.capture, seq) for seq in self._links.get((row.capture, row.exchange), ())] if row.exchange else []

    def filter(self, text: str) -> array[int]:
        """Return the numbers of the rows kept by a filter, in order: all tokens and all plain words must fit.

        Tokens are `tool:`, `method:`, `id:`, `dir:` (in, out), `kind:`, `status:`, `server:` and `turn:`.
        """
        return self._filter.numbers(text)

    def row_test(self, text: str) -> RowTest:
        """Return a test for rows against a filter, with plain words in the shown text as well."""
        return RowTest(text, self._rows)

    def _add(self, record: Record) -> None:
        draft = record.draft
        match draft.kind:
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
            case _:
                self._http.add(record)
                self._give_waiting(record)

    def _line(self, record: Record) -> None:
        draft = record.draft
        words = draft.data.lstrip()[: 4 * WORDS].decode("utf-8", "backslashreplace").strip()[:WORDS]
        last = self._lines
        if last >= 0 and last == len(self._rows) - 1:
            row = self._rows.table[last]
            if (row.capture, row.peer, row.connection) == (record.capture, draft.peer, draft.connection or ""):
                self._rows.repeat(last, record, words)
                return
        row = replace(self._rows.row_for(record, "mcp", "line"), outward=False, words=words, events=1)
        self._lines = self._rows.add(row)

    def _decision(self, record: Record) -> None:
        value = read_object(record.draft.data)
        server, tool = _text(value.get("server")), _text(value.get("tool"))
        words = _text(value.get("words")) or f"{_text(value.get('decision'))} by {_text(value.get('by'))}"
        row = replace(self._rows.row_for(record, "host", "decision"), peer=server, tool=tool, words=words[:WORDS])
        self._rows.add(row)
        for call in row.calls:
            self._rows.tools.setdefault(call, f"{server}.{tool}")

    def _link(self, record: Record) -> None:
        link = read_link(record.draft.data)
        if link is None:
            return
        if link.span.exchange is not None:
            self._links.setdefault((record.capture, link.span.exchange), array("Q")).append(record.seq)
        if not link.call:
            return  # of no call: bytes alone
        if link.tool:
            self._rows.tools[link.call] = f"{link.server}.{link.tool}" if link.server else link.tool
        number = self._row_of_span(record.capture, link)
        if number is not None:
            self._join(number, link, record.draft.place)
        elif link.span.exchange is not None:
            self._waiting.setdefault((record.capture, link.span.exchange), []).append((link, record.draft.place))

    def _row_of_span(self, capture: str, link: Link) -> int | None:
        if link.span.exchange is not None:
            return self._http.half(capture, link.span.exchange, is_request=link.span.side == "request")
        return self._rows.row_of(capture, link.span.seq) if link.span.seq is not None else None

    def _join(self, number: int, link: Link, place: Place) -> None:
        """Give a row the call of a link, and a message to a server the turn; give a response the words of the call."""
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
        """Apply links received before the row."""
        if not self._waiting:
            return
        key = (record.capture, record.draft.exchange or "")
        left: list[tuple[Link, Place]] = []
        for link, place in self._waiting.pop(key, ()):
            number = self._row_of_span(record.capture, link)
            if number is None:
                left.append((link, place))
            else:
                self._join(number, link, place)
        if left and record.draft.kind not in {"end", "error"}:
            self._waiting[key] = left


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""
