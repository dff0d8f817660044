"""A program on a pseudo-terminal, with a clock: when it has painted what, and what it costs the machine."""

from __future__ import annotations

import codecs
import errno
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench.measure import HERE
from tests.system.terminal import ROOT, Family, environment_of

SIZE = (140, 45)
_ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[^\[\]]")
_LONGEST = 64
_KEPT = 200_000
PLACEHOLDER = "sk anything"  # the cursor may stand on its first letter


class OnPty:
    """One run of a program: `started` and `typed` are moments, `written` and `writes` count what came."""

    def __init__(self, command: Sequence[str], home: Path, *, size: tuple[int, int] = SIZE) -> None:
        self.written = self.writes = 0
        self._rest = bytearray()
        self.painted = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        environment = environment_of(home)
        self.started = self.typed = time.perf_counter()
        self._process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=ROOT)
        os.close(slave)
        self._family = Family(self._process.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    def type(self, keys: str) -> None:
        """Send what a terminal sends for these keys; only what is painted from now on counts."""
        self.painted = ""
        self.typed = time.perf_counter()
        os.write(self._master, keys.encode())

    def _take_in(self, data: bytes) -> None:
        self._rest += data
        whole = self._rest.rfind(b"\x1b", -_LONGEST)  # a sequence that is not whole yet waits for its end
        if whole < 0 or _ESCAPES.match(self._rest, whole):
            whole = len(self._rest)
        text = _ESCAPES.sub(b"", self._rest[:whole])
        del self._rest[:whole]
        self.painted = self.painted[-_KEPT:] + self._decoder.decode(text)

    def read(self, seconds: float) -> bool:
        """Take in what is there, waiting so long for it."""
        if not select.select([self._master], [], [], max(0.0, seconds))[0]:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:  # Linux's word for the end of the other side
                raise
            return False
        self.written += len(data)
        self.writes += 1
        self._take_in(data)
        return bool(data)

    def until(self, *texts: str, seconds: float = 60.0) -> float:
        """Read until all of these were painted; when that was."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            if self.read(0.2):
                now = time.perf_counter()
                if all(text in self.painted for text in texts):
                    return now
            elif self._process.poll() is not None:
                break
        raise TimeoutError(f"{texts} did not come; painted: {self.painted[-2000:]}")

    def watch(self, seconds: float) -> None:
        """Read on for so long, whatever comes."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def settle(self, seconds: float = 0.3) -> None:
        """Read on until nothing comes for so long."""
        while self.read(seconds):
            pass

    # What it costs. Linux's /proc.

    def cpu_seconds(self) -> float:
        """CPU time of the program itself so far, its threads included."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def memory_bytes(self) -> int:
        """Of the program itself, resident."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) << 10

    def tree_bytes(self) -> int:
        """Of the program with all its descendants: their own pages, and their share of those that others have too."""
        return sum(map(_proportional_bytes, (self.pid, *self._family.look())))

    def descendants(self) -> int:
        """How many processes it has started that are still there."""
        return len(self._family.look())

    def close(self) -> None:
        """End it, with all that it has started."""
        self._family.look()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._family.kill()
        os.close(self._master)


def _proportional_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) << 10


@contextmanager
def running(command: Sequence[str], home: Path) -> Generator[OnPty]:
    """A program; it has ended when the block has."""
    program = OnPty(command, home)
    try:
        yield program
    finally:
        program.close()


def app(folder: Path, config: str) -> Sequence[str]:
    """The command of our app with its data in this folder, configured so."""
    file = folder / "config.toml"
    file.write_text(config)
    return (sys.executable, "-m", "tui_host", "--config", str(file), "--data-dir", str(folder / "data"))


def bench_app(*words: object) -> Sequence[str]:
    """The command of one of `apps.py`."""
    return (sys.executable, str(HERE / "apps.py"), *map(str, words))
