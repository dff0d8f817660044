"""Stores with records and sessions in them, and other processes that write to the same file."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from tests.capture.drafts import FixedClock, frame
from tui_host.capture.record import Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo, Source
from tui_host.capture.store.store import Store

FIRST, SECOND, THIRD = "20261121-134501-aaaaa", "20261121-134502-bbbbb", "20261122-090000-ccccc"

REPOSITORY = Path(__file__).parents[2]


def _hold(path: str, session: str) -> None:
    """Own a session until the standard input ends."""
    store = Store.open(Path(path))
    save(store, session)
    settle(store)
    print("ready", flush=True)
    sys.stdin.read()
    store.close()


def _write(path: str, capture: str, count: str) -> None:
    """Record frames, or without end, and print the number of the last one that was shown."""
    store = Store.open(Path(path))
    recorder = Recorder(store, Redactor(), capture=capture)
    shown = 0
    for n in islice(itertools.count(1), int(count) or None):
        recorder.append(Record(wire="mcp", kind="frame", peer="math", direction="in", data=b"%d " % n + os.urandom(99)))
        for record in recorder.since(shown):
            shown = record.seq
        if n % 100 == 0:
            print(shown, flush=True)
    recorder.close(30)
    store.close(30)


def _process(*words: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", __name__, *map(str, words)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=REPOSITORY)


@contextmanager
def another(path: Path, session: str) -> Generator[subprocess.Popen[bytes]]:
    """Another process, which has saved a session and owns it."""
    with _process("hold", path, session) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        yield other
        other.kill()


def start_writer(path: Path, capture: str, count: int = 0) -> subprocess.Popen[bytes]:
    return _process("write", path, capture, count)


def killed_after(path: Path, capture: str, count: int) -> int:
    """Record in a process that is killed; the number of the last record that it had shown."""
    with start_writer(path, capture) as process:
        assert process.stdout is not None
        shown = 0
        while shown <= count:
            shown = int(process.stdout.readline())
        process.kill()
    return shown


def record(store: Store, drafts: Iterable[Record], capture: str = "c1", redactor: Redactor | None = None) -> Recorder:
    recorder = Recorder(store, redactor or Redactor(), capture=capture, clock=FixedClock())
    for draft in drafts:
        recorder.append(draft)
    assert recorder.flush(20)
    return recorder


def kept(store: Store, **choice: str | int) -> list[bytes]:
    return [each.data for each in store.records(**choice)]  # pyright: ignore[reportArgumentType] - by name


def kept_of(store: Store, session: str) -> list[bytes]:
    return [each.data for each, _ in store.session_records(session)]


def save(
    store: Store,
    name: str,
    *,
    title: str = "",
    draft: str = "unsent",
    updated: int = 1,
    turns: int = 1,
    source: Source = "chat",
) -> None:
    """Save a session with an unsent draft, and a message a turn."""
    of_model = "demo/openai", "native"
    store.sessions.save(SessionInfo(name, title or f"title of {name}", source, 1, updated, 0, *of_model, draft=draft))
    for turn in range(1, turns + 1):
        store.sessions.save_message(name, turn - 1, turn=turn, text=json.dumps({"turn": turn}), time_ns=updated)


def settle(store: Store) -> None:
    """Wait until all that was saved is written."""
    store.run(lambda _: None)


def keep_session(store: Store, session: str, updated: int, *, words: bytes = b"", count: int = 200) -> None:
    """Keep a session in a capture of its own, whose process has let go of it."""
    recorder = Recorder(store, Redactor(), capture=f"of {session}", clock=FixedClock(wall_ns=updated))
    recorder.append(frame(b"start " + words))
    for number in range(count):
        place = f"math#{1 + number % 2}"  # alternately, so that no row holds several
        recorder.append(frame(b"%d " % number + words * 40, session=session, connection=place))
    recorder.close()
    save(store, session, updated=updated)
    store.sessions.release(session)
    settle(store)


def assert_sound(store: Store) -> None:
    assert (store.read("PRAGMA integrity_check"), store.read("PRAGMA foreign_key_check")) == ([("ok",)], [])


if __name__ == "__main__":
    {"hold": _hold, "write": _write}[sys.argv[1]](*sys.argv[2:])
