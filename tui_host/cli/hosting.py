"""Runs a host for a command: a signal ends the host in order, and errors are raised without exception groups."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tui_host.cli import diagnostics, output
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.host.host import Host

if TYPE_CHECKING:
    from anyio.abc import TaskStatus

    from tui_host.servers.catalog import ServerStatus
    from tui_host.servers.pool import Pool
    from tui_host.settings.schema import ServerSpec, Settings

LIST_SECONDS = 30.0
"""Seconds allowed for listing a server's offers, in addition to the time limit for connecting."""
_REPORT_SECONDS = 2.0
"""Seconds that a command waits before it names the servers still connecting."""


class Interruption:
    """The first signal that asks the program to exit. `code` is its exit code, None before a signal arrives."""

    def __init__(self) -> None:
        self.code: int | None = None
        self._act: Callable[[], object] | None = None

    def then(self, act: Callable[[], object]) -> None:
        """Set what a signal does; calls `act` at once if a signal has already arrived."""
        self._act = act
        if self.code is not None:
            act()

    def came(self, number: signal.Signals) -> None:
        """Record a signal; only the first one counts."""
        if self.code is None:
            self.code = diagnostics.ENDED_BY[number]
            if self._act is not None:
                self._act()


def run_async(function: Callable[..., Awaitable[int]], *args: object) -> int:
    """Run a coroutine function. anyio is imported only here, so that no help waits for it."""
    import anyio

    return anyio.run(function, *args)


def host_of(settings: Settings, servers: Mapping[str, ServerSpec] | None = None, *, record: bool = False) -> Host:
    """Return a host for a command, with these servers only."""
    from dataclasses import replace

    return Host(settings if servers is None else replace(settings, servers=servers), source="ask", record=record)


@asynccontextmanager
async def running(host: Host) -> AsyncGenerator[Interruption]:
    """Run the host while the block runs. When the block is left, the host and all its child processes have ended."""
    import anyio

    from tui_host.host.defects import catch_defects

    interruption = Interruption()
    fault: TuiHostError | OSError | None = None
    # A bug is told in one line, without a traceback.
    with catch_defects(lambda error, _: diagnostics.tell(str(host.mistake(error)))):
        async with anyio.create_task_group() as group:
            await group.start(_watch, interruption)
            try:
                async with anyio.create_task_group() as served:
                    served.start_soon(host.serve)
                    try:
                        await host.ready()
                        told = len(host.notices)  # more may come until the end, such as a locked keyring
                        diagnostics.tell_all(host.notices)
                        yield interruption
                        diagnostics.tell_all(host.notices[told:])
                    except (TuiHostError, OSError) as error:
                        fault = error  # raised again after the host's end: an error raised here would cancel the host
                    finally:
                        host.stop()
            finally:
                group.cancel_scope.cancel()
    fault = fault or host.fault  # what the command met first explains more than what followed at the end
    if fault is not None:
        raise fault


async def _watch(interruption: Interruption, *, task_status: TaskStatus[None]) -> None:
    import anyio

    # If the parent process has switched a signal off (nohup, a background job), the signal stays switched off.
    heeded = [number for number in diagnostics.ENDED_BY if signal.getsignal(number) is not signal.SIG_IGN]
    if not heeded:
        task_status.started()
        return
    with anyio.open_signal_receiver(*heeded) as signals:
        task_status.started()
        async for number in signals:
            interruption.came(signal.Signals(number))


async def report_connecting(host: Host, is_waiting: Callable[[], bool]) -> None:
    """Name the servers still connecting on standard error, once, if the wait takes longer than a moment."""
    import anyio

    await anyio.sleep(_REPORT_SECONDS)
    if host.pool is not None and is_waiting():
        waited = [status.name for status in host.pool.statuses() if status.state == "connecting"]
        if waited:
            diagnostics.tell(f"waiting for {', '.join(waited)} to connect")


def pool_of(host: Host) -> Pool:
    """Return the servers of a host that is ready."""
    assert host.pool is not None  # noqa: S101 - there once the host is ready
    return host.pool


def chosen_servers(specs: Mapping[str, ServerSpec], names: Sequence[str]) -> tuple[str, ...]:
    """Return the named servers, or all enabled servers; raises SettingsError for a name that is not configured."""
    unknown = [name for name in names if name not in specs]
    if unknown:
        configured = ", ".join(specs) or "none"
        raise SettingsError(f"no server {', '.join(unknown)}", where="servers", remedy=f"choose from {configured}")
    return tuple(names) or tuple(name for name, spec in specs.items() if spec.enabled)


async def settled(host: Host, interruption: Interruption) -> Sequence[ServerStatus]:
    """Wait until every server is connected or has failed."""
    import anyio

    patience = max(map(_patience, host.settings.servers.values()), default=0.0)
    async with anyio.create_task_group() as group:
        # A signal ends the wait, not the host: the caller ends it in order.
        interruption.then(group.cancel_scope.cancel)
        group.start_soon(report_connecting, host, lambda: True)
        await pool_of(host).settled(patience)
        group.cancel_scope.cancel()
    return pool_of(host).statuses()


def _patience(spec: ServerSpec) -> float:
    """Return the seconds within which a connection succeeds or fails; infinite if it has no time limit."""
    return 2 * (spec.timeout + max(LIST_SECONDS, spec.timeout)) if spec.timeout else math.inf


def say(host: Host, words: str) -> None:
    """Write a line to standard error, with secrets removed."""
    diagnostics.tell(host.redacted(words))


def print_value(host: Host, value: JSON) -> None:
    """Write a JSON object to standard output, with secrets removed."""
    text = json.dumps(value)
    redacted = host.redacted_json(text)
    output.value(value if redacted == text else json.loads(redacted))


def unconnected(host: Host) -> Iterator[str]:
    """Describe the servers that failed, one sentence each."""
    for status in host.pool.statuses() if host.pool is not None else ():
        if status.state in {"failed", "lost"}:
            yield f"{status.name} is not connected: {status.detail}"


def say_unkept(host: Host) -> None:
    """Say how many records could not be stored, if any."""
    recorder = host.recorder
    if recorder is not None and recorder.unkept:
        say(host, f"{recorder.unkept:,} records were not stored: {recorder.fault or 'the database was too slow'}")
