"""The process beside a tap: records what the relay passed on, and ends a server that it has, if the relay was killed."""

from __future__ import annotations

import gc
import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from tui_host.tap.kinds import OUT
from tui_host.tap.passing import BYE, HOPEFUL, TAKEN, taken_from
from tui_host.tap.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tui_host.tap.beside import Asked, Ends
    from tui_host.tap.logged import Log
    from tui_host.tap.passing import Item
    from tui_host.tap.recording import TapRecording

IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
NICE = 10
"""While bytes pass it has about a tenth of the time where others want all of it, and all that they leave: what waits has room in the journal."""
UNWRITTEN = 16 << 20
"""Bytes that are recorded before the database is waited for: here nobody else waits."""
CLOSE_SECONDS = 10.0
GRACE_SECONDS = 2.0
"""How long after the relay's end, and after SIGTERM, what is left is still recorded, if one came: else for as long as it takes."""
TICK = 0.005
"""Seconds in which what comes in a burst is read together: a reader who waits would have to be woken for each message that passes."""
_MUCH = 64 << 10
_ERRORS = 2


class Folding(Protocol):
    """Makes records of what a relay tells."""

    def take(self, item: Item) -> int:
        """The next thing that the relay tells; gives the bytes that its records take in memory."""
        ...

    def finish(self) -> None:
        """Nothing follows."""
        ...


def record(ends: Ends, asked: Asked, folding: Callable[[TapRecording], Folding], patience: float | None) -> None:
    """Record to the end of the relay, and then what is left. Nothing is open but the ends, and nowhere.

    Args:
        ends: What leads to the relay.
        asked: What is recorded.
        folding: What makes records.
        patience: Seconds to wait for a first word; None waits for it, and records nothing without.
    """
    gc.enable()
    _share(NICE)
    told = Told(ends, GRACE_SECONDS)
    signal.signal(signal.SIGTERM, lambda _number, _frame: told.hurry())
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    guarding = Thread(lambda: _guard(ends.lifeline))

    def say(line: str) -> None:
        _say(asked, ends.notices, line)

    try:
        _record(told, asked, say, folding, patience)
    except Exception as error:  # noqa: BLE001 - the last resort: the relay goes on, and the server is ended all the same
        _tell(asked, say, f"recording has broken down: {error!r}; everything is passed on")
    os.close(ends.notices)
    guarding.wait()


class Told:
    """What the relay tells, to its end.

    Args:
        ends: What leads to the relay.
        grace: Seconds that are left for what is left, once somebody wants an end.
    """

    def __init__(self, ends: Ends, grace: float) -> None:
        self._journal = ends.journal
        self._notices = ends.notices
        self._grace = grace
        self._buffer = bytearray()
        self._is_hurried = False
        self._deadline: float | None = None

    def hurry(self) -> None:
        """Somebody wants an end; it comes with the relay's, or after it."""
        self._is_hurried = True
        self._deadline = None

    def listen(self, patience: float | None) -> bool:
        """Until it tells more than a host's input, and no longer than so: until then the processor is the server's. Whether it told anything."""
        early, journal = self._buffer, self._journal
        end = None if patience is None else time.monotonic() + patience
        while len(early) < _MUCH and all(item[0] == OUT for item in taken_from(bytearray(early))):
            left = None if end is None else end - time.monotonic()
            if chunk := journal.take():
                early += chunk
            elif journal.is_over or (left is not None and left <= 0):
                break
            else:
                journal.wait(left)
        return bool(early)

    def items(self) -> Iterator[Item]:
        """All that it tells, from the beginning."""
        buffer, journal = self._buffer, self._journal
        while not self._is_overdue():
            yield from taken_from(buffer)
            if chunk := journal.take():
                buffer += chunk
                if not journal.is_over and journal.left < _MUCH:
                    time.sleep(TICK)
            elif journal.is_over:
                return
            else:
                if journal.needs_care:
                    self.notice(TAKEN)
                journal.wait(None)

    @property
    def missing(self) -> int:
        """Bytes that were not read at the end, or found no room."""
        return len(self._buffer) + self._journal.left + self._journal.held

    def notice(self, line: bytes) -> None:
        """Let the relay know."""
        _notice(self._notices, line)

    def _is_overdue(self) -> bool:
        if not self._is_hurried:
            return False
        self._journal.look(0)  # where there is much, nobody waits and hears of it
        if not self._journal.is_over:
            return False
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._grace
        return now >= self._deadline


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


def _guard(lifeline: int) -> None:
    """End the server, if the relay ends without a word: it was killed, as the server would have been without it."""
    told = b""
    while not told.endswith(BYE) and (chunk := os.read(lifeline, 64)):
        told += chunk
    if told and not told.endswith(BYE):
        from tui_host.capture.guard_process import end_groups

        with suppress(OSError):  # it has ended by itself
            os.kill(int(told), signal.SIGKILL)
        end_groups({int(told)})  # with them the host has nothing to do: they may take their time
    _share(0, attempts=20)  # nothing passes any more, and somebody may wait for what is left


def _record(
    told: Told,
    asked: Asked,
    say: Callable[[str], None],
    folding: Callable[[TapRecording], Folding],
    patience: float | None,
) -> None:
    if not told.listen(patience) and patience is None:
        return
    from pathlib import Path

    from tui_host.tap.prospects import are_good

    place = None if asked.data_dir is None else Path(asked.data_dir)
    if asked.log is None and are_good(place, os.environ):  # who wants a log has it whole when the tap ends
        told.notice(HOPEFUL)
    from tui_host.capture.no_core import leave_no_core
    from tui_host.settings.credentials_places import in_variables, in_words
    from tui_host.tap.recording import TapRecording

    def tell(words: str) -> None:
        _tell(asked, say, words)

    leave_no_core()
    secrets = (*in_variables(os.environ), *in_words(asked.command))
    recording = TapRecording(asked.title, tell=tell, secrets=secrets, log=_log(asked, say), began_ns=asked.began_ns)
    recording.start(place, os.environ)
    folder = folding(recording)
    recorder = recording.recorder
    unwritten = 0
    for item in told.items():
        unwritten += folder.take(item)
        if unwritten > UNWRITTEN and not recorder.fault:
            unwritten = 0
            recorder.flush()
    folder.finish()
    if told.missing:
        tell(f"the last {told.missing:,} bytes of what passed are not recorded")
    recording.close(CLOSE_SECONDS)


def _log(asked: Asked, say: Callable[[str], None]) -> Log | None:
    if asked.log is None:
        return None
    if asked.log_file is None:
        return asked.plain(say)
    from tui_host.tap.log import JsonLines

    return JsonLines(asked.log_file, asked.log)


def _tell(asked: Asked, say: Callable[[str], None], words: str) -> None:
    from tui_host.capture.visible import visible

    say(visible(f"tui-host tap {asked.title}: {words}", newlines=False))


def _say(asked: Asked, notices: int, words: str) -> None:
    """A line on standard error, by way of the relay while that is there."""
    line = f"{words}\n".encode(errors="backslashreplace")
    if not _notice(notices, line):
        _tell_later(asked.terminal, line)


def _notice(notices: int, line: bytes) -> bool:
    """Let the relay know; False if it has gone."""
    try:
        os.write(notices, line)
    except OSError:
        return False
    return True


def _tell_later(terminal: str | None, line: bytes) -> None:
    """Tell a person at a terminal, or the file that standard error is; to a pipe nobody would read it."""
    target = _ERRORS
    try:
        if terminal is not None:  # opened for this alone: who holds one keeps others waiting for its end
            target = os.open(terminal, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.write(target, line)
    except OSError:
        return  # the terminal has gone as well, or the disk is full, which may be what should be told
    finally:
        if target != _ERRORS:
            os.close(target)
