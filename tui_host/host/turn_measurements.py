"""Measures turns by their records in the capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import to_thread

from tui_host.answers.recorded_wires import RecordedWires
from tui_host.chat.comparison import ComparedRun, figures_of
from tui_host.chat.conversation import NoteItem

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.recorder import Recorder
    from tui_host.chat.session import Session
    from tui_host.chat.turn_result import TurnResult
    from tui_host.host.host import Host


class TurnMeter:
    """Measures the traffic of turns that run one after the other."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._seen = 0

    async def run(self, session: Session, result: TurnResult) -> ComparedRun:
        """Measure a session's only turn, which has just ended.

        Raises:
            StoreError: The records cannot be read.
        """
        recorder = self._host.recorder
        records = await to_thread.run_sync(self._new, recorder) if recorder is not None else []
        mine = [record for record in records if record.place.session == session.id]
        notes = (item for item in session.conversation.items if isinstance(item, NoteItem) and item.kind == "note")
        return ComparedRun(
            session=session.id,
            result=result,
            figures=await to_thread.run_sync(figures_of, RecordedWires(mine, self._host.settings.providers)),
            notes=tuple(notes),
        )

    def _new(self, recorder: Recorder) -> list[Record]:
        """Return the records since the last call."""
        recorder.flush()
        records: list[Record] = []
        while new := recorder.since(self._seen):
            records += new
            self._seen = new[-1].seq
        return records
