"""Makes the rows of the inspector from records as they arrive."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Mapping, Sequence

from tui_host.capture.connection_end import is_orderly, reason_of_end, why_unanswered
from tui_host.capture.json.narrowing import WORDS, text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.ladder.exchange_rows import LadderExchange
from tui_host.capture.ladder.frame_rows import FrameRows
from tui_host.capture.ladder.row import Row
from tui_host.capture.ladder.rows import LadderRows, Value
from tui_host.capture.link import Link, read_link
from tui_host.capture.record import Place, Record

_DEGREES = {"value": "inferred", "time": "inferred", "maybe": "maybe"}
"""What a row is whose call was found by comparing contents; by an id, or by hand, it is certain."""


class Ladder(LadderRows):
    """The rows of a session or a capture. Adding a record takes the same time, however many came before.

    Args:
        clock: Name of the common clock of all captures; empty if each has its own.

    Attributes:
        hosts: Whose each turn is, where it is of several hosts: anew by whoever finds that out.
    """

    def __init__(self, clock: str = "") -> None:
        super().__init__(clock)
        self._open: dict[tuple[str, str], LadderExchange] = {}
        self._halves: dict[tuple[str, str], tuple[int, int]] = {}  # request and response of exchanges with models
        self._frames = FrameRows(self)
        self._waiting: dict[tuple[str, str], list[tuple[Link, Place]]] = {}  # for the rows of their exchanges
        self._links: dict[tuple[str, str], array[int]] = {}  # of each exchange, by the records' numbers
        self.hosts: Mapping[int, str] = {}
        self._lines = -1  # the row of the last lines of standard error

    def feed(self, records: Iterable[Record]) -> None:
        """Read the next records in order; several captures may follow each other."""
        for record in records:
            self._take(record)
        self.settle()

    def close(self, running: Container[str] = ()) -> None:
        """End what is open in captures that are over, to which no more may come: their requests have no answer."""
        for capture in self._by_seq:
            if capture not in running:
                self._frames.close(capture)
                for key in [key for key in self._open if key[0] == capture]:
                    self._open.pop(key).cut()
        self.settle()

    def request_of(self, capture: str, exchange: str) -> int | None:
        """Return the row of the request of an exchange with a model."""
        number = self._halves.get((capture, exchange), (-1, -1))[0]
        return number if number >= 0 else None

    def links(self, row: Row) -> Sequence[tuple[str, int]]:
        """Return the `link` records about the bytes of a row's exchange, in both directions, as capture and number."""
        return [(row.capture, seq) for seq in self._links.get((row.capture, row.exchange), ())] if row.exchange else []

    def _take(self, record: Record) -> None:
        match record.kind:
            case "frame":
                carrier = None if record.exchange is None else self._open.get((record.capture, record.exchange))
                number = self._frames.take(record, {} if carrier is None else carrier.carrier(record.direction))
                if number is not None and carrier is not None:
                    carrier.carried(number)
            case "line":
                self._line(record)
            case "decision":
                self._decision(record)
            case "link":
                self._link(record)
            case "end" if record.exchange is None:
                reason = reason_of_end(record)
                self.add(record, "mcp", "end", outward=False, words=reason, size=0, error=not is_orderly(reason))
                self._frames.close(record.capture, record.connection or "", why_unanswered(record.peer, reason))
            case _:
                self._exchange(record)

    def _exchange(self, record: Record) -> None:
        key = record.capture, record.exchange or ""
        exchange = self._open.get(key)
        if exchange is None:
            exchange = self._open[key] = LadderExchange(self)
        exchange.take(record)
        if record.wire == "llm":
            self._halves[key] = exchange.request, exchange.response
        for link, place in self._waiting.pop(key, ()):
            self._join_or_wait(record.capture, link, place)
        if record.kind in {"end", "error"}:
            del self._open[key]
            self._waiting.pop(key, None)  # no other half will come

    def _line(self, record: Record) -> None:
        words = record.data.lstrip()[: 4 * WORDS].decode("utf-8", "backslashreplace").strip()[:WORDS]
        if 0 <= self._lines == len(self.rows) - 1:
            row = self.rows[self._lines]
            if (row.capture, row.peer, row.connection) == (record.capture, record.peer, record.connection or ""):
                self.repeat(self._lines, record, words)
                return
        self._lines = self.add(record, "mcp", "line", outward=False, words=words, events=1)

    def _decision(self, record: Record) -> None:
        value = read_object(record.data)
        names = ("server", "tool", "words", "decision", "by")
        server, tool, words, decision, by = (text_or_empty(value.get(name)) for name in names)
        self.add(record, "host", "decision", peer=server, tool=tool, words=(words or f"{decision} by {by}")[:WORDS])
        if record.place.call:
            self.tools.setdefault(record.place.call, f"{server}.{tool}")

    def _link(self, record: Record) -> None:
        link = read_link(record.data)
        if link is None:
            return
        if link.span.exchange is not None:
            self._links.setdefault((record.capture, link.span.exchange), array("Q")).append(record.seq)
        if link.relation == "vendor":
            self.add(record, "llm", "vendor", outward=False, words=link.words, size=0)
        if not link.call:
            return  # of no call: bytes alone
        if link.tool:
            self.tools[link.call] = f"{link.server}.{link.tool}" if link.server else link.tool
        self._join_or_wait(record.capture, link, record.place)

    def _join_or_wait(self, capture: str, link: Link, place: Place) -> None:
        """Add a link's call to the row of its bytes; a link may come before the rows of its exchange."""
        span = link.span
        if span.exchange is None:
            number = None if span.seq is None else self.row_of((capture, span.seq))
        else:
            request, response = self._halves.get((capture, span.exchange), (-1, -1))
            number = request if span.side == "request" else response
        if number is not None and number >= 0:
            self._join(self.rows[number], link, place)
        elif span.exchange is not None:
            self._waiting.setdefault((capture, span.exchange), []).append((link, place))

    def _join(self, row: Row, link: Link, place: Place) -> None:
        """Add a call to a row, the turn to a message to a server, and the call's words to a response."""
        if link.call in row.calls:
            return
        self.join(row.number, link.call)
        changes: dict[str, Value] = {}
        if link.relation == "asked":
            asked = f"{self.tools.get(link.call, link.tool)} {link.words}".strip()
            before = f"{row.words}, " if row.words.startswith("asks ") else "asks "
            changes["words"] = f"{before}{asked}"[:WORDS]
        if link.known in _DEGREES:
            changes[_DEGREES[link.known]] = True
        if row.lane == "mcp" and place.turn is not None:  # until then it only seemed to be of one, or of none
            changes |= {"turn": place.turn, "step": place.step or 0}
            self.sections.move(row.number, (row.clock, place.turn, place.step or 0))
        self.change(row.number, **changes)
