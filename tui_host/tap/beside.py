"""The process that records beside a relay, as the relay sees it: begun before a byte flows, told what passes, never waited for.

It is forked: another interpreter would take the time that a server needs to start. Nothing that it does takes the relay's turn, it
has a session and a process group of its own, and it outlives a relay that is killed. Imported before the first byte flows.
Source: threats.md, PXY-09; performance.md, Relays.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import threading
import time

from tui_host.tap.descriptors import write
from tui_host.tap.journal import Journal
from tui_host.tap.log_file import open_log
from tui_host.tap.passing import BYE, HOPEFUL, TAKEN, Telling
from tui_host.tap.threads import Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn, TypeAlias

    from tui_host.tap.logged import Log

    Plain: TypeAlias = Callable[[Callable[[str], None]], Log]

LAST_WORDS = 5.0
"""Seconds that the end may wait for what is wrong with recording, where something seems to be."""


class Asked:
    """What the process is asked to record.

    Attributes:
        title: What its session is called.
        data_dir: `--data-dir DIR`.
        log: `--log FILE`, `-` for plain lines on standard error.
        log_file: That file, to be appended to; None for none.
        began_ns: When the tap began, on the wall clock.
        plain: What makes lines for a person, given what writes one; called where `--log -` asks for them.
        command: A server's, in which credentials may stand; empty where there is none.
        terminal: The one that standard error is, None if it is none: a person there can be told things when the tap has ended.

    Raises:
        NoLogError: The log's file cannot be written to, or should not be.
    """

    def __init__(
        self, title: str, *, data_dir: str | None, log: str | None, plain: Plain, command: Sequence[str] = ()
    ) -> None:
        self.title = title
        self.data_dir = data_dir
        self.log = log
        self.plain = plain
        self.command = command
        self.log_file = self._open_log()
        self.began_ns = time.time_ns()
        try:
            self.terminal = os.ttyname(2)
        except OSError:
            self.terminal = None

    def _open_log(self) -> int | None:
        if self.log is None or self.log == "-":
            return None
        return open_log(self.log)


class Ends:
    """The process's ends of what leads to the relay, and from it.

    Attributes:
        journal: What passed.
        lifeline: Where it is told a server's group; its end without `BYE` is the relay's.
        notices: Takes what a person should be told, a line each, and what the relay should know.
    """

    def __init__(self, journal: Journal, *, lifeline: int, notices: int) -> None:
        self.journal = journal
        self.lifeline = lifeline
        self.notices = notices


class Beside:
    """The relay's ends of the same.

    Args:
        tell: Takes a sentence for a person.
        journal: Where it is told what passes.
        lifeline: The other end of the process's.
        notices: The other end of the process's.
        process: Its id.
    """

    def __init__(
        self, tell: Callable[[str], None], *, journal: Journal, lifeline: int, notices: int, process: int
    ) -> None:
        self._tell = tell
        self._process = process
        self._speaking = threading.Lock()  # who finds it told has to find it written: the end may follow at once
        self._journal = journal
        self._lifeline = lifeline
        self._notices = notices
        self._is_ending = False

    def guard(self, group: int) -> None:
        """If the relay is killed, this server's group is to be ended."""
        write(self._lifeline, b"%d\n" % group)

    def telling(self, soon: Callable[[Callable[[], None]], object] | None = None) -> Telling:
        """Begin to tell, once; what comes back is passed on to a person.

        Args:
            soon: As `Telling` has it.

        Raises:
            OSError: There can be no other thread.
        """
        self._telling = Telling(self._journal, soon)
        self._begin()
        return self._telling

    def _begin(self) -> None:
        self._speaking = threading.Lock()  # in a forked process nobody gives back the one from before
        self._is_known = threading.Event()
        self._listening = Thread(self._pass_notices)

    def fork(self) -> int:
        """As `os.fork`: the child goes on in the relay's place, and the parent, whose end waits for nothing more, is to end.

        Raises:
            OSError: There can be no other process; or, in it, no other thread.
        """
        child = self._telling.fork()
        if not child:
            write(self._lifeline, BYE)  # its server has ended: if this one is killed, nobody is to be ended for it
            self._begin()
            self._is_known.set()  # it may have been told to the parent
        return child

    def undo(self) -> None:
        """As if it had never begun: nothing has passed."""
        with self._speaking:
            self._is_ending = True
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)

    def end(self) -> None:
        """Nothing follows. What waits to be recorded waits no longer here, unless it seems that it cannot be."""
        with self._speaking:
            self._is_ending = not self._has_broken_down()
        write(self._lifeline, BYE)
        self._telling.close()
        if not self._is_ending:
            self._listening.wait(LAST_WORDS)  # that is told before the end, too, where it has just happened
        elif not self._is_known.wait(LAST_WORDS):
            self._tell("the end is not recorded yet; that goes on by itself, if the database lets it")

    def _has_broken_down(self) -> bool:
        """Whether nobody is left who could give notice: who ends in order waits for the relay's end."""
        others_end = select.poll()
        others_end.register(self._notices, 0)
        return bool(others_end.poll(0))

    def _pass_notices(self) -> None:
        with os.fdopen(self._notices, "rb", closefd=False) as notices:
            for line in notices:
                if line == HOPEFUL:
                    self._is_known.set()
                elif line == TAKEN:
                    self._telling.taken()
                else:
                    write(2, line)
        with self._speaking:
            if not self._is_ending:
                self._telling.give_up()
                self._tell("recording has broken down; everything is passed on, nothing more is recorded")
        self._is_known.set()


def begin(work: Callable[[Ends], None], tell: Callable[[str], None], file: int | None) -> Beside:
    """Do this in a process of its own, which has no other descriptors than its ends, and this one's file.

    Raises:
        OSError: There can be no other process, or too many files are open.
    """
    journal = Journal()
    lifeline, lifeline_write = os.pipe()
    notices_read, notices = os.pipe()
    process = os.fork()
    if process == 0:
        _apart(work, Ends(journal, lifeline=lifeline, notices=notices), file)
    journal.add_only()
    for theirs in (lifeline, notices, file):
        if theirs is not None:
            os.close(theirs)
    return Beside(tell, journal=journal, lifeline=lifeline_write, notices=notices_read, process=process)


def _apart(work: Callable[[Ends], None], ends: Ends, file: int | None) -> NoReturn:
    """In a process just forked: do this where no signal to the tap's group comes, and then end."""
    try:
        os.setsid()
        kept = (ends.lifeline, ends.notices, *ends.journal.descriptors)
        _keep_alone(sorted(kept if file is None else (*kept, file)))
        work(ends)
    finally:
        os._exit(0)


def _keep_alone(kept: Sequence[int]) -> None:
    """Hold no other descriptor: whoever waits for the end of one would wait for this process too.

    A file keeps nobody waiting. Where standard error is one, a person reads there what is known when the tap has ended.
    """
    highest = min(os.sysconf("SC_OPEN_MAX"), 1 << 16)
    for before, after in zip((2, *kept), (*kept, highest), strict=True):
        os.closerange(before + 1, after)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1) if stat.S_ISREG(os.fstat(2).st_mode) else (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
