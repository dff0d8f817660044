"""Measures turns: their records in the capture, and schema errors of their calls."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from tui_host.chat.comparison import Run, figures_of
from tui_host.chat.conversation import NoteItem
from tui_host.settings.environment_references import listed_environment

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.recorder import Recorder
    from tui_host.chat.session import Session
    from tui_host.chat.turn_result import Outcome, TurnResult
    from tui_host.errors import JSON
    from tui_host.host.host import Host

FIT_SECONDS = 5.0
"""Time limit for checking the calls of a run, including the start of a process."""


class TurnMeter:
    """Measures turns, one after the other.

    Args:
        host: A ready host that runs one turn at a time.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._seen = 0
        self._known: dict[str, list[str] | None] = {}  # by schema and arguments, since calls repeat

    async def run(self, session: Session, result: TurnResult) -> Run:
        """Measure a session's only turn, which has just ended.

        Raises:
            StoreError: The records cannot be read.
        """
        recorder = self._host.recorder
        records = await to_thread.run_sync(self._new, recorder) if recorder is not None else []
        notes = (item for item in session.conversation.items if isinstance(item, NoteItem) and item.kind == "note")
        return Run(
            session=session.id,
            result=result,
            figures=figures_of(records, session.id),
            notes=tuple(notes),
            misfits=await self._misfits(result.outcomes),
        )

    def _new(self, recorder: Recorder) -> list[Record]:
        """Return the records since the last call."""
        recorder.flush()
        records: list[Record] = []
        while new := recorder.since(self._seen):
            records += new
            self._seen = new[-1].seq
        return records

    async def _misfits(self, outcomes: Sequence[Outcome]) -> dict[str, list[str]]:
        """Return schema errors by call id; no entry where unknown."""
        asked = {
            outcome.call.id: json.dumps([outcome.request.tool.schema, outcome.asked])
            for outcome in outcomes
            if outcome.request is not None
        }
        new = list(dict.fromkeys(line for line in asked.values() if line not in self._known))
        if new:
            self._known.update(zip(new, await check_schemas(new, self._host.settings.environment), strict=True))
        return {call: misfits for call, line in asked.items() if (misfits := self._known[line]) is not None}


async def check_schemas(lines: Sequence[str], environment: Mapping[str, str]) -> list[list[str] | None]:
    """Return the answers of `chat.schema_check` to each line; None for all if the check takes too long.

    Each schema is foreign, so a separate process checks it, and is killed at the time limit.
    """
    command = [sys.executable, "-P", "-m", "tui_host.chat.schema_check"]
    printed = b""
    with anyio.move_on_after(FIT_SECONDS):
        done = await anyio.run_process(
            command,
            input="".join(f"{line}\n" for line in lines).encode(),
            stderr=subprocess.DEVNULL,
            check=False,
            start_new_session=True,
            env=listed_environment(environment),
        )
        printed = done.stdout
    answers: list[JSON] = [json.loads(line) for line in printed.splitlines()]
    results = [[str(words) for words in answer] if isinstance(answer, list) else None for answer in answers]
    return results if len(results) == len(lines) else [None] * len(lines)
