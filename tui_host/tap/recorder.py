"""The recorder, a process beside a tap: stores what the relay reports, and ends the server of a killed relay.

It has the relay's lifeline as standard input, and what it writes to standard error goes through the relay, as long as that lives.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from tui_host.capture.visible import visible
from tui_host.guard.core_dumps import leave_no_core
from tui_host.guard.watchdog import end_groups
from tui_host.settings.credential_places import in_variables, in_words
from tui_host.tap.exchanges import TappedExchanges, TimedRecorder
from tui_host.tap.http.llm_tap import OneObserver
from tui_host.tap.http.mcp_tap import Connections
from tui_host.tap.lines import TappedLines
from tui_host.tap.log import JsonLines, LogForm, TapLog
from tui_host.tap.relay import BEGIN_AGAIN, is_readable, told_once, write
from tui_host.tap.ring import Item, RingReader
from tui_host.tap.session import GRACE_SECONDS, LOCKED_SECONDS, Facts, LostDatabaseError, TapSession

IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
NICE = 10
"""The recorder's niceness while bytes pass: it gets about a tenth of a busy processor, and all of an idle one."""
MOST_UNSTORED = 4 << 20
"""Bytes to take from the ring beyond those that are stored; the others wait there."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.25
"""Seconds between looks at the ring, while bytes pass and after a while without any."""
FAULTY_SECONDS = 1.0
"""Seconds to wait at the end for a database that cannot be written. The relay waits a little longer for news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecorderOptions:
    """What to record, and where.

    Attributes:
        wire: `stdio`, `llm` or `http`.
        name: The session's title.
        data_dir: `--data-dir DIR`; empty without.
        log: `--log FILE`, `-` for plain lines on standard error; empty without.
        log_file: The descriptor of that file; -1 without a file.
        began_ns: When the tap began, on the wall clock.
        seed: Random bytes for the session's id, in hexadecimal.
        command: The server's command, which may contain credentials; empty without one.
        ring: The ring's descriptor.
    """

    wire: str
    name: str
    data_dir: str = ""
    log: str = ""
    log_file: int = -1
    began_ns: int = 0
    seed: str = ""
    command: tuple[str, ...] = ()
    ring: int = -1


def read_options(words: Sequence[str]) -> RecorderOptions:
    """Parse the words behind `tap-recorder`, which `RecorderChild` and `recorder_words` compose."""
    ring, wire, name, data_dir, log, log_file, began_ns, seed, *command = words
    return RecorderOptions(
        wire=wire,
        name=name,
        data_dir=data_dir,
        log=log,
        log_file=int(log_file),
        began_ns=int(began_ns),
        seed=seed,
        command=tuple(command),
        ring=int(ring),
    )


def record(
    options: RecorderOptions,
    *,
    plain: Callable[[], LogForm],
    learn: Callable[[str], Facts] | None = None,
) -> NoReturn:
    """Record until the relay ends, and then the rest.

    Args:
        options: What to record, and where.
        plain: Makes the form of `--log -`.
        learn: Makes what learns of the host from the records.
    """
    leave_no_core()
    gc.enable()
    _share_processor(NICE)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    tell = told_once(partial(_tell, options.name))
    secrets = (*in_variables(os.environ), *in_words(options.command))
    ring = RingReader(options.ring)
    session = TapSession(
        options.name,
        tell=tell,
        secrets=secrets,
        began_ns=options.began_ns,
        seed=bytes.fromhex(options.seed),
        earlier=ring.recorders,
        stored_seq=ring.freed_seq,
        learn=learn,
    )
    log = None
    if options.log:
        form, file = (plain(), 2) if options.log_file < 0 else (JsonLines(), options.log_file)
        log = TapLog(form, file, options.log, tell)
        log.begin(session.info(), session.recorder.redactor.text, is_first=session.is_first)
    recording = _Recording(options, ring, session, _tapped(options, session, tell), log)
    code, words = 0, ""
    try:
        recording.run()
    except LostDatabaseError as error:
        ring.forgive()
        code, words = BEGIN_AGAIN, f"recording begins anew: {error}"
    except Exception as error:  # noqa: BLE001 - the last resort: the relay starts another one, and its server is ended all the same
        code, words = 1, f"recording failed: {error!r}"
    if words:
        ring.say_well(is_well=False)  # first: a relay that ends right now has to wait for the next recorder
        tell(words)
    recording.end_server_of_killed_relay()
    sys.stderr.flush()
    os._exit(code)


def _tell(name: str, words: str) -> None:
    line = visible(f"tui-host tap {name}: {words}", newlines=False)
    write(2, f"{line}\n".encode(errors="backslashreplace"))


def _tapped(
    options: RecorderOptions, session: TapSession, tell: Callable[[str], None]
) -> TappedLines | TappedExchanges:
    """Return what turns the items of this kind of relay into records."""
    if options.wire == "stdio":
        return TappedLines(session.recorder, session.place, options.name, is_whole=session.is_first)
    recorder = TimedRecorder(session.recorder)
    if options.wire == "llm":
        return TappedExchanges(recorder, OneObserver(recorder, options.name), session.place, tell)
    connections = Connections(recorder, options.name, is_whole=session.is_first)
    return TappedExchanges(recorder, connections, session.place, tell)


class _Recording:
    """Reads the ring, and passes everything on in one loop."""

    def __init__(
        self,
        options: RecorderOptions,
        ring: RingReader,
        session: TapSession,
        tapped: TappedLines | TappedExchanges,
        log: TapLog | None,
    ) -> None:
        self._data_dir = Path(options.data_dir) if options.data_dir else None
        self._ring = ring
        self._session = session
        self._tapped = tapped
        self._log = log
        self._pause = SHORTEST_PAUSE
        self._over_at: float | None = None  # when the relay ended
        self._is_hurried = False
        signal.signal(signal.SIGTERM, self._hurry)

    def run(self) -> None:
        """Record everything.

        Raises:
            LostDatabaseError: The database is no longer the one that was opened.
        """
        while not self._is_done():
            is_busy = self._step()
            self._pause = SHORTEST_PAUSE if is_busy else min(2 * self._pause, LONGEST_PAUSE)
            if self._over_at is None and is_readable(0, self._pause):  # its end: nothing is written there
                self._over_at = time.monotonic()
                self.end_server_of_killed_relay()
                _share_processor(0)  # no traffic passes any more, and somebody may wait for the rest
            elif self._over_at is not None and not is_busy:
                time.sleep(SHORTEST_PAUSE)
        self._tapped.finish()
        is_kept = self._session.close()
        if self._log is not None:
            self._log.finish(self._session.recorder, self._exit_time(), 0 if self._is_hurried else GRACE_SECONDS)
        if is_kept:
            self._ring.free(self._session.recorder.reached)

    def _step(self) -> bool:
        """Record what has come, once what came before is stored; returns whether there was anything."""
        recorder = self._session.recorder
        self._session.look(self._data_dir, os.environ)
        items: list[Item] = []
        if self._session.may_record and self._ring.unfreed < MOST_UNSTORED:
            items = self._ring.read()
        for item in items:
            self._tapped.take(item)
        if is_kept := self._session.keep():
            self._ring.free(recorder.reached)
        is_logged = self._log is not None and self._log.follow(recorder)
        if is_logged and not is_kept and not self._session.is_well:
            self._ring.free(
                recorder.reached
            )  # while the database cannot be written, a log that has everything keeps it
        is_complete = self._log is None or (is_logged and self._over_at is not None)
        self._ring.say_well(is_well=self._session.is_well and is_complete)
        return bool(items)

    def _is_done(self) -> bool:
        """Whether the relay has ended, and everything is stored or nothing more can be done."""
        if self._over_at is None:
            return False
        if not self._ring.has_more and not self._session.recorder.left:
            return True
        if not self._session.fault:
            return False
        late = time.monotonic() - self._over_at
        return self._is_hurried or late > (LOCKED_SECONDS if self._session.is_locked else FAULTY_SECONDS)

    def _exit_time(self) -> tuple[int, int] | None:
        """Return a server's exit code, and when it ended on the wall clock."""
        if self._tapped.exit is None:
            return None
        code, at_ns = self._tapped.exit
        return code, time.time_ns() - time.monotonic_ns() + at_ns

    def _hurry(self, _number: int, _frame: object) -> None:
        """Wait no longer for a locked database or a slow log, once the relay has ended."""
        self._is_hurried = True

    def end_server_of_killed_relay(self) -> None:
        """End the server if the relay has ended without a word, as the server would have ended without a tap."""
        group = self._ring.group
        if group and not self._ring.is_ended and is_readable(0, 0):
            with suppress(OSError):  # it has ended
                os.kill(group, signal.SIGKILL)
            end_groups({group})  # the rest of the server's group, with which the host has nothing to do


def _share_processor(nice: int) -> None:
    """Set the niceness of this process's session, which unlike a process's own can be undone.

    Source: sched(7), The autogroup feature.
    """
    with suppress(OSError):  # the system lacks this feature, or was asked too often
        Path("/proc/self/autogroup").write_text(str(nice))
