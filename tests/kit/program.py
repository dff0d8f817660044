"""The runner of the program: its words, its streams, how it ended, and what it left behind.

    ended = program.run("ask", "hello", stdin=b"", env={"MY_KEY": "k"})  # a process of its own, forked from a warm one; waits for its end
    running = program.start("ask", "hello", terminal=True)              # one at work: `until_shown`, `type`, `signal`, `wait`

`program` is a fixture of `tests/cli/conftest.py` (`with zygote(folder) as program`). `Ended` has `code`, `out` (bytes), `text`, `json`,
`err`, `told` (standard error without what a busy machine makes it say) and `left`, the processes that survived it.
"""

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.cases import some
from tui_host.errors import JSON

PATIENCE = 90.0
"""Seconds within which anything that is waited for has to come; a slow machine with work to do needs many of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended: its exit code, negative for a signal that killed it; its streams; processes that have survived it."""

    code: int
    out: bytes
    err: str
    left: tuple[str, ...]

    @property
    def json(self) -> dict[str, JSON]:
        assert self.out.count(b"\n") == 1, self.out
        value: JSON = json.loads(self.out)
        assert isinstance(value, dict)
        return value

    def objects(self, name: str) -> list[dict[str, JSON]]:
        found: dict[str, list[dict[str, JSON]]] = json.loads(self.out)
        return found[name]

    @property
    def told(self) -> str:
        """Its standard error, but for what a busy machine lets it say: that it waits for servers."""
        lines = self.err.splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("tui-host: waiting for "))

    @property
    def text(self) -> str:
        return self.out.decode()


class Reader:
    """Reads one descriptor to its end, in a thread."""

    def __init__(self, descriptor: int) -> None:
        self.data = b""
        self._descriptor = descriptor
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except OSError:  # a terminal whose other side has gone
                data = b""
            if not data:
                break
            self.data += data
        os.close(self._descriptor)

    def whole(self) -> bytes:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "somebody still holds the stream"
        return self.data


@dataclass(slots=True, kw_only=True, eq=False)
class Running:
    pid: int
    link: socket.socket
    out: Reader
    err: Reader | None
    terminal: int | None = None
    answer: bytes = b""

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    @property
    def is_asleep(self) -> bool:
        """Whether its main thread waits in the kernel."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"

    def type(self, text: str) -> None:
        os.write(some(self.terminal), text.encode())

    def until(self, is_so: Callable[[], object], what: str = "") -> None:
        end = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < end, (what, self.out.data, self.err.data if self.err else b"")
            assert not select.select([self.link], [], [], 0.005)[0], (what, "it has ended", self.out.data, self.err)

    def until_shown(self, words: str) -> None:
        """Wait until these words have come to standard error, or to its terminal."""
        reader = self.err or self.out
        self.until(lambda: words.encode() in reader.data, words)

    def wait(self) -> Ended:
        self.link.settimeout(PATIENCE)
        while not self.answer.endswith(b"\n"):
            data = self.link.recv(1 << 16)
            assert data, "the waiter has gone"
            self.answer += data
        self.link.close()
        STARTED.remove(self)
        found: dict[str, JSON] = json.loads(self.answer)
        if self.terminal is not None:
            os.close(self.terminal)
        code, left = found["code"], found["left"]
        assert isinstance(code, int)
        assert isinstance(left, list)
        err = "" if self.err is None else self.err.whole().decode()
        return Ended(code=code, out=self.out.whole(), err=err, left=tuple(map(str, left)))


STARTED: list[Running] = []
"""Programs that nobody has waited for yet."""


def end_programs() -> None:
    """End what a failed test has left, so that the next test fails for no reason but its own."""
    while STARTED:
        running = STARTED.pop()
        with suppress(ProcessLookupError):
            running.signal(signal.SIGKILL)
        running.link.close()
        if running.terminal is not None:
            os.close(running.terminal)


@dataclass(slots=True, kw_only=True)
class Programs:
    """Starts programs by the zygote that listens at `place`; `folder` is their home and working directory."""

    place: Path
    folder: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def start(
        self,
        *words: object,
        stdin: bytes | int = b"",
        stdout: int | None = None,
        terminal: bool = False,
        env: Mapping[str, str] | None = None,
        file_limit: int = 0,
    ) -> Running:
        """Start it; `stdin` may be a descriptor, `stdout` too; with `terminal` all of its streams are one; no file of its grows over `file_limit`."""
        request = {
            "words": [str(word) for word in words],
            "environment": {**self.environment, **(env or {})},
            "folder": str(self.folder),
            "terminal": terminal,
            "file_limit": file_limit,
        }
        master: int | None = None
        err: Reader | None = None
        if terminal:
            master, slave = pty.openpty()
            theirs = [slave, slave, slave]
            out = Reader(os.dup(master))
        else:
            mine, out_end = os.pipe()
            err_mine, err_end = os.pipe()
            theirs = [_filled(stdin) if isinstance(stdin, bytes) else os.dup(stdin), out_end, err_end]
            out, err = Reader(mine), Reader(err_mine)
            if stdout is not None:
                os.dup2(stdout, out_end)
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(PATIENCE)
        link.connect(str(self.place))
        socket.send_fds(link, [json.dumps(request).encode() + b"\n"], theirs)
        for descriptor in set(theirs):
            os.close(descriptor)
        line = b""
        while not line.endswith(b"\n"):
            line += link.recv(1)
        STARTED.append(Running(pid=json.loads(line)["pid"], link=link, out=out, err=err, terminal=master))
        return STARTED[-1]

    def run(self, *words: object, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Ended:
        """Run it to its end; nothing of it may be left."""
        ended = self.start(*words, stdin=stdin, env=env).wait()
        assert ended.left == ()
        return ended


def _filled(data: bytes) -> int:
    """A pipe's reading end that gives this and then ends."""
    end, mine = os.pipe()
    if data:
        threading.Thread(target=_fill, args=(mine, data), daemon=True).start()
    else:
        os.close(mine)
    return end


def _fill(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def plain_environment(home: Path) -> dict[str, str]:
    given = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    given["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    # Where coverage is measured, it is measured in there too.
    return given | {name: value for name, value in os.environ.items() if name.startswith("COV")}


@contextmanager
def zygote(folder: Path, kind: str = "program") -> Generator[Programs]:
    place = folder / "z"
    script = Path(__file__).with_name("zygote.py")
    environment = plain_environment(folder) | {"PYTHONPATH": str(script.parent.parent.parent)}
    with subprocess.Popen([sys.executable, script, place, kind], stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert some(process.stdout).readline() == b"ready\n"
            yield Programs(place=place, folder=folder, environment=plain_environment(folder))
        finally:
            process.kill()
