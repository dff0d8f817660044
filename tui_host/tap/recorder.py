"""The recorder, a process beside a tap: stores what the relay reports, and ends the server of a killed relay.

It has the relay's lifeline as standard input, and what it writes to standard error goes through the relay, as long as that lives.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from tui_host.capture.store.store_faults import LOCKED
from tui_host.capture.visible import visible
from tui_host.guard.core_dumps import leave_no_core
from tui_host.guard.watchdog import end_groups
from tui_host.tap.exchanges import Connections, TappedExchanges
from tui_host.tap.lines import TappedLines
from tui_host.tap.log import LogForm, TapLog
from tui_host.tap.relay import BEGIN_AGAIN, GROUP, IS_ENDED, IS_WELL, TRIES, ready, told_once, write
from tui_host.tap.ring import Item, RingReader
from tui_host.tap.session import Learn, LostDatabaseError, RecorderOptions, TapSession

IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
NICE = 10
"""The recorder's niceness while bytes pass: it gets about a tenth of a busy processor, and all of an idle one."""
MOST_UNSTORED = 4 << 20
"""Bytes to take from the ring beyond those that are stored; the others wait there."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.25
"""Seconds between looks at the ring, while bytes pass and after a while without any."""
LOCKED_SECONDS, FAULTY_SECONDS, LOG_SECONDS = 300.0, 1.0, 5.0
"""Seconds to wait at the end for a locked database, for one that cannot be written, and for a log without progress."""


def record(words: Sequence[str], *, plain: Callable[[], LogForm], learn: Learn | None = None) -> NoReturn:
    """Record until the relay ends, and then the rest. `plain` makes the form of `--log -`, `learn` what learns of the host."""
    leave_no_core()
    gc.enable()
    _share_processor(NICE)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    ring_file, wire, name, data_dir, log, log_file, began_ns, seed, *command = words
    options = RecorderOptions(int(ring_file), wire, name, data_dir, log, int(log_file), int(began_ns), seed, command)

    def tell(sentence: str) -> None:
        line = visible(f"tui-host tap {name}: {sentence}", newlines=False)
        write(2, f"{line}\n".encode(errors="backslashreplace"))

    ring = RingReader(options.ring)
    code, last_words = 0, ""
    try:
        _Recording(options, ring, told_once(tell), plain, learn).run()
    except LostDatabaseError as error:
        ring.words[TRIES] = 0
        code, last_words = BEGIN_AGAIN, f"recording begins anew: {error}"
    except Exception as error:  # noqa: BLE001 - the last resort: the relay starts another one, and its server is ended all the same
        code, last_words = 1, f"recording failed: {error!r}"
    if last_words:
        ring.words[IS_WELL] = 0  # first: a relay that ends right now has to wait for the next recorder
        tell(last_words)
    _end_server_of_killed_relay(ring)
    os._exit(code)


class _Recording:
    """Reads the ring, and passes everything on in one loop."""

    def __init__(
        self,
        options: RecorderOptions,
        ring: RingReader,
        tell: Callable[[str], None],
        plain: Callable[[], LogForm],
        learn: Learn | None,
    ) -> None:
        self._ring = ring
        self._session = session = TapSession(
            options, tell, earlier=ring.earlier, stored_seq=ring.stored_seq, learn=learn
        )
        self._recorder = recorder = session.recorder
        self._tapped: TappedLines | TappedExchanges
        if options.wire == "stdio":
            self._tapped = TappedLines(recorder, session.place, options.name, is_whole=session.is_first)
        else:
            is_mcp = options.wire == "http"
            connections = Connections(recorder, options.name, is_mcp=is_mcp, is_whole=session.is_first)
            self._tapped = TappedExchanges(recorder, connections, session.place, tell)
        self._log: TapLog | None = None
        if options.log:
            form, file = (plain(), 2) if options.log_file < 0 else (LogForm(), options.log_file)
            self._log = TapLog(form, file, options.log, tell)
            self._log.begin(session.info, recorder.redactor.text, is_first=session.is_first)
        self._over_at: float | None = None  # when the relay ended
        self._is_hurried = False  # waits no longer for a locked database or a slow log, once the relay has ended
        signal.signal(signal.SIGTERM, self._hurry)

    def _hurry(self, _number: int, _frame: object) -> None:
        self._is_hurried = True

    def run(self) -> None:
        """Record everything. Raises LostDatabaseError if the database is no longer the one that was opened."""
        pause = SHORTEST_PAUSE
        while not self._is_done():
            pause = SHORTEST_PAUSE if self._step() else min(2 * pause, LONGEST_PAUSE)
            if self._over_at is not None:
                time.sleep(SHORTEST_PAUSE if self._recorder.left else 0)
            elif ready(0, select.POLLIN, pause):  # the lifeline's end: nothing is written there
                self._over_at = time.monotonic()
                _end_server_of_killed_relay(self._ring)
                _share_processor(0)  # no traffic passes any more, and somebody may wait for the rest
        self._tapped.finish()
        is_kept = self._session.close()
        if self._log is not None:
            self._log.finish(self._recorder, 0 if self._is_hurried else LOG_SECONDS)
        if is_kept:
            self._ring.free(self._recorder.reached)

    def _step(self) -> bool:
        """Record what has come, and free it once it is stored; returns whether there was anything."""
        session, ring = self._session, self._ring
        session.look()
        items: list[Item] = []
        # A later recorder first has to see what is stored.
        if (session.is_first or session.store is not None) and ring.unfreed < MOST_UNSTORED:
            items = ring.read()
        for item in items:
            self._tapped.take(item)
        is_kept = session.keep()
        is_logged = self._log is not None and self._log.follow(self._recorder)
        # While the database cannot be written, a log that has everything keeps it.
        if is_kept or (is_logged and session.fault):
            ring.free(self._recorder.reached)
        is_complete = self._log is None or (is_logged and self._over_at is not None)
        ring.words[IS_WELL] = session.store is not None and not session.fault and is_complete
        return bool(items)

    def _is_done(self) -> bool:
        """Whether the relay has ended, and everything is stored or nothing more can be done."""
        if self._over_at is None:
            return False
        fault = self._session.fault
        if not (fault or self._ring.has_more or self._recorder.left):
            return True
        patience = LOCKED_SECONDS if fault.endswith(LOCKED) else FAULTY_SECONDS  # a lock may end at any moment
        return bool(fault) and (self._is_hurried or time.monotonic() - self._over_at > patience)


def _end_server_of_killed_relay(ring: RingReader) -> None:
    """End the server if the relay has ended without a word, as the server would have ended without a tap."""
    group = ring.words[GROUP]
    if group and not ring.words[IS_ENDED] and ready(0, select.POLLIN, 0):
        with suppress(OSError):  # it has ended
            os.kill(group, signal.SIGKILL)
        end_groups({group})  # the rest of the server's group, with which the host has nothing to do


def _share_processor(nice: int) -> None:
    """Set the niceness of this process's session, which unlike a process's own can be undone.

    Source: sched(7), The autogroup feature.
    """
    with suppress(OSError):  # the system lacks this feature, or was asked too often
        Path("/proc/self/autogroup").write_text(str(nice))
