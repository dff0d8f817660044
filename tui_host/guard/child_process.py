"""A child process in a group of its own: started, watched, ended. What differs by platform about processes stands here.

Groups and signals are those of Linux and macOS; a native Windows port would put its job objects here.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import anyio

from tui_host.errors import ServerError

_STEP = 0.02
"""Seconds between two looks at a process that is about to end, where the system does not tell: a wait for it would also wait for its pipes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to start.

    Attributes:
        argv: The program and its arguments; never through a shell.
        environment: The whole environment that it gets.
        cwd: Its working directory, None for ours.
    """

    argv: tuple[str, ...] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    cwd: Path | None = None


class Process:
    """A running child, leader of its own process group and session, with three pipes.

    Attributes:
        pid: Its process id, which is also its group's.
    """

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen
        self._over = False
        self.pid = popen.pid

    @classmethod
    def start(cls, command: Command) -> Process:
        """Start a program; blocks for the few milliseconds that this takes.

        Raises:
            ServerError: It cannot be started; says what was sought, and where.
        """
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
                start_new_session=True,  # no terminal to write to, and one group to end
            )
        except (OSError, ValueError) as error:
            raise _not_started(error, program, command) from error
        return cls(popen)

    @property
    def stdin(self) -> IO[bytes]:
        """Our end of its standard input."""
        return _pipe(self._popen.stdin)

    @property
    def stdout(self) -> IO[bytes]:
        """Our end of its standard output."""
        return _pipe(self._popen.stdout)

    @property
    def stderr(self) -> IO[bytes]:
        """Our end of its standard error."""
        return _pipe(self._popen.stderr)

    @property
    def exit_code(self) -> int | None:
        """How it ended, negative for a signal's number; None while it runs. Asks the system, does not block."""
        return self._popen.poll()

    async def wait(self, seconds: float, *, step: float = _STEP) -> bool:
        """Wait until it has ended, whoever still holds its pipes; whether it has within this time."""
        with anyio.move_on_after(seconds):
            if self.exit_code is None:  # else the number may be another's by now
                await _readable_at_its_end(self.pid)
            while self.exit_code is None:
                await anyio.sleep(step)
        return self.exit_code is not None

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to it and to all that it started and left in its group; nothing once it was ended."""
        if self._over:
            return  # the number may be another's by now
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return  # nobody is left (macOS says EPERM for a group of zombies)

    async def end(self, *, patience: float) -> None:
        """Let it end by itself for so many seconds, then SIGTERM and as long again, then SIGKILL; the whole group at last.

        Takes at most twice the patience and half a second.
        """
        if not await self.wait(patience):
            self.signal_group(signal.SIGTERM)
            if not await self.wait(patience):
                self.signal_group(signal.SIGKILL)
                await self.wait(0.5)
        self.kill()  # descendants that outlived an orderly end

    def kill(self) -> None:
        """End it and its group at once, without waiting for anything."""
        self.signal_group(signal.SIGKILL)
        self._over = True
        self._popen.poll()


async def _readable_at_its_end(pid: int) -> None:
    """Wait for the end of a child without looking again and again, where the system can tell of it; else return at once."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):  # macOS has none, nor an old Linux; or it was waited for already
        return
    try:
        await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)


def ending(exit_code: int) -> str:
    """In words how a process ended: `exited (3)`, `ended by SIGKILL`."""
    if exit_code >= 0:
        return f"exited ({exit_code})"
    try:
        return f"ended by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"ended by signal {-exit_code}"


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("the process was started without this pipe")
    return pipe


def _not_started(error: OSError | ValueError, program: str, command: Command) -> ServerError:
    if isinstance(error, ValueError):
        return ServerError(f"{program!r} cannot be started: {error}", remedy="look for a NUL character in it")
    if command.cwd is not None and not command.cwd.is_dir():
        return ServerError(f"the working directory {command.cwd} does not exist", remedy="correct cwd")
    if isinstance(error, FileNotFoundError):
        if "/" in program:
            return ServerError(f"{program} does not exist", remedy="correct the command")
        path = command.environment.get("PATH", "")
        return ServerError(f"{program} was not found on PATH ({path})", remedy="install it, or write its whole path")
    if isinstance(error, PermissionError):
        return ServerError(f"{program} may not be executed", remedy="check its permissions")
    return ServerError(f"{program} cannot be started: {error.strerror or error}", remedy="correct the command")
