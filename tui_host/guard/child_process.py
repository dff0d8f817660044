"""Child processes in groups of their own: start, watch, end. All platform differences about processes belong here.

Groups and signals are those of Linux and macOS; a native Windows port would put job objects here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from tui_host.errors import ServerError

_STEP = 0.02
"""Seconds between two polls of an ending process, where the system cannot notify us; waiting would also wait for its pipes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildCommand:
    """A program to start, without a shell."""

    argv: tuple[str, ...] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)  # all of it
    cwd: Path | None = None  # None for ours


class Process:
    """A running child with three pipes, leader of its own process group and session: its pid is the group's id."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        assert popen.stdin is not None  # noqa: S101 - all three are pipes, as asked for in `start`
        assert popen.stdout is not None  # noqa: S101
        assert popen.stderr is not None  # noqa: S101
        self.stdin, self.stdout, self.stderr = popen.stdin, popen.stdout, popen.stderr
        self._popen = popen
        self._over = False
        self.pid = popen.pid
        self.started_ns = time.monotonic_ns()

    @classmethod
    def start(cls, command: ChildCommand) -> Process:
        """Start a program; raises `ServerError`, which says what is wrong with it. Blocks for a few milliseconds."""
        program = command.argv[0]
        try:
            popen = subprocess.Popen(  # noqa: S603 - what to start is the person's own configuration
                command.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=dict(command.environment),
                cwd=command.cwd,
                start_new_session=True,  # no controlling terminal, and one group to end
            )
        except (OSError, ValueError) as error:
            what, remedy = (
                f"{program} cannot be started: {getattr(error, 'strerror', None) or error}",
                "correct the command",
            )
            if isinstance(error, ValueError):
                what, remedy = f"{program!r} cannot be started: {error}", "remove the NUL character"
            elif command.cwd is not None and not command.cwd.is_dir():
                what, remedy = f"the working directory {command.cwd} does not exist", "correct cwd"
            elif isinstance(error, FileNotFoundError) and "/" in program:
                what = f"{program} does not exist"
            elif isinstance(error, FileNotFoundError):
                what, remedy = f"{program} was not found on PATH", "install it, or write its full path"
            elif isinstance(error, PermissionError):
                what, remedy = f"{program} may not be executed", "check its permissions"
            raise ServerError(what, remedy=remedy) from error
        return cls(popen)

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal's number; None while running. Does not block."""
        return self._popen.poll()

    async def wait(self, seconds: float, *, step: float = _STEP) -> bool:
        """Wait at most `seconds` for the process's end, even if a descendant holds its pipes; return whether it has ended."""
        with anyio.move_on_after(seconds):
            if self.exit_code is None:  # else the pid may have been reused
                await _readable_at_its_end(self.pid)
            while self.exit_code is None:
                await anyio.sleep(step)
        return self.exit_code is not None

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the process group; does nothing after `kill`."""
        if self._over:
            return  # the pid may belong to another process by now
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return  # nobody is left (macOS answers EPERM for a group of zombies)

    async def end(self, *, patience: float) -> None:
        """Wait `patience` seconds, send SIGTERM, wait as long again, send SIGKILL; at last kill the whole group."""
        if not await self.wait(patience):
            self.signal_group(signal.SIGTERM)
            if not await self.wait(patience):
                self.signal_group(signal.SIGKILL)
                await self.wait(0.5)
        self.kill()  # descendants that live on after an orderly end

    def kill(self) -> None:
        """Kill the process and its group at once."""
        self.signal_group(signal.SIGKILL)
        self._over = True
        self._popen.poll()

    def close(self) -> None:
        """Close our ends of the pipes."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            with suppress(OSError):  # closed with what it could not flush: nobody reads it
                pipe.close()


async def _readable_at_its_end(pid: int) -> None:
    """Wait for a child to end, if the system can notify us; else return at once."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):  # macOS and old Linux have no such call; or the child was waited for already
        return
    try:
        await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)


def ending(exit_code: int) -> str:
    """Describe how a process ended: `exited 3`, `ended by SIGKILL`."""
    if exit_code >= 0:
        return f"exited {exit_code}"
    try:
        return f"ended by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"ended by signal {-exit_code}"
