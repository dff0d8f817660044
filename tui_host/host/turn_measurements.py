"""What a turn took: its records out of the capture, and whether its calls' arguments fit their tools."""

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
from tui_host.settings.secrets import listed_environment

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.recorder import Recorder
    from tui_host.chat.call_outcome import Outcome
    from tui_host.chat.session import Session
    from tui_host.chat.turn_result import TurnResult
    from tui_host.errors import JSON
    from tui_host.host.host import Host

FIT_SECONDS = 5.0
"""How long the schemas of one run's calls may be looked at; a process has to start in it."""


class Measuring:
    """Measures one turn after the other.

    Args:
        host: Ready; its turns are run one at a time.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._seen = 0
        self._known: dict[str, list[str] | None] = {}  # by schema and arguments: the same calls come again and again

    async def run(self, session: Session, result: TurnResult) -> Run:
        """A session's one turn, which has just ended.

        Raises:
            StoreError: What was recorded cannot be read.
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
        """What was recorded since the last time."""
        recorder.flush()
        found: list[Record] = []
        while new := recorder.since(self._seen):
            found += new
            self._seen = new[-1].seq
        return found

    async def _misfits(self, outcomes: Sequence[Outcome]) -> dict[str, list[str]]:
        """By a call's id what of its arguments does not fit its tool's schema; no entry where that could not be found out."""
        asked = {
            outcome.call.id: json.dumps([outcome.request.tool.schema, outcome.asked])
            for outcome in outcomes
            if outcome.request is not None
        }
        new = list(dict.fromkeys(line for line in asked.values() if line not in self._known))
        if new:
            self._known.update(zip(new, await fitted(new, self._host.settings.environment), strict=True))
        return {call: misfits for call, line in asked.items() if (misfits := self._known[line]) is not None}


async def fitted(lines: Sequence[str], environment: Mapping[str, str]) -> list[list[str] | None]:
    """What `chat.fitting` answers to each line; None to all if it takes too long.

    Each schema is foreign: what reads it is a process of its own, which then is killed. Source: threats.md, PRO-05.
    """
    command = [sys.executable, "-P", "-m", "tui_host.chat.schema_check"]
    said = b""
    with anyio.move_on_after(FIT_SECONDS):
        done = await anyio.run_process(
            command,
            input="".join(f"{line}\n" for line in lines).encode(),
            stderr=subprocess.DEVNULL,
            check=False,
            start_new_session=True,
            env=listed_environment(environment),
        )
        said = done.stdout
    answers: list[JSON] = [json.loads(line) for line in said.splitlines()]
    found = [[str(words) for words in answer] if isinstance(answer, list) else None for answer in answers]
    return found if len(found) == len(lines) else [None] * len(lines)
