"""The process that records beside a relay, as the relay sees it: begun before a byte flows, told what passes, never waited for.

It is forked: another interpreter would take the time that a server needs to start. Nothing that it does takes the relay's turn, it
has a session and a process group of its own, and it outlives a relay that is killed. Imported before the first byte flows.
Source: threats.md, PXY-09; performance.md, Relays.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time

from tui_host.tap.descriptors import write
from tui_host.tap.passing import BYE, CONSUMED, Telling, open_spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LAST_WORDS = 2.0
"""Seconds that the end may wait until all is recorded; what is left then is recorded by a process that outlives the tap."""


class Asked:
    """What the process is asked to record.

    Attributes:
        title: What its session is called.
        data_dir: `--data-dir DIR`.
        log: `--log FILE`, `-` for plain lines on standard error.
        began_ns: When the tap began, on the wall clock.
    """

    def __init__(self, title: str, *, data_dir: str | None, log: str | None) -> None:
        self.title = title
        self.data_dir = data_dir
        self.log = log
        self.began_ns = time.time_ns()


class Beside:
    """The relay's ends of what leads to the process, and from it.

    Args:
        tell: Takes a sentence for a person.
        records: Where it is told what passes.
        lifeline: Where it is told a server's group; its end without `BYE` is the relay's.
        notices: What a person should be told, a line each, and what of the spool was read.
        spool: What finds no room in the pipe; None where there is no place for it.
    """

    def __init__(
        self, tell: Callable[[str], None], *, records: int, lifeline: int, notices: int, spool: int | None
    ) -> None:
        self._tell = tell
        self._records = records
        self._lifeline = lifeline
        self._notices = notices
        self._spool = spool
        self._noticing = threading.Thread(target=self._pass_notices, daemon=True)

    def guard(self, group: int) -> None:
        """If the relay is killed, this server's group is to be ended."""
        write(self._lifeline, b"%d\n" % group)

    def telling(self) -> Telling:
        """Begin to tell, once; what comes back is passed on to a person."""
        self._telling = Telling(self._records, self._spool, self._tell_of_recording)
        self._noticing.start()
        return self._telling

    def end(self) -> None:
        """Nothing follows: wait a while until all is recorded."""
        write(self._lifeline, BYE)
        self._telling.close(LAST_WORDS)
        self._noticing.join(LAST_WORDS)
        if self._noticing.is_alive():
            self._tell("the end is not recorded yet; that goes on by itself, if the database lets it")

    def _pass_notices(self) -> None:
        with os.fdopen(self._notices, "rb") as notices:
            for line in notices:
                if line.startswith(CONSUMED):
                    self._telling.consumed(int(line[len(CONSUMED) :]))
                else:
                    write(2, line)

    def _tell_of_recording(self) -> None:
        self._tell("recording has broken down; everything is passed on, nothing is recorded")


def begin(work: Callable[[], None], tell: Callable[[str], None]) -> Beside:
    """Do this in a process of its own, which has no descriptors but those in `recording_process`."""
    spool = open_spool()
    records, records_write = os.pipe()
    lifeline, lifeline_write = os.pipe()
    notices_read, notices = os.pipe()
    if os.fork() == 0:
        try:
            os.setsid()
            _keep_alone(records, lifeline, notices, spool)
            work()
        finally:
            os._exit(0)
    for theirs in (records, lifeline, notices):
        os.close(theirs)
    return Beside(tell, records=records_write, lifeline=lifeline_write, notices=notices_read, spool=spool)


def _keep_alone(records: int, lifeline: int, notices: int, spool: int | None) -> None:
    """Hold no other descriptor: whoever waits for the end of one would wait for this process too."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    kept = (nowhere, nowhere, nowhere, records, lifeline, notices, nowhere if spool is None else spool)
    high = [
        fcntl.fcntl(descriptor, fcntl.F_DUPFD, 32) for descriptor in kept
    ]  # out of the way of the numbers that they get
    for number, descriptor in enumerate(high):
        os.dup2(descriptor, number)
    os.closerange(len(kept), min(os.sysconf("SC_OPEN_MAX"), 1 << 16))
