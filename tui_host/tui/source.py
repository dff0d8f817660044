"""One session's wires for the inspector: live records as they come, or what the store keeps of earlier captures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tui_host.capture.ladder import Ladder
from tui_host.llm.dialects import DIALECTS
from tui_host.tui.masks import mask_of

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.rows import Row
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.llm.dialects.dialect import Dialect

PER_LOOK = 2000
"""Records folded in one look, so that no look holds the screen up."""


class SessionSource:
    """The rows and bytes of one session.

    Attributes:
        ladder: The rows folded so far.
        live: More may come.
    """

    def __init__(self, host: Host, session: Session) -> None:
        self.ladder = Ladder()
        self.live = True
        self._host = host
        self._session = session
        self._seen = 0
        self._earlier = self._kept_records()
        self._begun: dict[tuple[str, int], int] = {}

    def _kept_records(self) -> list[Record]:
        """What earlier captures hold of this session, newest last."""
        store, recorder = self._host.store, self._host.recorder
        if store is None or recorder is None or not self._session.turn:
            return []
        return [record for record, _ in store.session_records(self._session.id) if record.capture != recorder.capture]

    def look(self) -> None:
        """Fold what is new."""
        recorder = self._host.recorder
        if self._earlier:
            batch, self._earlier = self._earlier[:PER_LOOK], self._earlier[PER_LOOK:]
            self._feed(batch)
        elif recorder is not None:
            records = recorder.since(self._seen, limit=PER_LOOK)
            if records:
                self._seen = records[-1].seq
                self._feed([record for record in records if self._belongs(record)])

    def _belongs(self, record: Record) -> bool:
        """Records of this session, and those of connections that belong to none."""
        return record.draft.place.session in {None, self._session.id}

    def _feed(self, records: Sequence[Record]) -> None:
        for record in records:
            key = (record.capture, record.draft.place.turn or 0)
            self._begun.setdefault(key, record.mono_ns)
        self.ladder.feed(records)

    def record(self, key: tuple[str, int]) -> Record | None:
        """One record."""
        capture, seq = key
        recorder = self._host.recorder
        if recorder is not None and recorder.capture == capture:
            found = recorder.since(seq - 1, limit=1)
            return found[0] if found else None
        return self._host.store.record(capture, seq) if self._host.store is not None else None

    def records_of(self, row: Row) -> Sequence[Record]:
        """The records of a row's exchange, else its own."""
        recorder, store = self._host.recorder, self._host.store
        other = self.ladder.partner(row.number) if row.exchange else None
        both = [row] if other is None else [row, self.ladder.rows[other]]
        first, last = min(part.seq for part in both), max(part.last_seq for part in both)
        if recorder is not None and recorder.capture == row.capture:
            records = recorder.since(first - 1, limit=last - first + 1)
        elif store is not None:
            records = list(store.records(capture=row.capture, after=first - 1, until_seq=last))
        else:
            return []
        if row.exchange:
            return [record for record in records if record.draft.exchange == row.exchange]
        if row.kind == "decision":  # on the host's own wire, whatever server it is about
            return [record for record in records if record.seq == row.seq]
        return [record for record in records if record.draft.peer == row.peer and record.draft.kind != "link"]

    def body(self, row: Row) -> bytes:
        """A row's bytes on the wire."""
        kinds = {"request": ("request",), "response": ("chunk",)}.get(row.kind, ("frame", "line", "decision", "error"))
        records = self.records_of(row)
        if (row.exchange and row.kind == "frame") or row.kind == "decision":
            found = self.record((row.capture, row.seq))
            records = [found] if found is not None else []
        return b"".join(record.draft.data for record in records if record.draft.kind in kinds)

    def started_mono_ns(self, row: Row) -> int:
        """When the row's turn began."""
        return self._begun.get((row.capture, row.turn), row.mono_ns)

    def dialect(self, row: Row) -> Dialect | None:
        """The dialect that the row's provider speaks."""
        provider = self._host.settings.providers.get(row.peer)
        return None if provider is None else DIALECTS.get(provider.dialect)

    def hide(self, text: str) -> str:
        """Masks in the place of the secrets that the host knows now."""
        return mask_of(self._host).values(text)

    def marks(self, text: str) -> str:
        """Masks in the place of marks."""
        return mask_of(self._host).marks(text)

    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:  # noqa: ARG002 - names may come to differ by row
        """What each tool's name stands for."""
        from tui_host.llm.names import NameTable

        pool = self._host.pool
        return NameTable.make((tool.server, tool.name) for tool in pool.tools()).known if pool is not None else {}
