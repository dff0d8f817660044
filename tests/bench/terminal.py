"""A program on a pseudo-terminal, with a clock: when it has painted what, and what it costs the machine (Linux's /proc)."""

import codecs
import re
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from typing_extensions import override

from tests.system.terminal import Terminal, environment_of

COLUMNS, LINES = 140, 45
_ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[^\[\]]")
_LONGEST = 64
_KEPT = 200_000


class OnPty(Terminal):
    """One run of a program: `started` and `typed` are moments. Text is only freed of escapes: drawing it would take longer than it."""

    def __init__(self, command: Sequence[str], home: Path) -> None:
        self.painted = ""
        self._rest = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        super().__init__(command, environment_of(home), (COLUMNS, LINES), is_controlling=False)
        self.typed = self.started

    @override
    def type(self, keys: str, *shown: str) -> None:
        self.painted = ""
        self.typed = time.monotonic()
        super().type(keys, *shown)

    @override
    def take(self, data: bytes) -> None:
        self._rest += data
        whole = self._rest.rfind(b"\x1b", -_LONGEST)  # a sequence that is not whole yet waits for its end
        if whole < 0 or _ESCAPES.match(self._rest, whole):
            whole = len(self._rest)
        text = _ESCAPES.sub(b"", self._rest[:whole])
        del self._rest[:whole]
        self.painted = self.painted[-_KEPT:] + self._decoder.decode(text)

    def painted_at(self, *texts: str, seconds: float = 60.0) -> float:
        """Read until all of these were painted; when that was."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.read(0.2):
                now = time.monotonic()
                if all(text in self.painted for text in texts):
                    return now
            elif self.process.poll() is not None:
                break
        raise TimeoutError(f"{texts} did not come; painted: {self.painted[-2000:]}")

    def watch(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def cpu_seconds(self) -> float:
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def memory_bytes(self) -> int:
        return _kernels_bytes(self.process.pid, "status", "VmRSS:")

    def tree_bytes(self) -> int:
        return sum(_kernels_bytes(pid, "smaps_rollup", "Pss:") for pid in (self.process.pid, *self.family.look()))


def _kernels_bytes(pid: int, file: str, name: str) -> int:
    lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) << 10


@contextmanager
def running(command: Sequence[str], home: Path) -> Generator[OnPty]:
    program = OnPty(command, home)
    try:
        yield program
    finally:
        program.family.look()
        program.close()
        program.family.kill()


def app(folder: Path, config: str = "") -> Sequence[str]:
    file = folder / "config.toml"
    file.write_text(config)
    return (sys.executable, "-m", "tui_host", "--config", str(file), "--data-dir", str(folder / "data"))
