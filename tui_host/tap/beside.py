"""The process that records beside a relay, as the relay sees it: begun before a byte flows, told what passes, never waited for.

It is forked: another interpreter would take the time that a server needs to start. Nothing that it does takes the relay's turn, it
has a session and a process group of its own, and it outlives a relay that is killed. Imported before the first byte flows.
Source: threats.md, PXY-09; performance.md, Relays.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time

from tui_host.tap.descriptors import write
from tui_host.tap.passing import BYE, CONSUMED, HOPEFUL, Telling, open_spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

LAST_WORDS = 5.0
"""Seconds that the end may wait for what is wrong with recording, where something seems to be."""

FIRST_KEPT = 3
"""The lowest descriptor of those that a process of its own is given."""


class Asked:
    """What the process is asked to record.

    Attributes:
        title: What its session is called.
        data_dir: `--data-dir DIR`.
        log: `--log FILE`, `-` for plain lines on standard error.
        began_ns: When the tap began, on the wall clock.
        terminal: The one that standard error is, None if it is none: a person there can be told things when the tap has ended.
    """

    def __init__(self, title: str, *, data_dir: str | None, log: str | None) -> None:
        self.title = title
        self.data_dir = data_dir
        self.log = log
        self.began_ns = time.time_ns()
        try:
            self.terminal = os.ttyname(2)
        except OSError:
            self.terminal = None


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
        self._is_ending = self._is_broken = False

    def guard(self, group: int) -> None:
        """If the relay is killed, this server's group is to be ended."""
        write(self._lifeline, b"%d\n" % group)

    def telling(self, later: Callable[[float, Callable[[], None]], object] | None = None) -> Telling:
        """Begin to tell, once; what comes back is passed on to a person.

        Args:
            later: As `Telling` has it.
        """
        self._telling = Telling(self._records, self._spool, self._tell_of_recording, later)
        self._begin()
        return self._telling

    def _begin(self) -> None:
        self._speaking = threading.Lock()  # who finds it told has to find it written: the end may follow at once
        self._is_known = threading.Event()
        threading.Thread(target=self._pass_notices, daemon=True).start()

    def fork(self) -> int:
        """As `os.fork`: the child goes on in the relay's place, and the parent, whose end waits for nothing more, is to end.

        Raises:
            OSError: There can be no other process.
        """
        child = self._telling.fork()
        if not child:
            write(self._lifeline, BYE)  # its server has ended: if this one is killed, nobody is to be ended for it
            self._telling.go_on()
            self._begin()
            self._is_known.set()  # it may have been told to the parent
        return child

    def end(self) -> None:
        """Nothing follows. What waits to be recorded waits no longer here, unless it seems that it cannot be."""
        with self._speaking:
            self._is_ending = True
        write(self._lifeline, BYE)
        try:
            if not self._telling.close() and self._telling.fork() == 0:
                _apart((self._records,), lambda: self._telling.finish(FIRST_KEPT))
        except OSError as error:
            self._tell(f"the end is not recorded: {error.strerror}")
        if not self._is_known.wait(LAST_WORDS):
            self._tell("the end is not recorded yet; that goes on by itself, if the database lets it")

    def _pass_notices(self) -> None:
        with os.fdopen(self._notices, "rb", closefd=False) as notices:
            for line in notices:
                if line == HOPEFUL:
                    self._is_known.set()
                elif line.startswith(CONSUMED):
                    self._telling.consumed(int(line[len(CONSUMED) :]))
                else:
                    write(2, line)
        if not self._is_ending:
            self._tell_of_recording()
        self._is_known.set()

    def _tell_of_recording(self) -> None:
        """Once: from where it is told to nobody, or from where nothing more comes back."""
        with self._speaking:
            if not self._is_broken:
                self._is_broken = True
                self._tell("recording has broken down; everything is passed on, nothing is recorded")


def begin(work: Callable[[], None], tell: Callable[[str], None]) -> Beside:
    """Do this in a process of its own, which has no descriptors but those in `recording_process`."""
    spool = open_spool()
    records, records_write = os.pipe()
    lifeline, lifeline_write = os.pipe()
    notices_read, notices = os.pipe()
    if os.fork() == 0:
        _apart((records, lifeline, notices, spool), work)
    for theirs in (records, lifeline, notices):
        os.close(theirs)
    return Beside(tell, records=records_write, lifeline=lifeline_write, notices=notices_read, spool=spool)


def _apart(kept: Sequence[int | None], work: Callable[[], None]) -> NoReturn:
    """In a process just forked: do this where no signal to the tap's group comes, and then end.

    Args:
        kept: Descriptors that it has; it finds them from `FIRST_KEPT` on.
        work: What it does.
    """
    try:
        os.setsid()
        _keep_alone(kept)
        work()
    finally:
        os._exit(0)


def _keep_alone(kept: Sequence[int | None]) -> None:
    """Hold no other descriptor: whoever waits for the end of one would wait for this process too.

    A file keeps nobody waiting. Where standard error is one, a person reads there what is known when the tap has ended.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    errors = 2 if stat.S_ISREG(os.fstat(2).st_mode) else nowhere
    all_kept = (nowhere, nowhere, errors, *(nowhere if each is None else each for each in kept))
    high = [
        fcntl.fcntl(descriptor, fcntl.F_DUPFD, 32) for descriptor in all_kept
    ]  # out of the way of the numbers that they get
    for number, descriptor in enumerate(high):
        os.dup2(descriptor, number)
    os.closerange(len(all_kept), min(os.sysconf("SC_OPEN_MAX"), 1 << 16))
