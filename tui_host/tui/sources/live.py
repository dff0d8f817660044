"""Source of a session's rows: live records, and stored records of earlier captures."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tui_host.answers.recorded_tools import RecordedTools
from tui_host.answers.recorded_wires import dialect_of, earlier_request, is_of
from tui_host.answers.token_prices import price_of
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.store.notes_of_people import RowMarks
from tui_host.llm.tool_names import OPENAI_NAMES
from tui_host.tui.host_mask import mask_of
from tui_host.tui.sources.source_words import EMPTY_LIVE

if TYPE_CHECKING:
    from tui_host.answers.wires import TakenRequest
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.infer.matching.matcher import Pairing
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.settings.schema import Price

LOOK_SECONDS = 0.01
"""Longest time to process records in one look, in seconds, so that the screen does not wait."""
PER_PIECE = 100
"""Number of records between two looks at the clock."""
PER_PAGE = 250
"""Number of a row's records to read at a time."""
EMPTY_KEPT = "No requests or frames of this session were saved."
EMPTY_TAPPED = "Nothing has passed yet. Use the tapped host, and its traffic appears here."
BEING_READ = "Reading the records …"


class SessionSource:
    """The rows and bytes of a session. Calls are quick: they run in the screen's thread.

    Attributes:
        live: Whether more records may come.
        is_behind: Whether stored records are still being read, so that intermediate states need not be drawn.
    """

    elsewhere: TakenRequest | None = None  # the request that was marked last in another session
    is_stale: bool = False  # whether a shown row turned out wrong, so that the session needs a new source
    empty: str | None = None  # text of a chat without messages; None to offer questions
    read_only: str = ""  # the prompt's placeholder in a session that takes no messages
    user: str = "you"  # who asks the model: `you`, or the user of another host
    foreign: str = ""  # the session's owner in a few words, for the header; empty for a session held here
    origin: str = ""  # the owner of the session's servers; empty for the user's own
    has_talks: bool = False  # whether requests are assigned to one of several conversations

    def __init__(self, host: Host, session: Session) -> None:
        self.ladder = Ladder()  # the rows made so far
        self.live = self.is_behind = True
        self.is_settled = False  # whether the last look processed all records
        self.session = session  # the session whose rows these are
        self.user = "the user" if session.is_foreign else "you"
        self.row_marks = RowMarks(host.store, session.id)  # the rows that the user marked
        self._host = host
        self._seen = 0
        self._is_begun = not session.turn  # else what comes on connections now may be of other sessions
        self._earlier: Iterator[Record] | None = self._kept_records()
        self._begun: dict[tuple[str, int], int] = {}
        self.recorded = RecordedTools()

    def _kept_records(self) -> Iterator[Record]:
        """Yield the stored records of the session, oldest first."""
        store = self._host.store
        if store is not None and self._host.recorder is not None and self.session.turn:
            yield from (record for record, _ in store.session_records(self.session.id))

    @property
    def why_empty(self) -> str:
        if self.is_behind and (self.session.turn or self.session.is_foreign):
            return BEING_READ
        if not self.live:
            return EMPTY_KEPT
        return EMPTY_TAPPED if self.foreign else EMPTY_LIVE

    def runs(self, capture: str) -> bool:  # noqa: ARG002 - a tap may end before the others of its story do
        """Whether more records may come in a capture."""
        return self.live

    @property
    def news(self) -> object:
        """A value that changes whenever there may be something new; very cheap."""
        recorder = self._host.recorder
        return None if recorder is None else recorder.revision

    def pairings(self, row: Row) -> Sequence[Pairing]:  # noqa: ARG002 - for stories
        """Return what a row may be joined with by hand: nothing where links are recorded as they happen."""
        return ()

    def look(self) -> None:
        """Process new records for a limited time."""
        until = time.perf_counter() + LOOK_SECONDS
        self.is_settled = False
        while not self.is_settled and time.perf_counter() < until:
            self.is_settled = not self._look()

    def _look(self) -> bool:
        """Fold a few records, stored ones first; whether any were folded."""
        recorder = self._host.recorder
        if self._earlier is not None and recorder is not None:
            kept = list(islice(self._earlier, PER_PIECE))
            if kept:
                self._feed([record for record in kept if record.capture != recorder.capture])
                return True
            self._earlier, self.is_behind = None, False
            self._close()
        records = recorder.since(self._seen, limit=PER_PIECE) if recorder is not None else ()
        if not records:
            return False
        if not self._is_begun and any(record.place.session == self.session.id for record in records):
            self._is_begun, self._seen = (
                True,
                0,
            )  # it uses the connections of this process: they are its own from their start
            return True
        self._seen = records[-1].seq
        if self._is_begun:
            self._feed([record for record in records if self._belongs(record)])
        return True

    def _close(self) -> None:
        """End what is open in the rows of captures that are over, now that all of them are folded."""
        self.ladder.close()

    def _belongs(self, record: Record) -> bool:
        """Whether a record belongs to the session, or to a connection outside all sessions."""
        return record.place.session in {None, self.session.id}

    def _feed(self, records: Sequence[Record]) -> None:
        for record in records:
            key = (record.capture, record.place.turn or 0)
            if record.mono_ns is not None:
                self._begun.setdefault(key, record.mono_ns)
            self.recorded.feed(record)
        self.ladder.feed(records)

    def record(self, key: tuple[str, int]) -> Record | None:
        """Return a record."""
        capture, seq = key
        recorder = self._host.recorder
        if recorder is not None and recorder.capture == capture:
            records = recorder.since(seq - 1, limit=1)
            return records[0] if records else None
        return self._host.store.record(capture, seq) if self._host.store is not None else None

    def pages_of(self, row: Row) -> Iterator[Sequence[Record]]:
        """Yield the records of a row page by page."""
        partner = self.ladder.partner(row.number) if row.exchange else None
        both = [row] if partner is None else [row, self.ladder.rows[partner]]
        seq, last = min(part.seq for part in both) - 1, max(part.last_seq for part in both)
        while seq < last:
            records = self._read(row.capture, seq, last)
            if not records:
                return
            seq = records[-1].seq
            yield [record for record in records if is_of(record, row)]

    def tail(self, row: Row, most: int) -> Sequence[Record]:
        """Return about the last `most` records of a row."""
        after = max(row.seq - 1, row.last_seq - most)
        return [record for record in self._read(row.capture, after, row.last_seq) if is_of(record, row)]

    def _read(self, capture: str, after: int, last: int) -> Sequence[Record]:
        recorder, store = self._host.recorder, self._host.store
        if recorder is not None and recorder.capture == capture:
            return recorder.since(after, limit=min(PER_PAGE, last - after))
        if store is None:
            return ()
        return list(store.records(capture=capture, after=after, until_seq=last, limit=PER_PAGE))

    def body(self, row: Row) -> bytes:
        kinds = {"request": ("request",), "response": ("chunk",), "end": ("end",), "vendor": ("link",)}.get(
            row.kind, ("frame", "line", "decision", "error")
        )
        records: Iterable[Record] = (record for page in self.pages_of(row) for record in page)
        if (row.exchange and row.kind == "frame") or row.kind in {"decision", "vendor"}:
            record = self.record((row.capture, row.seq))
            records = [record] if record is not None else []
        return b"".join(record.data for record in records if record.kind in kinds)

    def plain_data(self, capture: str, seqs: Sequence[int]) -> Mapping[int, bytes]:
        """Return the bytes of records by number, of those that need no decoding: quicker than the records."""
        recorder, store = self._host.recorder, self._host.store
        held: Mapping[int, bytes] = {}
        if recorder is not None and recorder.capture == capture:
            held = recorder.held_data(seqs)
            seqs = [seq for seq in seqs if seq not in held]
        return {**held, **store.plain_data(capture, seqs)} if store is not None and seqs else held

    def started_mono_ns(self, row: Row) -> int | None:
        """Return when the row's turn began."""
        return self._begun.get((row.capture, row.turn), row.mono_ns)

    def dialect(self, row: Row) -> Dialect | None:
        """Return the dialect of a row's exchange: by its URL, else by its provider."""
        return dialect_of(self._host.settings.providers, row)

    def price(self, row: Row, model: str) -> Price | None:
        """Return the price of a request's model."""
        return price_of(self._host.settings.providers, row, model)

    def before(self, row: Row) -> Row | None:
        """Return the previous request of a row's conversation: the nearest one above with equal provider and dialect."""
        return earlier_request(self.ladder, row, self.dialect)

    def called(self, row: Row) -> str:
        """Return how a row is called: `LLM 3`, `lab #4`."""
        return self.ladder.numbers.name(row)

    def compared(self, row: Row) -> Row | TakenRequest | None:
        """Return the request that a request is compared with: the one marked last in any session, else the previous one."""
        own = next((each for each in self._marked_requests() if each.number != row.number), None)
        is_newer = own is not None and self.row_marks.revision > 0
        return own if is_newer else self.elsewhere or own or self.before(row)

    def _marked_requests(self) -> Iterator[Row]:
        numbers = map(self.ladder.row_of, self.row_marks.newest_first)
        rows = (self.ladder.rows[number] for number in numbers if number is not None)
        return (each for each in rows if each.kind == "request" and each.lane == "llm" and not each.missing)

    def marked_last(self) -> TakenRequest | None:
        """Return the request that was marked last while the session was shown, or in another session before."""
        from tui_host.answers.outlines import taken

        row = next(self._marked_requests(), None) if self.row_marks.revision else None
        return self.elsewhere if row is None else taken(self, row, self.row_marks.session)

    def hide(self, text: str) -> str:
        """Mask the secrets known to the host."""
        return mask_of(self._host).values(text)

    def marks(self, text: str) -> str:
        """Replace the marks of removed secrets by masks."""
        return mask_of(self._host).marks(text)

    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        """Return server and tool for each tool name, as servers listed them when the row was recorded."""
        dialect = self.dialect(row)
        return self.recorded.names(row.capture, OPENAI_NAMES if dialect is None else dialect.name_rule)
