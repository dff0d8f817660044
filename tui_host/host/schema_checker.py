"""Checks arguments against servers' schemas in a reused child process, which is killed if a check takes too long."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from tui_host.errors import JSON
from tui_host.settings.environment_references import listed_environment

if TYPE_CHECKING:
    from tui_host.guard.guard_client import Guard

START_SECONDS = 5.0
"""Time limit for the first check, in seconds: the child process imports a library first."""
ANSWER_SECONDS = 1.0
_LONGEST = 1 << 20


class SchemaChecker:
    """Sends checks to a `chat.schema_check` process, one check at a time. The first check starts the process.

    Args:
        environment: This program's environment; the process gets only the listed variables.
        guard: Ends the process if this program is killed.
    """

    def __init__(self, environment: Mapping[str, str], guard: Guard) -> None:
        self._environment = listed_environment(environment)
        self._guard = guard
        self._turn = anyio.Lock()
        self._process: Process | None = None
        self._answers: BufferedByteReceiveStream | None = None
        self._known: dict[str, Sequence[str] | None] = {}  # results by request, since models repeat calls

    async def misfits(self, schema: JSON, value: JSON) -> Sequence[str] | None:
        """Return the schema errors of a value; None if the schema is unusable or the check takes too long."""
        line = json.dumps([schema, value])
        async with self._turn:
            if line not in self._known:
                self._known[line] = await self._answer(line)
            return self._known[line]

    async def close(self) -> None:
        """End the child process."""
        process, self._process, self._answers = self._process, None, None
        if process is not None:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    process.kill()
                await process.aclose()
            self._guard.remove(process.pid)

    async def _answer(self, line: str) -> Sequence[str] | None:
        limit = ANSWER_SECONDS if self._process is not None else START_SECONDS
        answer = b"null"
        try:
            with anyio.fail_after(limit):
                answers = self._answers or await self._start()
                if self._process is not None and self._process.stdin is not None:
                    await self._process.stdin.send(f"{line}\n".encode())
                answer = await answers.receive_until(b"\n", _LONGEST)
        except (TimeoutError, anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound, OSError):
            await self.close()  # the next check starts a new process
        except anyio.get_cancelled_exc_class():
            await self.close()  # a late answer would be taken for the next check's answer
            raise
        value: JSON = json.loads(answer)
        return [str(words) for words in value] if isinstance(value, list) else None

    async def _start(self) -> BufferedByteReceiveStream:
        self._process = await anyio.open_process(
            [sys.executable, "-P", "-m", "tui_host.chat.schema_check"],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=self._environment,
        )
        self._guard.add(self._process.pid)
        assert self._process.stdout is not None  # noqa: S101 - a pipe, as asked for
        self._answers = BufferedByteReceiveStream(self._process.stdout)
        return self._answers
