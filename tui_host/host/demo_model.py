"""Runs the demo model's process: starts it on first use, reads its address from its first line, ends it with the host."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from tui_host.capture.record import Record
from tui_host.errors import JSON, ModelError
from tui_host.settings.environment_references import listed_environment

if TYPE_CHECKING:
    from anyio.abc import Process, TaskGroup, TaskStatus

    from tui_host.capture.recorder import Recorder

START_SECONDS = 20
STOP_SECONDS = 1
LINE_LIMIT = 1 << 16


class DemoModelProcess:
    """Starts the demo model once, and provides its base URL."""

    def __init__(self, recorder: Recorder, environment: Mapping[str, str]) -> None:
        self._recorder = recorder
        self._environment = environment
        self._lock = anyio.Lock()
        self._urls: Mapping[str, str] = {}
        self._alive = False

    @property
    def is_alive(self) -> bool:
        """Whether the process runs and accepts requests."""
        return self._alive

    async def url(self, group: TaskGroup, dialect: str) -> str:
        """Return the base URL for a dialect; starts the process in `group` if necessary.

        Raises:
            ModelError: The process did not start, or does not speak the dialect.
        """
        async with self._lock:
            if not self._alive:
                self._urls = await group.start(self._live)
        if dialect not in self._urls:
            raise ModelError(f"the demo model does not speak {dialect}", remedy=f"choose {' or '.join(self._urls)}")
        return self._urls[dialect]

    async def _live(self, *, task_status: TaskStatus[Mapping[str, str]]) -> None:
        """Start the process and wait for its end. The process exits when its standard input is closed."""
        # -P: Python must not run a file named tui_host in the working directory in place of our module.
        command = [sys.executable, "-P", "-m", "tui_host", "demo-model", "--lifeline"]
        try:
            process = await anyio.open_process(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=listed_environment(self._environment),
            )
        except OSError as error:
            raise _not_started(f": {error.strerror}") from error
        urls: Mapping[str, str] = {}
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._record_stderr, process)
                urls = await self._addresses(process)
                if urls:
                    self._alive = True
                    task_status.started(urls)
                    await process.wait()
                group.cancel_scope.cancel()
            if not urls:
                raise _not_started()
        finally:
            self._alive = False
            with anyio.CancelScope(shield=True):
                await _end(process)

    async def _addresses(self, process: Process) -> Mapping[str, str]:
        """Return the base URL of each dialect, from the first line of output; empty if there is no valid line."""
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        line = b""
        with anyio.move_on_after(START_SECONDS), suppress(anyio.EndOfStream):
            while b"\n" not in line and len(line) < LINE_LIMIT:
                line += await process.stdout.receive(LINE_LIMIT)
        try:
            value: JSON = json.loads(line.partition(b"\n")[0])
        except ValueError:
            value = None
        dialects = value.get("dialects") if isinstance(value, Mapping) else None
        if not isinstance(dialects, Mapping):
            return {}
        return {name: url for name, url in dialects.items() if isinstance(url, str)}

    async def _record_stderr(self, process: Process) -> None:
        assert process.stderr is not None  # noqa: S101 - a pipe was asked for
        # read until the process has ended or is being ended
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            while True:
                data = await process.stderr.receive(LINE_LIMIT)
                self._recorder.append(Record(wire="stderr", kind="line", peer="demo", direction="in", data=data))


def _not_started(reason: str = "") -> ModelError:
    what = f"the demo model did not start{reason}"
    return ModelError(what, where="demo", remedy="run `tui-host demo-model` to see why")


async def _end(process: Process) -> None:
    """Close the process's standard input; terminate and then kill the process if it does not exit."""
    if process.stdin is not None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):  # the process has already exited
            await process.stdin.aclose()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):  # the process has already exited
            if number is not None:
                process.send_signal(number)
        with anyio.move_on_after(STOP_SECONDS):
            await process.wait()
            break
    with suppress(OSError):  # the process has already exited
        await process.aclose()
