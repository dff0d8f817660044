"""The guard: one small process that outlives a killed host just long enough to end the host's children."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from tui_host.servers import guard_process


class Guard:
    """Knows which process groups are ours. Started with the first of them, gone after `bye`.

    All methods return at once; a guard that somebody killed is started again.
    """

    def __init__(self) -> None:
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

    def bye(self) -> None:
        """The program ends in order. Groups that are left are ended by the guard, which is then gone itself."""
        for group in tuple(self._leaving):
            self.remove(group)
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError):
            _stdin(process).close()
        try:
            process.wait(0.5 if not self._groups else guard_process.PATIENCE + 1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._groups.clear()
        self._leaving.clear()

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.poll() is None:
            with suppress(OSError):
                _stdin(self._process).write(line.encode())
                return
        self._start()

    def _start(self) -> None:
        if self._process is not None:
            with suppress(OSError):
                _stdin(self._process).close()
            self._process.poll()
        self._process = subprocess.Popen(  # noqa: S603 - our own file
            [sys.executable, "-I", "-S", str(Path(guard_process.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
            cwd="/",
            env={},
        )
        with suppress(OSError):
            _stdin(self._process).write("".join(f"+{group}\n" for group in sorted(self._groups)).encode())


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
