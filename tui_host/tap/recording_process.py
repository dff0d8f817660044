"""The process beside a tap: records what the relay passed on, and ends a server that it has, if the relay was killed."""

from __future__ import annotations

import gc
import os
import select
import signal
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from tui_host.tap.kinds import OUT, SPOOLED
from tui_host.tap.passing import BYE, CONSUMED, HOPEFUL, TICK, taken_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tui_host.tap.beside import Asked
    from tui_host.tap.passing import Item
    from tui_host.tap.recording import Log, TapRecording

ERRORS, RECORDS, LIFELINE, NOTICES, SPOOL = 2, 3, 4, 5, 6
"""Descriptors; what each is for stands with the relay's ends of them."""
IGNORED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
NICE = 10
"""While bytes pass it has about a tenth of the time where others want all of it, and all that they leave: what waits has room in the spool."""
UNWRITTEN = 16 << 20
"""Bytes that are recorded before the database is waited for: here nobody else waits."""
CLOSE_SECONDS = 10.0
_READ = 1 << 20
_EARLY = 64 << 10


class Folding(Protocol):
    """Makes records of what a relay tells."""

    def take(self, item: Item) -> int:
        """The next thing that the relay tells; gives the bytes that its records take in memory."""
        ...

    def finish(self) -> None:
        """Nothing follows."""
        ...


def record(asked: Asked, folding: Callable[[TapRecording], Folding], patience: float | None) -> None:
    """Record to the end of the relay, and then what is left. Nothing is open but the descriptors above, and nowhere.

    Args:
        asked: What is recorded.
        folding: What makes records.
        patience: Seconds to wait for a first word; None waits for it, and records nothing without.
    """
    gc.enable()
    _share(NICE)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    guarding = threading.Thread(target=_guard)
    guarding.start()
    try:
        _record(asked, folding, patience)
    except Exception as error:  # noqa: BLE001 - the last resort: the relay goes on, and the server is ended all the same
        _tell(asked, f"recording has broken down: {error!r}; everything is passed on")
        os.close(RECORDS)
    os.close(NOTICES)
    guarding.join()


def _share(nice: int, attempts: int = 1) -> None:
    """Have so much of the processor. A session of its own would else have as much as all that its user runs at a terminal.

    Unlike a process's own niceness this can be taken back. Source: sched(7), The autogroup feature.
    """
    for _ in range(attempts):
        try:
            with open("/proc/self/autogroup", "w") as group:  # noqa: PTH123 - pathlib takes long to import
                group.write(str(nice))
        except BlockingIOError:
            time.sleep(0.1)  # of all who are not root the system listens to ten a second
        except OSError:
            return  # not on this system
        else:
            return


def _guard() -> None:
    """End the server, if the relay ends without a word: it was killed, as the server would have been without it."""
    told = b""
    while not told.endswith(BYE) and (chunk := os.read(LIFELINE, 64)):
        told += chunk
    if told and not told.endswith(BYE):
        from tui_host.capture.guard_process import end_groups

        with suppress(OSError):  # it has ended by itself
            os.kill(int(told), signal.SIGKILL)
        end_groups({int(told)})  # with them the host has nothing to do: they may take their time
    _share(0, attempts=20)  # nothing passes any more, and somebody may wait for what is left


def _record(asked: Asked, folding: Callable[[TapRecording], Folding], patience: float | None) -> None:
    early = _first_words(patience)
    if not early and patience is None:
        return
    from pathlib import Path

    from tui_host.tap.prospects import are_good

    place = None if asked.data_dir is None else Path(asked.data_dir)
    if asked.log is None and are_good(place, os.environ):  # who wants a log has it whole when the tap ends
        _notice(HOPEFUL)
    from tui_host.capture.no_core import leave_no_core
    from tui_host.tap.recording import TapRecording, secrets_in

    leave_no_core()
    recording = TapRecording(
        asked.title,
        tell=lambda words: _tell(asked, words),
        secrets=secrets_in(os.environ),
        log=_log(asked),
        began_ns=asked.began_ns,
    )
    recording.start(place, os.environ)
    folder = folding(recording)
    recorder = recording.recorder
    unwritten = 0
    for item in _items(early):
        unwritten += folder.take(item)
        if unwritten > UNWRITTEN and not recorder.fault:
            unwritten = 0
            recorder.flush()
    folder.finish()
    recording.close(CLOSE_SECONDS)


def _first_words(patience: float | None) -> bytearray:
    """What the relay tells until it tells more than a host's input: until then the processor is the server's."""
    early = bytearray()
    told = select.poll()
    told.register(RECORDS, select.POLLIN)
    end = None if patience is None else time.monotonic() + patience
    while len(early) < _EARLY and all(item[0] == OUT for item in taken_from(bytearray(early))):
        if not told.poll(None if end is None else max(0.0, end - time.monotonic()) * 1000):
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
                start, end = map(int, item[3].split())
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


def _log(asked: Asked) -> Log | None:
    from pathlib import Path

    from tui_host.tap.log import JsonLines, PlainLines

    if asked.log is None:
        return None
    return PlainLines(lambda words: _tell(asked, words)) if asked.log == "-" else JsonLines(Path(asked.log))


def _tell(asked: Asked, words: str) -> None:
    from tui_host.capture.visible import visible

    line = f"tui-host tap {asked.title}: {visible(words, newlines=False)}\n".encode(errors="backslashreplace")
    if not _notice(line):
        _tell_later(asked.terminal, line)


def _notice(line: bytes) -> bool:
    """Let the relay know; False if it has gone."""
    try:
        os.write(NOTICES, line)
    except OSError:
        return False
    return True


def _tell_later(terminal: str | None, line: bytes) -> None:
    """Tell a person at a terminal, or the file that standard error is; to a pipe nobody would read it."""
    target = ERRORS
    try:
        if terminal is not None:  # opened for this alone: who holds one keeps others waiting for its end
            target = os.open(terminal, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.write(target, line)
    except OSError:
        return  # the terminal has gone as well, or the disk is full, which may be what should be told
    finally:
        if target != ERRORS:
            os.close(target)
