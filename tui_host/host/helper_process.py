"""Runs a module of ours in a process of its own: for work on foreign data that may take for ever, or all memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from tui_host.errors import JSON
from tui_host.settings.environment_references import listed_environment

if TYPE_CHECKING:
    from tui_host.guard.guard_client import Guard

_LONGEST = 8 << 20  # bytes of an answer
_FAILURES = (
    TimeoutError,
    OSError,
    anyio.EndOfStream,
    anyio.IncompleteRead,
    anyio.DelimiterNotFound,
    anyio.BrokenResourceError,
)


class HelperProcess:
    """Asks a module that answers each line of JSON with a line of JSON. The first question starts the process.

    The process gets only the listed variables of the environment. The guard ends it if this program is killed; None for
    one that limits its own time.
    """

    def __init__(self, module: str, environment: Mapping[str, str], guard: Guard | None = None) -> None:
        self._command = [sys.executable, "-P", "-m", module]
        self._environment = listed_environment(environment)
        self._guard = guard
        self._turn = anyio.Lock()
        self._process: Process | None = None
        self._answers: BufferedByteReceiveStream | None = None

    @property
    def is_running(self) -> bool:
        """Whether the process has been started, which takes it longer than an answer."""
        return self._process is not None

    async def ask(self, question: JSON, seconds: float) -> JSON:
        """Return the answer; None if there is none in time, or the process ended. The next question starts another process."""
        answer = b"null"
        async with self._turn:
            try:
                with anyio.fail_after(seconds):
                    answer = await self._answer(json.dumps(question).encode() + b"\n")
            except _FAILURES:
                await self.close()
            except anyio.get_cancelled_exc_class():
                await self.close()  # a late answer would be taken for that to the next question
                raise
        value: JSON = json.loads(answer)
        return value

    async def close(self) -> None:
        """End the process."""
        process, self._process, self._answers = self._process, None, None
        if process is not None:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    process.kill()
                await process.aclose()
            if self._guard is not None:
                self._guard.forget_ended()

    async def _answer(self, line: bytes) -> bytes:
        if self._process is None:
            self._process = await anyio.open_process(
                self._command, stderr=subprocess.DEVNULL, start_new_session=True, env=self._environment
            )
            if self._guard is not None:
                self._guard.add(self._process.pid)
        process = self._process
        assert process.stdin is not None  # noqa: S101 - both are pipes, as asked for
        assert process.stdout is not None  # noqa: S101
        self._answers = self._answers or BufferedByteReceiveStream(process.stdout)
        await process.stdin.send(line)
        return await self._answers.receive_until(b"\n", _LONGEST)
