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
from typing import NoReturn, TypeAlias

from tui_host.capture.exports.jsonl_export import record_line, session_line
from tui_host.capture.record import Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.stdio.lines import Lines
from tui_host.capture.store.schema import LOCKED
from tui_host.capture.visible import visible
from tui_host.errors import TuiHostError
from tui_host.guard.core_dumps import leave_no_core
from tui_host.guard.watchdog import end_groups
from tui_host.tap.exchanges import Connections, TappedExchanges
from tui_host.tap.lines import TappedLines
from tui_host.tap.relay import ADDED, BEGIN_AGAIN, FREED, GROUP, IS_ENDED, IS_WELL, ready, told_once, write
from tui_host.tap.ring import RingReader
from tui_host.tap.session import Learn, LostDatabaseError, RecorderOptions, TapSession, Tell

IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGTSTP)
NICE = 10  # while bytes pass: the recorder gets about a tenth of a busy processor, and all of an idle one
KEEP_SECONDS = 1.0  # for one batch of records to be stored, before looking after other things
MOST_UNSTORED = 4 << 20  # bytes to take from the ring beyond those that are stored; the others wait there
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.25  # seconds between looks at the ring, after bytes and a while without any
LOCKED_SECONDS, FAULTY_SECONDS, LOG_SECONDS = 300.0, 1.0, 5.0
"""Seconds to wait at the end for a locked database, which may be free at any moment, a faulty one, and a log without progress."""
LOG_BYTES, LOG_RECORDS, LOG_LOOK_SECONDS = 1 << 20, 20, 0.02  # to write and to word at once; between looks at the end


class LogForm:
    """What a log says of a session: record lines, in the form of `sessions export --format jsonl`."""

    begin: Callable[[SessionInfo], bytes] = staticmethod(session_line)
    """Returns the beginning of a session's log."""
    line: Callable[[Record], bytes] = staticmethod(record_line)
    """Returns what the log says of the next record; may be empty."""


PlainForm: TypeAlias = Callable[[Callable[[str], str]], LogForm]
"""Makes the form of `--log -`, given what removes secrets that were compressed or in pieces in the records."""


class TapLog:
    """`--log`, an export that follows: appends to a file as far as its reader takes it, and never waits for him."""

    def __init__(self, form: LogForm, descriptor: int, name: str, session: TapSession, tell: Tell) -> None:
        os.set_blocking(descriptor, False)
        self._form, self._descriptor, self._name, self._tell = form, descriptor, name, tell
        self._recorder: Recorder = session.recorder
        beginning = form.begin(session.info)
        self._rest = beginning if session.is_first else b"\n"  # ends what the recorder before left unfinished
        self._is_closed = False
        self._seq = 0  # of the last record that was worded

    def follow(self) -> bool:
        """Write what is new as far as the reader takes it; returns whether there is nothing left to write."""
        try:
            while not self._is_closed:
                while self._rest:
                    self._rest = self._rest[os.write(self._descriptor, self._rest[:LOG_BYTES]) :]
                records = self._recorder.since(self._seq, limit=LOG_RECORDS)
                if not records:
                    break
                self._rest = b"".join(map(self._form.line, records))
                self._seq = records[-1].seq
        except BlockingIOError:
            return False  # the reader is slow
        except BrokenPipeError:
            self._is_closed = True
        except OSError as error:
            fault = error.strerror or error
            self._tell(f"the log {self._name} cannot be written: {fault}; the tap keeps trying (name another file)")
        except TuiHostError as error:
            self._tell(f"the log cannot read records back from the database: {error}; the tap keeps trying")
        return not self._rest and self._seq == self._recorder.last

    def finish(self, patience: float) -> None:
        """Write the rest unless there is no progress for so many seconds, and tell the user how much is missing."""
        until, left = time.monotonic() + patience, len(self._rest)
        while not (self.follow() or self._is_closed) and time.monotonic() < until:
            if left != len(self._rest):
                until, left = time.monotonic() + patience, len(self._rest)
            time.sleep(LOG_LOOK_SECONDS)
        if missing := self._recorder.last - self._seq + bool(self._rest):
            self._tell(f"the log lacks the last records: {missing:,}")


def _record_all(options: RecorderOptions, ring: RingReader, tell: Tell, plain: PlainForm) -> None:
    """Record all that comes in a ring. Raises LostDatabaseError if the database is no longer the one that was opened."""
    session = TapSession(options, tell)
    recorder, is_first = session.recorder, session.is_first
    log: TapLog | None = None
    if options.log:
        form, file = (plain(recorder.redactor.text), 2) if options.log_file < 0 else (LogForm(), options.log_file)
        log = TapLog(form, file, options.log, session, tell)
    if options.wire == "stdio":
        name, connection = options.name, recorder.new_connection(options.name)
        lines = Lines(recorder, peer=name, connection=connection, place=session.place, is_whole=is_first)
        tapped: TappedLines | TappedExchanges = TappedLines(lines)
    else:
        connections = Connections(recorder, options.name, is_mcp=options.wire == "http", is_whole=is_first)
        tapped = TappedExchanges(recorder, connections, session.place)
    pause, over_at, words = SHORTEST_PAUSE, 0.0, ring.words
    while not over_at or words[ADDED] != ring.taken or recorder.left or session.fault:
        patience = LOCKED_SECONDS if session.fault.endswith(LOCKED) else FAULTY_SECONDS
        if over_at and session.fault and time.monotonic() - over_at > patience:
            break
        # Record what has come. A later recorder first has to see what is stored.
        session.look()
        may_read = (is_first or session.store is not None) and ring.taken - words[FREED] < MOST_UNSTORED
        items = ring.read() if may_read else []
        for item in items:
            try:
                tapped.take(item)
            except Exception as error:  # noqa: BLE001 - whatever it is, what follows does not suffer for it
                tell(f"a part of the traffic is not recorded: {error!r}")
        # Free it once it is stored. While the database cannot be written, a log that has everything keeps it.
        if session.store is not None and recorder.left:
            recorder.flush(KEEP_SECONDS)
        is_kept = not recorder.left
        is_logged = log is not None and log.follow()
        if is_kept or (is_logged and session.fault):
            ring.free(recorder.reached)
        words[IS_WELL] = session.store is not None and not session.fault
        pause = SHORTEST_PAUSE if items or words[ADDED] != ring.taken else min(2 * pause, LONGEST_PAUSE)
        if over_at:
            time.sleep(SHORTEST_PAUSE if recorder.left else 0)
        elif ready(0, select.POLLIN, pause):  # the lifeline's end: nothing is written there
            over_at = time.monotonic()
            _end_server_of_killed_relay(ring)
            _share_processor(0)  # no traffic passes any more, and somebody may wait for the rest
    tapped.finish()
    is_kept = session.close()
    if log is not None:
        log.finish(LOG_SECONDS)
    if is_kept:
        ring.free(recorder.reached)


def record(words: Sequence[str], *, plain: PlainForm, learn: Learn | None = None) -> NoReturn:
    """Record until the relay ends, and then the rest. `plain` makes a form, `learn` what learns of the host."""
    leave_no_core()
    gc.enable()
    _share_processor(NICE)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    ring_file, wire, name, data_dir, log, log_file, began_ns, seed, *command = words
    ring = RingReader(int(ring_file))
    options = RecorderOptions(wire, name, data_dir, log, int(log_file), int(began_ns), seed, command)
    options = options._replace(earlier=ring.earlier, stored_seq=ring.stored_seq, learn=learn)

    def say(sentence: str) -> None:
        line = visible(f"tui-host tap {name}: {sentence}", newlines=False)
        write(2, f"{line}\n".encode(errors="backslashreplace"))

    code, last_words = 0, ""
    try:
        _record_all(options, ring, told_once(say), plain)
    except LostDatabaseError as error:
        code, last_words = BEGIN_AGAIN, f"recording begins anew: {error}"
    except Exception as error:  # noqa: BLE001 - the last resort: the relay starts another one, and its server is ended all the same
        code, last_words = 1, f"recording failed: {error!r}"
    if last_words:
        ring.words[IS_WELL] = 0  # first: a relay that ends right now has to wait for the next recorder
        say(last_words)
    _end_server_of_killed_relay(ring)
    os._exit(code)


def _end_server_of_killed_relay(ring: RingReader) -> None:
    """End the server if the relay has ended without a word, as the server would have ended without a tap."""
    group = ring.words[GROUP]
    if group and not ring.words[IS_ENDED] and ready(0, select.POLLIN, 0):
        with suppress(OSError):  # it has ended
            os.kill(group, signal.SIGKILL)
        end_groups({group})  # the rest of the server's group, with which the host has nothing to do


def _share_processor(nice: int) -> None:
    """Set the niceness of this process's session, which unlike a process's own can be undone: sched(7), autogroup."""
    with suppress(OSError):  # the system lacks this feature, or was asked too often
        Path("/proc/self/autogroup").write_text(str(nice))
