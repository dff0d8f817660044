"""Stdio taps as other hosts start them: real processes, with pipes whose bytes are counted."""

import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import IO

import pytest

from tests.capture.drafts import wait_until as until
from tui_host.capture.record import Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.store import Store
from tui_host.errors import StoreError

PY = (sys.executable, "-S", "-E", "-c")
PING = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n'
ECHO = (*PY, "import os\nwhile data := os.read(0, 70000):\n    os.write(1, data)")
"""A server that answers with what it was told, byte by byte."""


def tap(folder: Path, *words: str, name: str = "math") -> list[str]:
    """The command that a host starts instead of the server's."""
    options = [f"--data-dir={folder}", *words[: words.index("--")]] if "--" in words else [f"--data-dir={folder}"]
    command = words[words.index("--") + 1 :] if "--" in words else words
    return [sys.executable, "-m", "tui_host", "tap", "stdio", *options, name, "--", *command]


STARTED: list[subprocess.Popen[bytes]] = []
"""What a test has started, which is ended with it."""


def start(
    command: Sequence[str], *, environment: Mapping[str, str] | None = None, own_group: bool = False
) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, env=environment, start_new_session=own_group
    )
    STARTED.append(process)
    return process


def pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdin, process.stdout, process.stderr


def push(process: subprocess.Popen[bytes], data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(pipes(process)[0].fileno(), rest) :]


def write(process: subprocess.Popen[bytes], chunks: Sequence[bytes]) -> Thread:

    def run() -> None:
        for chunk in chunks:
            push(process, chunk)
        close(process)

    thread = Thread(target=run)
    thread.start()
    return thread


def close(process: subprocess.Popen[bytes], *, all_pipes: bool = False) -> None:
    for pipe in pipes(process)[: 3 if all_pipes else 1]:
        pipe.close()


def trip(process: subprocess.Popen[bytes], number: int) -> None:
    push(process, PING % number)
    assert pull(process, len(PING % number)) == PING % number


def said(process: subprocess.Popen[bytes]) -> bytes:
    return pipes(process)[1].read()


def told(process: subprocess.Popen[bytes]) -> str:
    return pipes(process)[2].read().decode()


def pull(process: subprocess.Popen[bytes], size: int) -> bytes:
    found = bytearray()
    while len(found) < size and (chunk := os.read(pipes(process)[1].fileno(), size - len(found))):
        found += chunk
    return bytes(found)


def line(process: subprocess.Popen[bytes]) -> bytes:
    return pipes(process)[1].readline()


def runs(pid: int) -> bool:
    """Whether a process does; one that has ended with all its threads and that nobody asked about does not."""
    process = Path(f"/proc/{pid}")
    with suppress(OSError):
        os.kill(pid, 0)
        is_ended = sys.platform == "linux" and (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        return not is_ended or len([*(process / "task").iterdir()]) > 1
    return False


def recorder_of(tap: int) -> int:
    """The process that records beside a tap: of its children the one with a session of its own."""
    threads = Path(f"/proc/{tap}/task")
    if not threads.exists():
        # How a tap behaves when its recorder is killed is the same everywhere; only finding it, through /proc, is Linux's.
        pytest.skip("only Linux reports of a process's children")

    def found() -> list[int]:
        children = "".join((thread / "children").read_text() for thread in threads.iterdir())
        return [child for child in map(int, children.split()) if runs(child) and os.getsid(child) == child]

    until(lambda: bool(found()))
    return found()[0]


@contextmanager
def stored(folder: Path) -> Generator[Store]:
    store = Store.open_to_read(folder / "tui-host.db")
    try:
        yield store
    finally:
        store.close()


def sessions(folder: Path) -> Sequence[SessionInfo]:
    """What is listed, oldest first; nothing where there is no database yet."""
    with suppress(StoreError), stored(folder) as store:
        return sorted(store.sessions.list(), key=lambda info: info.id)
    return []


def records(folder: Path) -> list[Record]:
    with stored(folder) as store:
        return [record for record, _ in store.session_records(store.sessions.find("last").id)]


def until_kept(folder: Path, count: int) -> None:
    until(lambda: len(records(folder)) == count if sessions(folder) else False)


def recorded(folder: Path) -> list[Record]:
    """What the only tap has recorded, once it is at its end, which may be later than its own."""
    until(lambda: [info.live for info in sessions(folder)] == [False])
    return records(folder)


def data(found: Sequence[Record], direction: str, wire: str = "mcp") -> bytes:
    return b"".join(record.data for record in found if record.wire == wire and record.direction == direction)
