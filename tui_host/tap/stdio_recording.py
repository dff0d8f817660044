"""The process beside a stdio tap: records what the relay passed on, and ends the server if the relay was killed."""

from __future__ import annotations

import gc
import os
import select
import signal
import threading
import time
from typing import TYPE_CHECKING

from tui_host.tap.passing import BYE, CONSUMED, OUT, SPOOLED, TICK, taken_from

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui_host.tap.passing import Item
    from tui_host.tap.recording import Log
    from tui_host.tap.words import Stdio

RECORDS, LIFELINE, NOTICES, SPOOL = 3, 4, 5, 6
"""Descriptors; what each is for stands with the relay's ends of them."""
IGNORED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
UNWRITTEN = 16 << 20
"""Bytes that are recorded before the database is waited for: here nobody else waits."""
CLOSE_SECONDS = 10.0
START_SECONDS = 1.0
_READ = 1 << 20
_EARLY = 64 << 10


def record(tap: Stdio, began_ns: int) -> None:
    """Record to the end of the relay, and then what is left. Nothing is open but the descriptors above, and nowhere.

    Args:
        tap: What was typed.
        began_ns: When the tap began, on the wall clock.
    """
    gc.enable()
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    guarding = threading.Thread(target=_guard)
    guarding.start()
    try:
        _record(tap, began_ns)
    except Exception as error:  # noqa: BLE001 - the last resort: the relay goes on, and the server is ended all the same
        _tell(tap.name, f"recording has broken down: {error!r}; everything is passed on")
        os.close(RECORDS)
    os.close(NOTICES)
    guarding.join()


def _guard() -> None:
    """End the server, if the relay ends without a word."""
    told = b""
    while chunk := os.read(LIFELINE, 64):
        told += chunk
    if told and not told.endswith(BYE):
        from tui_host.capture.guard_process import end_groups

        end_groups({int(told)})


def _record(tap: Stdio, began_ns: int) -> None:
    early = _until_the_server_speaks()
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
    recording.start(None if tap.data_dir is None else Path(tap.data_dir), os.environ)
    lines = Lines(recording, tap.name)
    recorder = recording.recorder
    unwritten = 0
    for item in _items(early):
        unwritten += lines.take(item)
        if unwritten > UNWRITTEN and not recorder.fault:
            unwritten = 0
            recorder.flush()
    lines.finish()
    recording.close(CLOSE_SECONDS)


def _until_the_server_speaks() -> bytearray:
    """What the relay tells until the server has started, a second at most: until then the processor is the server's."""
    early = bytearray()
    told = select.poll()
    told.register(RECORDS, select.POLLIN)
    end = time.monotonic() + START_SECONDS
    while len(early) < _EARLY and all(kind == OUT for kind, _, _ in taken_from(bytearray(early))):
        if not told.poll(max(0.0, end - time.monotonic()) * 1000):
            break
        chunk = os.read(RECORDS, _READ)
        if not chunk:
            break
        early += chunk
    return early


def _items(buffer: bytearray) -> Iterator[Item]:
    """What the relay tells, to its end; what was read already stands in the buffer."""
    while True:
        for item in taken_from(buffer):
            if item[0] == SPOOLED:
                start, end = map(int, item[2].split())
                yield from _spooled(start, end)
            else:
                yield item
        chunk = os.read(RECORDS, _READ)
        if not chunk:
            return
        buffer += chunk
        if len(chunk) < _READ:
            time.sleep(TICK)  # a reader who waits would have to be woken for each message that passes


def _spooled(start: int, end: int) -> Iterator[Item]:
    """What stands in a part of the spool."""
    buffer = bytearray()
    at = start
    while at < end:
        chunk = os.pread(SPOOL, min(_READ, end - at), at)
        at += len(chunk)
        buffer += chunk
        yield from taken_from(buffer)
    _notice(CONSUMED + b"%d\n" % end)


def _log(tap: Stdio) -> Log | None:
    from pathlib import Path

    from tui_host.tap.log import JsonLines, PlainLines

    if tap.log is None:
        return None
    return PlainLines(lambda words: _tell(tap.name, words)) if tap.log == "-" else JsonLines(Path(tap.log))


def _tell(name: str, words: str) -> None:
    from tui_host.capture.visible import visible

    _notice(f"tui-host tap {name}: {visible(words, newlines=False)}\n".encode(errors="backslashreplace"))


def _notice(line: bytes) -> None:
    try:
        os.write(NOTICES, line)
    except OSError:
        return  # the relay has gone, and with it whoever could read it
