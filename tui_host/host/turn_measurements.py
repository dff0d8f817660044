"""Measures turns by their records in the capture."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from tui_host.answers.wires import RecordedWires
from tui_host.chat.comparison import ComparedRun, figures_of
from tui_host.chat.conversation import NoteItem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.capture.record import Record
    from tui_host.chat.session import Session
    from tui_host.chat.turn_result import TurnResult
    from tui_host.host.host import Host


async def measured(host: Host, session: Session, result: TurnResult) -> ComparedRun:
    """Measure a session's only turn, which has just ended. Raises StoreError if the records cannot be read."""
    recorder = host.recorder
    records: Sequence[Record] = ()
    if recorder is not None:
        await to_thread.run_sync(recorder.flush)
        records = await to_thread.run_sync(partial(recorder.since, 0, limit=sys.maxsize))
    own = [record for record in records if record.place.session == session.id]
    notes = (item for item in session.conversation if isinstance(item, NoteItem) and item.kind == "note")
    figures = await to_thread.run_sync(figures_of, RecordedWires(own, host.settings.providers))
    return ComparedRun(session=session.id, result=result, figures=figures, notes=tuple(notes))
