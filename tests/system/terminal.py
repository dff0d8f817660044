"""The program on a pseudo-terminal of its own, as a person's shell would start it."""

import errno
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.system.screen import Screen

ROOT = Path(__file__).parents[2]
NO_SERVERS = '[servers.off]\ncommand = "true"\nenabled = false\n'
"""Without it the bundled servers are there, each of which costs a second of a core."""
BOUND_SECONDS = 90.0
"""How long a condition may take on a machine that does much else."""
# The terminal becomes the controlling one, as in a shell: only then is its end a SIGHUP. The process id stays.
_CLAIM = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


class Terminal:
    """A pseudo-terminal with the program on it: what it drew, every byte that it wrote, its descendants, and when it was started."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], size: tuple[int, int], *, is_controlling: bool
    ) -> None:
        self.screen = Screen(*size)
        self.written = bytearray()
        self._master, self._slave = pty.openpty()
        self._set_size(*size)
        self.attributes = termios.tcgetattr(self._slave)
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _CLAIM, *command] if is_controlling else command,
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            start_new_session=True,
            env=dict(environment),
            cwd=ROOT,
        )
        self.family = Family(self.process.pid)
        self._is_open = True

    # Doing.

    def type(self, keys: str, *shown: str) -> None:
        os.write(self._master, keys.encode())
        if shown:
            self.until_shown(*shown)

    def resize(self, columns: int, lines: int) -> None:
        self.screen.resize(columns, lines)
        self._set_size(columns, lines)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def hang_up(self) -> None:
        """Close the window: both ends of ours; the kernel sends SIGHUP."""
        if self._is_open:
            self._is_open = False
            os.close(self._slave)
            os.close(self._master)

    # Knowing.

    def read(self, seconds: float = 0.0) -> bool:
        """Take in what is there, waiting so long for the first byte of it; whether there was any."""
        if not self._is_open or not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:  # Linux's word for the end of the other side
                raise
            return False
        self.take(data)
        return bool(data)

    def take(self, data: bytes) -> None:
        self.written += data
        self.screen.feed(data)

    def until(self, is_so: Callable[[], object], seconds: float = BOUND_SECONDS) -> None:
        """Read on until it is so; the screen stands in the complaint if it does not come."""
        end = time.monotonic() + seconds
        while True:
            while self.read():
                pass
            if is_so():
                return
            if time.monotonic() > end:
                raise AssertionError(f"it did not come to this; on the screen:\n{self.screen.text}")
            if not self.read(0.05) and not self._is_open:
                time.sleep(0.05)

    def until_shown(self, *words: str) -> None:
        self.until(lambda: all(word in self.screen.text for word in words))

    def settle(self, seconds: float = 0.15) -> None:
        """Read on until nothing comes for so long. For what is looked at afterwards, not for conditions."""
        while self.read(seconds):
            pass

    def ended(self, seconds: float = BOUND_SECONDS) -> int:
        """Read to the program's end; its exit code, negative for a signal."""
        self.until(lambda: self.process.poll() is not None, seconds)
        while self.read():  # what it wrote last, after the last look and before its end
            pass
        return self.process.returncode

    def end(self, keys: str = "") -> tuple[int, bool]:
        """Type these, and read to the program's end; its exit code, and whether the terminal is restored."""
        self.type(keys)
        return self.ended(), self.is_restored()

    def is_restored(self) -> bool:
        """Whether the next program finds the terminal as ours found it: modes, keyboard, line discipline."""
        modes = self.screen.modes == {7, 25} and self.screen.keyboard == 0 and not self.screen.unfinished
        return modes and termios.tcgetattr(self._slave) == self.attributes

    def is_stopped(self, pid: int | None = None) -> bool:
        """Whether the program, or another process, is paused, as by job control."""
        found = processes().get(pid or self.process.pid)
        return found is not None and found.state.startswith("T")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


def environment_of(home: Path, **more: str) -> dict[str, str]:
    """What a login shell would give a program, with a home of its own."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "TEXTUAL_ANIMATIONS": "none",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "PYTHONPATH": str(ROOT),
        **more,
    }


@contextmanager
def program(
    folder: Path,
    *command: str,
    config: str = NO_SERVERS,
    size: tuple[int, int] = (140, 45),
    environment: Mapping[str, str] | None = None,
    is_controlling: bool = True,
    awaits: str = "",
) -> Generator[Terminal]:
    """The app with its data in this folder; whatever of it is left at the end of the block is ended."""
    # `command` is what Python runs, the module `tui_host` without it; with `is_controlling` the kernel tells the program when the terminal is gone.
    file = folder / "config.toml"
    file.write_text(config)
    words = ("--config", str(file), "--data-dir", str(folder / "data"))
    python = (sys.executable, *(command or ("-m", "tui_host")))
    terminal = Terminal(
        (*python, *words), environment_of(folder, **(environment or {})), size, is_controlling=is_controlling
    )
    try:
        if awaits:
            terminal.until_shown(awaits)
        yield terminal
    finally:
        terminal.family.look()
        terminal.close()
        terminal.family.kill()


class Process(NamedTuple):
    parent: int
    state: str
    started: str
    command: str


def processes() -> dict[int, Process]:
    columns = "pid=,ppid=,stat=,lstart=,args="
    run = subprocess.run(["ps", "-A", "-ww", "-o", columns], capture_output=True, text=True, check=True)  # noqa: S607
    table: dict[int, Process] = {}
    for row in run.stdout.splitlines():
        pid, parent, state, *words = row.split(maxsplit=8)  # a start is five words, as in «Tue Nov 24 17:53:49 2026»
        if not state.startswith("Z"):
            table[int(pid)] = Process(int(parent), state, " ".join(words[:5]), " ".join(words[5:]))
    return table


class Family:
    """A process's descendants, remembered also when their parent has gone."""

    def __init__(self, pid: int) -> None:
        self._root = pid
        self._started: dict[int, str] = {}

    def look(self) -> dict[int, str]:
        """Learn of those that are there now; all that were ever seen and still are, with their command lines."""
        # A command line is the one of this look: between fork and exec a child still has that of its parent.
        table = processes()
        parents = {self._root, *self._living(table)}
        while new := {pid for pid, found in table.items() if found.parent in parents and pid not in parents}:
            parents |= new
        self._started |= {pid: table[pid].started for pid in parents - {self._root} if pid in table}
        return {pid: table[pid].command for pid in self._living(table)}

    def living(self) -> set[int]:
        return self._living(processes())

    def kill(self) -> None:
        for pid in self.living():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _living(self, table: Mapping[int, Process]) -> set[int]:
        return {pid for pid, started in self._started.items() if pid in table and table[pid].started == started}
