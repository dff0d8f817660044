"""Runs a module of ours in a process of its own: for work on foreign data that may take for ever, or all memory."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(slots=True, eq=False)
class HelperProcess:
    """Asks a module that answers each line of JSON with a line of JSON. The first question starts the process.

    The process gets only the listed variables of the environment. The guard ends it if this program is killed; None for
    one that limits its own time.
    """

    _module: str
    _environment: Mapping[str, str]
    _guard: Guard | None = None
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _process: Process | None = None  # starting it takes longer than an answer

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
        process, self._process = self._process, None
        if process is not None:
            with anyio.CancelScope(shield=True):
                await process.end(patience=0)
            process.close()
            if self._guard is not None:
                self._guard.forget_ended()

    async def _answer(self, rest: memoryview) -> bytes:
        process = self._process
        if process is None:
            argv = (sys.executable, "-P", "-m", self._module)
            command = ChildCommand(argv=argv, environment=listed_environment(self._environment))
            process = self._process = Process.start(command)
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


@dataclass(slots=True, eq=False)
class SchemaChecker(HelperProcess):
    """Checks values against servers' schemas with a `chat.schema_check` process, which is kept for the next check."""

    # By question, since models repeat calls.
    _results: dict[str, Sequence[str] | None] = field(default_factory=dict[str, "Sequence[str] | None"])

    async def misfits(self, schema: JSON, value: JSON) -> Sequence[str] | None:
        """Return the schema errors of a value; None if the schema is unusable or the check takes too long."""
        question: JSON = [schema, value]
        key = json.dumps(question)
        if key not in self._results:
            limit = ANSWER_SECONDS if self._process is not None else START_SECONDS
            errors = await self.ask(question, limit)
            self._results[key] = list(map(str, errors)) if isinstance(errors, list) else None
        return self._results[key]
