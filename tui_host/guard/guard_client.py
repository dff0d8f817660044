"""Starts and informs the guard, a small process that ends our children and restores the terminal after a crash."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from tui_host.guard import watchdog


class Terminal(NamedTuple):
    """A terminal, with its original state."""

    descriptor: int  # open for writing as long as the program runs
    attributes: str  # the line discipline, as JSON for `watchdog.put_back`
    reset: bytes  # escape sequences that undo the program's modes


@dataclass(slots=True, eq=False)
class Guard:
    """Tells the guard process which groups to end and whether we draw; starts the guard when needed.

    No method blocks; if the guard process was killed, the next call starts it again. `terminal` is restored if the program is
    killed while drawing; None for a program that does not draw.
    """

    terminal: Terminal | None = None
    _is_drawing: bool = False
    _turn: AbstractContextManager[object] = field(default_factory=threading.RLock)
    _groups: set[int] = field(default_factory=set[int])
    _process: subprocess.Popen[bytes] | None = None
    _messages: IO[bytes] | None = None

    def add(self, pgid: int) -> None:
        """Track a child's process group. Call right after the start."""
        self._groups.add(pgid)
        self._tell(f"+{pgid}\n")

    def forget_ended(self) -> None:
        """Forget the groups that are empty. Call after the leader of one was waited for."""
        groups = set(self._groups)
        for group in groups - watchdog.signal_groups(groups, 0):  # while it exists, the number cannot be reused
            self._groups.discard(group)
            self._tell(f"-{group}\n")

    def draw(self) -> None:
        """Note that the program draws on the terminal from now on."""
        with self._turn:
            self._is_drawing = self.terminal is not None
            self._tell("t+\n")

    def leave(self) -> None:
        """Note that another program has the terminal from now on, so the guard must not restore it."""
        with self._turn:
            self._is_drawing = False
            if self._process is not None:
                self._tell("t-\n")

    def bye(self) -> None:
        """End in order. The guard ends remaining groups and exits."""
        self.forget_ended()
        process, self._process = self._process, None
        messages, self._messages = self._messages, None
        if process is None or messages is None:
            return
        with suppress(OSError):  # the guard was killed
            messages.write(b"bye\n")
        messages.close()
        try:
            process.wait(0.5 if not self._groups else watchdog.PATIENCE + 1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._groups.clear()

    def _tell(self, line: str) -> None:
        """Tell the guard a line; one that is not there, or was killed, is started, and told all that counts now."""
        with self._turn:
            if self._messages is not None and self._process is not None and self._process.poll() is None:
                with suppress(OSError):  # the guard was killed
                    self._messages.write(line.encode())
                    return
            if self._messages is not None:
                self._messages.close()
            lines = [f"+{group}" for group in sorted(self._groups)] + ["t+"] * self._is_drawing
            terminal = self.terminal
            words = () if terminal is None else (str(terminal.descriptor), terminal.attributes, terminal.reset.hex())
            reading, writing = os.pipe()
            self._messages = os.fdopen(writing, "wb", buffering=0)
            with os.fdopen(reading, "rb") as messages:
                # Before the guard runs: the host may be killed right after.
                self._messages.write("".join(f"{line}\n" for line in lines).encode())
                self._process = subprocess.Popen(  # noqa: S603 - our own file
                    [sys.executable, "-I", "-S", str(Path(watchdog.__file__)), *words],
                    pass_fds=() if terminal is None else (terminal.descriptor,),
                    stdin=messages,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    cwd="/",
                    env={},
                )
