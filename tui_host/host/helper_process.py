"""Runs a module of ours in a process of its own: for work on foreign data that may take for ever, or all memory."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import anyio

from tui_host.capture.stdio.pipes import chunks
from tui_host.errors import JSON, ServerError
from tui_host.guard.child_process import ChildCommand, Process
from tui_host.settings.environment_references import listed_environment

if TYPE_CHECKING:
    from tui_host.guard.guard_client import Guard

START_SECONDS = 5.0
"""Time limit for the first check of a schema, in seconds: the process imports a library first."""
ANSWER_SECONDS = 1.0
_LONGEST = 8 << 20  # bytes of an answer


class HelperProcess:
    """Asks a module that answers each line of JSON with a line of JSON. The first question starts the process.

    The process gets only the listed variables of the environment. The guard ends it if this program is killed; None for
    one that limits its own time.
    """

    def __init__(self, module: str, environment: Mapping[str, str], guard: Guard | None = None) -> None:
        argv = (sys.executable, "-P", "-m", module)
        self._command = ChildCommand(argv=argv, environment=listed_environment(environment))
        self._guard = guard
        self._turn = anyio.Lock()
        self.process: Process | None = None  # starting it takes longer than an answer

    async def ask(self, question: JSON, seconds: float) -> JSON:
        """Return the answer; None if there is none in time, or the process ended. The next question starts another process."""
        answer = b""
        async with self._turn:
            try:
                with anyio.move_on_after(seconds):
                    answer = await self._answer(memoryview(json.dumps(question).encode() + b"\n"))
            except (OSError, ServerError):
                pass  # it ended, or did not start
            finally:
                if not answer.endswith(b"\n"):
                    await self.close()  # a late answer would be taken for that to the next question
        value: JSON = json.loads(answer) if answer.endswith(b"\n") else None
        return value

    async def close(self) -> None:
        """End the process."""
        process, self.process = self.process, None
        if process is not None:
            with anyio.CancelScope(shield=True):
                await process.end(patience=0)
            process.close()
            if self._guard is not None:
                self._guard.forget_ended()

    async def _answer(self, rest: memoryview) -> bytes:
        process = self.process
        if process is None:
            process = self.process = Process.start(self._command)
            process.stderr.close()  # nobody reads it
            os.set_blocking(process.stdin.fileno(), False)
            if self._guard is not None:
                self._guard.add(process.pid)
        while rest:
            await anyio.wait_writable(process.stdin.fileno())
            rest = rest[os.write(process.stdin.fileno(), rest) :]
        answer = b""
        async for chunk in chunks(process.stdout):
            answer += chunk
            if chunk.endswith(b"\n") or len(answer) > _LONGEST:
                break
        return answer


class SchemaChecker:
    """Checks values against servers' schemas with a `chat.schema_check` process, which is kept for the next check."""

    def __init__(self, environment: Mapping[str, str], guard: Guard) -> None:
        self._helper = HelperProcess("tui_host.chat.schema_check", environment, guard)
        self._results: dict[str, Sequence[str] | None] = {}  # by question, since models repeat calls
        self.close = self._helper.close

    async def misfits(self, schema: JSON, value: JSON) -> Sequence[str] | None:
        """Return the schema errors of a value; None if the schema is unusable or the check takes too long."""
        question: JSON = [schema, value]
        key = json.dumps(question)
        if key not in self._results:
            limit = ANSWER_SECONDS if self._helper.process is not None else START_SECONDS
            errors = await self._helper.ask(question, limit)
            self._results[key] = list(map(str, errors)) if isinstance(errors, list) else None
        return self._results[key]
