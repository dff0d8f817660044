"""Source of a session's rows: live records, and stored records of earlier captures."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.answers.wires import RecordedWires, is_of
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.store.notes_of_people import RowMarks
from tui_host.errors import StoreError

if TYPE_CHECKING:
    from tui_host.answers.wires import TakenRequest
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.infer.story_reader import LiveStory

LOOK_SECONDS = 0.01  # longest time to process records in one look, so that the screen does not wait
_WAIT_SECONDS = 0.04  # between two looks while a page waits for what was recorded before it was asked for
PER_PIECE = 100  # records between two looks at the clock
_PER_PAGE = 250  # records of a row that are read at a time


class SessionSource(RecordedWires):
    """The rows and bytes of a session: what is stored of it, then what is recorded. Calls are quick: they run in the screen's thread."""

    elsewhere: TakenRequest | None = None  # the request that was marked last in another session
    story: LiveStory | None = None  # what links the records of another host
    is_stale: bool = False  # whether a shown row turned out wrong, so that the session needs a new source
    empty: str | None = None  # text of a chat without messages; None to offer questions
    read_only: str = ""  # the prompt's placeholder in a session that takes no messages
    foreign: str = ""  # the session's owner in a few words, for the header; empty for a session held here

    def __init__(self, host: Host, session: Session, clock: str = "") -> None:
        user = "the user" if session.is_foreign else "you"
        super().__init__((), host.settings.providers, host.mask, user)
        self.ladder = Ladder(clock)  # the rows made so far
        self.live = self.is_behind = True  # more records may come; stored ones are still being read
        self.is_settled = False  # whether the last look processed all records
        self.session = session  # the session whose rows these are
        self.row_marks = RowMarks(host.store, session.id)  # the rows that the user marked
        self.links: dict[tuple[str, int], Record] = {}  # records that were inferred: no store has them
        self._host = host
        self._seen = 0
        self._is_begun = not session.turn  # else what comes on connections now may be of other sessions
        shared = () if session.parent is None else session.parent.shared
        self._turns: dict[str | None, int] = {older.session: older.turn for older in shared}  # of older sessions
        self._turns |= {None: 0, session.id: sys.maxsize}
        stored = host.store.session_records(session.id, shared) if host.store is not None and session.turn else ()
        self._earlier: Iterator[Record] | None = (record for record, _ in stored)

    @property
    def why_empty(self) -> str:
        if self.is_behind and self.session.turn:
            return "Reading the records …"
        if not self.live:
            return "No requests or frames of this session were saved."
        return self.empty or "Nothing sent yet. Ask something, and every byte appears here."

    @property
    def news(self) -> object:
        """A value that changes whenever there may be something new; very cheap."""
        if self.story is None:
            recorder = self._host.recorder
            return None if recorder is None else recorder.revision
        try:
            return self.story.version
        except StoreError:
            return None

    # New records.

    def look(self) -> None:
        """Fold new records for a limited time, stored ones first."""
        until, recorder = time.perf_counter() + LOOK_SECONDS, self._host.recorder
        self.is_settled = recorder is None
        while recorder is not None and not self.is_settled and time.perf_counter() < until:
            if self._earlier is not None:
                kept = list(islice(self._earlier, PER_PIECE))
                self._feed([record for record in kept if record.capture != recorder.capture])
                if not kept:
                    self._earlier, self.is_behind = None, False
                    self.ladder.close()  # all of the captures that are over are folded
                continue
            records = recorder.since(self._seen, limit=PER_PIECE) if self.live else ()
            self.is_settled = not records
            own = [one for one in records if (one.place.turn or 0) <= self._turns.get(one.place.session, -1)]
            if not self._is_begun and any(record.place.session for record in own):
                self._is_begun, self._seen = True, 0  # it uses this process's connections: its own from their start
            elif records:
                self._seen = records[-1].seq  # what is of no session came on a connection that all have
                self._feed(own if self._is_begun else ())

    async def caught_up(self) -> None:
        """Wait until all that was recorded before is read."""
        recorder, is_kept = self._host.recorder, False
        reached = 0 if recorder is None else recorder.reached
        while not (is_kept and self.is_settled):
            is_kept = recorder is None or recorder.last >= reached
            self.look()
            await asyncio.sleep(_WAIT_SECONDS)

    def _feed(self, records: Sequence[Record]) -> None:
        for record in records:
            self.recorded.feed(record)
        self.ladder.feed(records)

    # Records of a row.

    @override
    def record(self, key: tuple[str, int]) -> Record | None:
        if key in self.links:
            return self.links[key]
        capture, seq = key
        return next(iter(self._read(capture, seq - 1, seq)), None)

    @override
    def pages_of(self, row: Row) -> Iterator[Sequence[Record]]:
        partner = self.ladder.partner(row.number) if row.exchange else None
        both = [row] if partner is None else [row, self.ladder.rows[partner]]
        seq, last = min(part.seq for part in both) - 1, max(part.last_seq for part in both)
        while seq < last and (records := self._read(row.capture, seq, last)):
            seq = records[-1].seq
            yield [record for record in records if is_of(record, row)]

    def _read(self, capture: str, after: int, last: int) -> Sequence[Record]:
        """Return the records behind one until another, a page at most."""
        recorder, store = self._host.recorder, self._host.store
        if recorder is not None and recorder.capture == capture:
            return recorder.since(after, limit=min(_PER_PAGE, last - after))
        if store is None:
            return ()
        records = list(store.records(capture=capture, after=after, until_seq=last, limit=_PER_PAGE))
        return records if self.story is None else list(map(self.story.story.clock.on_it, records))

    def plain_data(self, capture: str, seqs: Sequence[int]) -> Mapping[int, bytes]:
        """Return the bytes of stored records by number, of those that need no decoding: quicker than the records."""
        store = self._host.store
        return {} if store is None else store.plain_data(capture, seqs)

    @override
    def compared(self, row: Row) -> Row | TakenRequest | None:
        """Return the request that a request is compared with: the chosen one, the one marked last, else the previous one."""
        if (chosen := self.chosen.get(row.number)) is not None:
            return chosen
        own = next((marked for marked in self._marked_requests() if marked.number != row.number), None)
        is_newer = own is not None and self.row_marks.revision > 0
        return own if is_newer else self.elsewhere or own or self.before(row)

    def _marked_requests(self) -> Iterator[Row]:
        numbers = map(self.ladder.row_of, reversed(self.row_marks.notes))
        rows = (self.ladder.rows[number] for number in numbers if number is not None)
        return (row for row in rows if row.kind == "request" and row.lane == "llm" and not row.missing)

    def marked_last(self) -> TakenRequest | None:
        """Return the request that was marked last while the session was shown, or in another session before."""
        from tui_host.answers.outlines import taken

        row = next(self._marked_requests(), None) if self.row_marks.revision else None
        return self.elsewhere if row is None else taken(self, row, self.row_marks.session)
