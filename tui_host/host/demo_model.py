"""Runs the demo model's process: starts it on first use, reads its address from its first line, ends it with the host."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.reading import read_object
from tui_host.capture.record import Record
from tui_host.capture.stdio.pipes import chunks
from tui_host.errors import ModelError, ServerError
from tui_host.guard.child_process import ChildCommand, Process
from tui_host.settings.environment_references import listed_environment

if TYPE_CHECKING:
    from anyio.abc import TaskGroup, TaskStatus

    from tui_host.capture.recorder import Recorder

START_SECONDS = 20
STOP_SECONDS = 1
LINE_LIMIT = 1 << 16
NOT_STARTED, SEE_WHY = "the demo model did not start", "run `tui-host demo-model` to see why"


@dataclass(slots=True, eq=False)
class DemoModelProcess:
    """Starts the demo model once, and provides its base URL."""

    _recorder: Recorder
    _environment: Mapping[str, str]
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    urls: Mapping[str, str] = field(default_factory=dict[str, str])  # of the dialects; none unless the process runs

    async def url(self, group: TaskGroup, dialect: str) -> str:
        """Return the base URL for a dialect; starts the process in `group` if necessary. Raises ModelError if either cannot be had."""
        async with self._lock:
            urls = self.urls or await group.start(self._live)
        if dialect not in urls:
            raise ModelError(f"the demo model does not speak {dialect}", remedy=f"choose {' or '.join(urls)}")
        return urls[dialect]

    async def _live(self, *, task_status: TaskStatus[Mapping[str, str]]) -> None:
        """Start the process and wait for its end. The process exits when its standard input is closed."""
        # -P: Python must not run a file named tui_host in the working directory in place of our module.
        argv = (sys.executable, "-P", "-m", "tui_host", "demo-model", "--lifeline")
        try:
            process = Process.start(ChildCommand(argv=argv, environment=listed_environment(self._environment)))
        except ServerError as error:
            raise ModelError(f"{NOT_STARTED}: {error.what}", "demo", SEE_WHY) from error
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._record_stderr, process)
                self.urls = await _addresses(process)
                if self.urls:
                    task_status.started(self.urls)
                    while not await process.wait(60, step=0.1):
                        pass
                group.cancel_scope.cancel()
            if not self.urls:
                raise ModelError(NOT_STARTED, "demo", SEE_WHY)
        finally:
            self.urls = {}
            with anyio.CancelScope(shield=True):
                process.stdin.close()
                await process.end(patience=STOP_SECONDS)
            process.close()

    async def _record_stderr(self, process: Process) -> None:
        async for data in chunks(process.stderr):
            self._recorder.append(Record(wire="stderr", kind="line", peer="demo", direction="in", data=data))


async def _addresses(process: Process) -> Mapping[str, str]:
    """Return the base URL of each dialect, from the first line of output; empty if there is no valid line."""
    line = b""
    with anyio.move_on_after(START_SECONDS):
        async for chunk in chunks(process.stdout):
            line += chunk
            if b"\n" in line or len(line) > LINE_LIMIT:
                break
    dialects = mapping(read_object(line.partition(b"\n")[0]).get("dialects"))
    return {name: url for name, url in dialects.items() if isinstance(url, str)}
