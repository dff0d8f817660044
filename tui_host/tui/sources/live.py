"""The rows of a session for the inspector: live records, and stored records of earlier captures."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tui_host.capture.ladder.ladder import Ladder
from tui_host.llm.dialects.dialect_table import DIALECTS, dialect_at
from tui_host.tui.masks import mask_of
from tui_host.tui.widgets.first_frame import EMPTY_LIVE
from tui_host.tui.widgets.pages.row_source import request_above

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.llm.dialects.dialect import Dialect

LOOK_SECONDS = 0.01
"""How long one look folds records, so that none holds the screen up."""
PER_PIECE = 100
"""Records folded between two looks at the clock."""
PER_PAGE = 250
"""Records of a row that are read at a time."""
EMPTY_KEPT = "No requests or frames of this session were saved."
EMPTY_TAPPED = "Nothing has passed yet. Use the tapped host, and its traffic appears here."
BEING_READ = "Reading the records …"


class SessionSource:
    """The rows and bytes of a session.

    Attributes:
        ladder: The rows folded so far.
        live: More may come.
        is_settled: The last look folded all that there was.
        is_stale: Something that was shown is not so: another source of the same session shows what is.
        empty: What stands in the chat while nothing was said; None for what can be tried.
        read_only: What the prompt tells of one in which nothing can be said.
        has_talks: Several conversations may go on in it, and it is known which request belongs to which.
    """

    is_stale: bool = False
    empty: str | None = None
    read_only: str = ""
    has_talks: bool = False

    def __init__(self, host: Host, session: Session) -> None:
        self.ladder = Ladder()
        self.live = True
        self.is_settled = False
        self._host = host
        self._session = session
        self._seen = 0
        self._earlier: Iterator[Record] | None = self._kept_records()
        self._begun: dict[tuple[str, int], int] = {}

    def _kept_records(self) -> Iterator[Record]:
        """Yield the stored records of the session, oldest first."""
        store = self._host.store
        if store is not None and self._host.recorder is not None and self._session.turn:
            yield from (record for record, _ in store.session_records(self._session.id))

    @property
    def is_behind(self) -> bool:
        """Whether stored records are still being read; not every step needs to be drawn then."""
        return self._earlier is not None

    @property
    def why_empty(self) -> str:
        """Why the list is empty."""
        if self.is_behind and (self._session.turn or self._session.is_foreign):
            return BEING_READ
        return EMPTY_KEPT if not self.live else EMPTY_TAPPED if self.foreign else EMPTY_LIVE

    @property
    def user(self) -> str:
        """Who asks the model: `you`, or the user of another host."""
        return "the user" if self._session.is_foreign else "you"

    @property
    def foreign(self) -> str:
        """The session's owner in a few words, for the header; empty for a session held here."""
        return ""

    @property
    def origin(self) -> str:
        """The owner of the session's servers; empty for the person's own."""
        return ""

    def runs(self, capture: str) -> bool:  # noqa: ARG002 - a tap may end before the others of its story do
        """Whether more may come to a capture."""
        return self.live

    @property
    def news(self) -> object:
        """Changes whenever a look may find something; costs next to nothing."""
        recorder = self._host.recorder
        return None if recorder is None else recorder.revision

    def look(self) -> None:
        """Fold new records for a limited time."""
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
            self._earlier = None
        records = recorder.since(self._seen, limit=PER_PIECE) if recorder is not None else ()
        if records:
            self._seen = records[-1].seq
            self._feed([record for record in records if self._belongs(record)])
        return bool(records)

    def _belongs(self, record: Record) -> bool:
        """Whether a record belongs to the session, or to a connection outside all sessions."""
        return record.draft.place.session in {None, self._session.id}

    def _feed(self, records: Sequence[Record]) -> None:
        for record in records:
            key = (record.capture, record.draft.place.turn or 0)
            if record.mono_ns is not None:
                self._begun.setdefault(key, record.mono_ns)
        self.ladder.feed(records)

    def record(self, key: tuple[str, int]) -> Record | None:
        """Return a record."""
        capture, seq = key
        recorder = self._host.recorder
        if recorder is not None and recorder.capture == capture:
            records = recorder.since(seq - 1, limit=1)
            return records[0] if records else None
        return self._host.store.record(capture, seq) if self._host.store is not None else None

    def records_of(self, row: Row) -> Sequence[Record]:
        """Return the records of a row's exchange, or of the row alone."""
        return [record for page in self.pages_of(row) for record in page]

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
            yield [record for record in records if _is_of(record, row)]

    def tail(self, row: Row, most: int) -> Sequence[Record]:
        """Return about the last `most` records of a row."""
        after = max(row.seq - 1, row.last_seq - most)
        return [record for record in self._read(row.capture, after, row.last_seq) if _is_of(record, row)]

    def _read(self, capture: str, after: int, last: int) -> Sequence[Record]:
        recorder, store = self._host.recorder, self._host.store
        if recorder is not None and recorder.capture == capture:
            return recorder.since(after, limit=min(PER_PAGE, last - after))
        if store is None:
            return ()
        return list(store.records(capture=capture, after=after, until_seq=last, limit=PER_PAGE))

    def body(self, row: Row) -> bytes:
        """A row's bytes on the wire."""
        kinds = {"request": ("request",), "response": ("chunk",)}.get(row.kind, ("frame", "line", "decision", "error"))
        records = self.records_of(row)
        if (row.exchange and row.kind == "frame") or row.kind == "decision":
            record = self.record((row.capture, row.seq))
            records = [record] if record is not None else []
        return b"".join(record.draft.data for record in records if record.draft.kind in kinds)

    def started_mono_ns(self, row: Row) -> int | None:
        """When the row's turn began."""
        return self._begun.get((row.capture, row.turn), row.mono_ns)

    def dialect(self, row: Row) -> Dialect | None:
        """Return the dialect of a row's exchange: by its URL, else by its provider."""
        spoken = dialect_at(row.url)
        if spoken is not None:
            return spoken
        provider = self._host.settings.providers.get(row.peer)
        return None if provider is None else DIALECTS.get(provider.dialect)

    def before(self, row: Row) -> Row | None:
        """Return the previous request to the model's API, to compare with."""
        return request_above(self, row)

    def hide(self, text: str) -> str:
        """Mask the secrets known to the host."""
        return mask_of(self._host).values(text)

    def marks(self, text: str) -> str:
        """Masks in the place of marks."""
        return mask_of(self._host).marks(text)

    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:  # noqa: ARG002 - names may come to differ by row
        """Return server and tool for each tool name."""
        from tui_host.llm.tool_names import NameTable

        pool = self._host.pool
        return NameTable.make((tool.server, tool.name) for tool in pool.tools()).known if pool is not None else {}


def _is_of(record: Record, row: Row) -> bool:
    """Whether a record in a row's range belongs to the row or to its exchange."""
    draft = record.draft
    if row.exchange:
        return draft.exchange == row.exchange
    if row.kind == "decision":  # on the host's own wire, whatever server it is about
        return record.seq == row.seq
    return draft.peer == row.peer and draft.kind != "link"
