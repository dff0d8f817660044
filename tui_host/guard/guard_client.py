"""The guard: one small process that outlives a killed host just long enough to end its children and put back its terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tui_host.guard import watchdog


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A terminal, and how it was found.

    Attributes:
        descriptor: Of the terminal, open for writing as long as the program runs.
        attributes: Its line discipline, as `watchdog.put_back` takes it.
        reset: What undoes the modes that the program sets.
    """

    descriptor: int
    attributes: str
    reset: bytes


class Guard:
    """Knows which process groups are ours, and whether we draw. Started with the first of these, gone after `bye`.

    All methods return at once; a guard that somebody killed is started again.

    Args:
        terminal: What to put back if the program is killed while it draws; None for a program that does not.

    Attributes:
        terminal: The same.
    """

    def __init__(self, terminal: Terminal | None = None) -> None:
        self.terminal = terminal
        self._is_drawing = False
        self._turn = threading.RLock()
        self._groups: set[int] = set()
        self._leaving: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The guard's process id, None while it does not run."""
        return None if self._process is None else self._process.pid

    def add(self, pgid: int) -> None:
        """A child was started as the leader of this group. Call it right after the start."""
        self._leaving.discard(pgid)
        self._groups.add(pgid)
        self._tell(f"+{pgid}\n")

    def remove(self, pgid: int) -> None:
        """The group's leader has ended and was waited for. The group is forgotten as soon as nobody is left in it."""
        if pgid in self._groups:
            self._leaving.add(pgid)
        for group in tuple(self._leaving):
            if not _is_alive(group):  # until then its number belongs to nobody else
                self._leaving.discard(group)
                self._groups.discard(group)
                self._tell(f"-{group}\n")

    def draw(self) -> None:
        """The program has the terminal from now on."""
        with self._turn:
            self._is_drawing = self.terminal is not None
            self._tell("t+\n")

    def leave(self) -> None:
        """The terminal is somebody else's from now on: nothing is put back."""
        with self._turn:
            self._is_drawing = False
            if self._process is not None:
                self._tell("t-\n")

    def bye(self) -> None:
        """The program ends in order. Groups that are left are ended by the guard, which is then gone itself."""
        for group in tuple(self._leaving):
            self.remove(group)
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError):  # it was killed: nobody can be told
            _stdin(process).write(b"bye\n")
        with suppress(OSError):  # the same
            _stdin(process).close()
        try:
            process.wait(0.5 if not self._groups else watchdog.PATIENCE + 1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._groups.clear()
        self._leaving.clear()

    def _tell(self, line: str) -> None:
        with self._turn:
            if self._process is not None and self._process.poll() is None:
                with suppress(OSError):  # it was killed: begun anew, below
                    _stdin(self._process).write(line.encode())
                    return
            self._start()

    def _start(self) -> None:
        if self._process is not None:
            with suppress(OSError):  # as good as closed: its reader has gone
                _stdin(self._process).close()
            self._process.poll()
        terminal = self.terminal
        words = () if terminal is None else (str(terminal.descriptor), terminal.attributes, terminal.reset.hex())
        self._process = subprocess.Popen(  # noqa: S603 - our own file
            [sys.executable, "-I", "-S", str(Path(watchdog.__file__)), *words],
            pass_fds=() if terminal is None else (terminal.descriptor,),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
            cwd="/",
            env={},
        )
        known = [f"+{group}" for group in sorted(self._groups)] + ["t+"] * self._is_drawing
        with suppress(OSError):  # killed at once: begun anew with the next word
            _stdin(self._process).write("".join(f"{line}\n" for line in known).encode())


def _stdin(process: subprocess.Popen[bytes]) -> IO[bytes]:
    if process.stdin is None:
        raise RuntimeError("the guard was started without a pipe")
    return process.stdin


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True
