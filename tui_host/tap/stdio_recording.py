"""The process beside a stdio tap: records what the relay passed on, and ends the server if the relay was killed."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from tui_host.tap.passing import BYE, ERROR, GROUP, IN, LOST, OUT, items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui_host.tap.recording import Log
    from tui_host.tap.words import Stdio

TOLD, NOTICES = 3, 4
"""Descriptors: where the relay tells what passes, and where a person is told something."""
IGNORED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
AHEAD = 64 << 20
"""Bytes that are read before they are recorded; the relay keeps what comes then, as long as it can."""
UNWRITTEN = 16 << 20
"""Bytes that are recorded before the database is waited for: here nobody else waits."""
CLOSE_SECONDS = 10.0
_READ = 1 << 20
_ITEM_COST = 200


class Incoming:
    """What the relay tells, read at once whatever the database does; and the server's end, where the relay was killed."""

    def __init__(self) -> None:
        self._queue: deque[tuple[bytes, int, bytes]] = deque()
        self._size = 0
        self._changed = threading.Condition()
        self._is_over = False

    def read(self) -> None:
        """Read to the end."""
        groups: set[int] = set()
        is_orderly = False
        buffer = bytearray()
        try:
            while chunk := os.read(TOLD, _READ):
                buffer += chunk
                for item in items(buffer):
                    if item[0] == GROUP:
                        groups.add(int(item[2]))
                    is_orderly = is_orderly or item[0] == BYE
                    self._put(item)
        finally:
            with self._changed:
                self._is_over = True
                self._changed.notify_all()
            if not is_orderly:
                from tui_host.capture.guard_process import end_groups

                end_groups(groups)

    def _put(self, item: tuple[bytes, int, bytes]) -> None:
        with self._changed:
            while self._size > AHEAD:
                self._changed.wait()
            self._queue.append(item)
            self._size += len(item[2]) + _ITEM_COST
            self._changed.notify_all()

    def __iter__(self) -> Iterator[tuple[bytes, int, bytes]]:
        """Each item, as it comes, to the end."""
        while True:
            with self._changed:
                while not self._queue and not self._is_over:
                    self._changed.wait()
                if not self._queue:
                    return
                item = self._queue.popleft()
                self._size -= len(item[2]) + _ITEM_COST
                self._changed.notify_all()
            yield item


def record(tap: Stdio) -> None:
    """Record to the end of the relay, and then what is left. Nothing but the descriptors `TOLD` and `NOTICES` is open."""
    gc.enable()
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    began_ns = time.time_ns()
    incoming = Incoming()
    reading = threading.Thread(target=incoming.read)
    reading.start()
    try:
        _record(tap, incoming, began_ns)
    except Exception as error:  # noqa: BLE001 - the last resort: the relay goes on, and the server is ended all the same
        _tell(tap.name, f"recording has broken down: {error!r}; everything is passed on")
        for _ in incoming:
            pass
    os.close(NOTICES)
    reading.join()


def _record(tap: Stdio, incoming: Incoming, began_ns: int) -> None:
    from pathlib import Path

    from tui_host.capture.no_core import leave_no_core
    from tui_host.tap.lines import Lines
    from tui_host.tap.recording import TapRecording, secrets_in

    leave_no_core()
    recording = TapRecording(
        tap.name,
        tell=lambda words: _tell(tap.name, words),
        secrets=secrets_in(os.environ),
        log=_log(tap),
        began_ns=began_ns,
    )
    lines = Lines(recording, tap.name)
    recorder = recording.recorder
    unwritten = 0
    for kind, mono_ns, data in incoming:
        if kind == GROUP:
            recording.start(None if tap.data_dir is None else Path(tap.data_dir), os.environ)
        elif kind in {OUT, IN, ERROR}:
            lines.feed(kind, data, mono_ns)
            unwritten += len(data)
        elif kind in LOST.values():
            lines.lose(kind, int(data), mono_ns)
        if unwritten > UNWRITTEN and not recorder.fault:
            unwritten = 0
            recorder.flush()
    lines.finish()
    recording.close(CLOSE_SECONDS)


def _log(tap: Stdio) -> Log | None:
    from pathlib import Path

    from tui_host.tap.log import JsonLines, PlainLines

    if tap.log is None:
        return None
    return PlainLines(lambda words: _tell(tap.name, words)) if tap.log == "-" else JsonLines(Path(tap.log))


def _tell(name: str, words: str) -> None:
    from tui_host.capture.visible import visible

    line = f"tui-host tap {name}: {visible(words, newlines=False)}\n".encode(errors="backslashreplace")
    try:
        os.write(NOTICES, line)
    except OSError:
        return  # the relay has gone, and with it whoever could read it
