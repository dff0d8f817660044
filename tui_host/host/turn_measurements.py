"""Measures turns by their records in the capture."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from anyio import to_thread

from tui_host.answers.wires import RecordedWires
from tui_host.chat.comparison import ComparedRun, figures_of
from tui_host.chat.conversation import NoteItem

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.chat.session import Session
    from tui_host.chat.turn_result import TurnResult
    from tui_host.host.host import Host


async def measured(host: Host, session: Session, result: TurnResult) -> ComparedRun:
    """Measure a session's only turn, which has just ended.

    Raises:
        StoreError: The records cannot be read.
    """
    recorder = host.recorder

    def records_of() -> list[Record]:
        if recorder is None:
            return []
        recorder.flush()
        return [record for record in recorder.since(0, limit=sys.maxsize) if record.place.session == session.id]

    records = await to_thread.run_sync(records_of)
    notes = (item for item in session.conversation.items if isinstance(item, NoteItem) and item.kind == "note")
    figures = await to_thread.run_sync(figures_of, RecordedWires(records, host.settings.providers))
    return ComparedRun(session=session.id, result=result, figures=figures, notes=tuple(notes))
