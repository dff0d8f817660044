"""The recorder's process, as seen by the relay. Imported before the first byte flows.

The recorder is forked, since another interpreter would take the time that a server needs to start. It has a session and a process group of
its own, the relay never waits for it, and it outlives a relay that is killed until it has recorded everything in the journal. If the
recorder dies, what it had taken and not kept is lost, counted and told, and the relay forks another.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import threading
import time

from tui_host.tap.descriptors import read, write
from tui_host.tap.recording.channel_write import BYE, DOUBTFUL, HOPEFUL, TAKEN, ChannelWriter
from tui_host.tap.recording.journal import ROOM, Journal
from tui_host.tap.recording.log_file import open_log
from tui_host.tap.recording.recorder_watch import LOOK_SECONDS, StandstillWatch, death_of, is_running
from tui_host.tap.threads import Thread, fork

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn, TypeAlias

    from tui_host.tap.recording.record_log import Log

    PlainLog: TypeAlias = Callable[[Callable[[str], None]], Log]

LAST_WORDS = 5.0
"""Seconds that the relay's end waits for news where recording seems to fail."""
NOTICES_SECONDS = 0.25
"""Seconds that the relay's end may take to pass on notices."""
_CLOSING, _CLOSED = 0.1, 2.0
"""Seconds for a recorder without notices to end: at the tap's end, and before."""
FIRST_REST, LONGEST_REST = 0.1, 4.0
"""Seconds between two recorders, where each dies at once."""
MOST_NOTICES = 1000
"""Different sentences to tell, at most; a web page could cause any number."""


def told_once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Wrap a function to tell each sentence only once."""
    sentences: set[str] = set()

    def tell_once(words: str) -> None:
        if words not in sentences and len(sentences) < MOST_NOTICES:
            sentences.add(words)
            tell(words)

    return tell_once


class RecorderOptions:
    """What to record.

    Attributes:
        title: The session's title.
        data_dir: `--data-dir DIR`.
        log: `--log FILE`, `-` for plain lines on standard error.
        log_file: The descriptor that appends to that file; None for none.
        began_ns: When the tap began, on the wall clock.
        seed: Random bytes in the session's id.
        plain_log: Makes a log of plain lines, given what writes a line; called for `--log -`.
        command: A server's command, which may contain credentials; empty where there is none.
        terminal: The terminal that standard error is, where a person can be told things after the tap's end; None if it is none.

    Raises:
        NoLogError: The log's file cannot be written to, or should not be.
    """

    def __init__(
        self, title: str, *, data_dir: str | None, log: str | None, plain_log: PlainLog, command: Sequence[str] = ()
    ) -> None:
        self.title = title
        self.data_dir = data_dir
        self.log = log
        self.plain_log = plain_log
        self.command = command
        self.log_file = None if log is None or log == "-" else open_log(log)
        self.began_ns = time.time_ns()
        self.seed = os.urandom(8)
        try:
            self.terminal = os.ttyname(2)
        except OSError:
            self.terminal = None


class RecorderEnds:
    """The recorder's ends of the channel.

    Attributes:
        journal: What passed.
        lifeline: Reports the server's process group; its end without `BYE` means that the relay was killed.
        notices: Takes lines for a person, and what the relay should know.
        follows_another: A recorder before this one died.
        lost_bytes: What recorders before this one lost, since it was last told what is missing.
        said: What was said on the lifeline before this recorder began.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        lifeline: int,
        notices: int,
        follows_another: bool = False,
        lost_bytes: int = 0,
        said: bytes = b"",
    ) -> None:
        self.journal = journal
        self.lifeline = lifeline
        self.notices = notices
        self.follows_another = follows_another
        self.lost_bytes = lost_bytes
        self.said = said


class RecorderProcess:
    """The relay's end: forks the recorder, passes on notices, and forks a new recorder after a death.

    Args:
        work: What the recorder does; it has no descriptors but its ends and the file.
        tell: Takes a sentence for a person.
        file: A descriptor that the recorder needs besides; None for none.
        room: Bytes that may wait in memory.

    Raises:
        OSError: There can be no other process, or too many files are open.
    """

    def __init__(
        self, work: Callable[[RecorderEnds], None], tell: Callable[[str], None], file: int | None, *, room: int = ROOM
    ) -> None:
        self._work = work
        self._tell = tell
        self._file = file
        self._journal = Journal(room)
        self._watch = StandstillWatch(self._journal, tell)
        self._changing = threading.RLock()
        self._passing = threading.Lock()
        self._line = b""  # the beginning of a notice
        self._is_ending = False
        self._said = b""  # on the lifeline
        self._deaths = 0  # since a recorder was well
        self._lost_bytes = 0
        self._is_gap_told = False
        self._lifeline, self._notices, self._process = self._fork()

    def guard(self, group: int) -> None:
        """Have the recorder end the server's process group if the relay is killed."""
        self._say(b"%d\n" % group)

    def _say(self, line: bytes) -> None:
        with self._changing:
            self._said += line
            write(self._lifeline, line)

    def writer(self, call_soon: Callable[[Callable[[], None]], object] | None = None) -> ChannelWriter:
        """Begin to report and to pass on notices. Call once.

        Args:
            call_soon: As `ChannelWriter` has it.

        Raises:
            OSError: There can be no other thread.
        """
        self._writer = ChannelWriter(self._journal, call_soon)
        self._begin()
        return self._writer

    def _begin(self) -> None:
        self._changing = threading.RLock()  # in a forked process nobody releases the one from before
        self._passing = threading.Lock()
        self._is_ending = False
        self._is_hurried = threading.Event()
        self._is_known = threading.Event()
        Thread(self._listen)

    def fork(self) -> int:
        """As `os.fork`: the child goes on in the relay's place, and the parent is to end without waiting for anything.

        Raises:
            OSError: There can be no other process; or, in the child, no other thread.
        """
        with self._changing:
            child = self._writer.fork()
            self._is_ending = True  # in the parent: from now on recorders are forked by the child
        if not child:
            self._begin()
            self._is_known.set()  # the parent may have heard of it
            self._say(BYE)  # the server has ended: nobody is to be ended if this process is killed
        return child

    def undo(self) -> None:
        """End the recorder: nothing has passed."""
        with self._changing:
            self._is_ending = True
            process, self._process = self._process, 0
        if process:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)

    def end(self) -> None:
        """Report nothing more. Waits only where recording seems to fail, to pass on why."""
        self._say(BYE)
        with self._changing:
            if not (self._process and is_running(self._process)):
                self._bury()
                self._fork_another()
            self._is_ending = True
            is_recording = self._process != 0
            os.close(self._lifeline)
        self._is_hurried.set()
        self._writer.close()
        if not is_recording:
            self._tell_lost("there is no recorder")
        else:
            self._pass_rest()
            if not self._is_known.wait(LAST_WORDS):
                self._tell("the end is not recorded yet; that goes on by itself, if the database lets it")
            self._pass_rest()

    # Notices.

    def _listen(self) -> None:
        """Pass on notices, and replace dead recorders, until the relay ends."""
        while True:
            notices = self._notices
            self._pass_notices(notices)
            with self._changing:
                if self._notices == notices:
                    self._bury()
                    if self._is_ending:
                        break
            self._is_hurried.wait(self._rest)
            with self._changing:
                if self._notices == notices and not self._is_ending:
                    self._fork_another()
                if self._notices != notices:
                    os.close(notices)
        self._is_known.set()

    def _pass_notices(self, descriptor: int) -> None:
        """Pass on notices to their end, and look meanwhile whether the recorder gets on."""
        notices = select.poll()
        notices.register(descriptor, select.POLLIN)
        while True:
            if notices.poll(1000 * LOOK_SECONDS):
                with self._passing:
                    if self._pass_some(descriptor) == b"":
                        break
            if not self._is_ending:
                self._watch.look()

    def _pass_rest(self) -> None:
        """Pass on notices already on their way, for a moment at most."""
        until = time.monotonic() + NOTICES_SECONDS
        while (left := until - time.monotonic()) > 0 and self._passing.acquire(timeout=left):
            has_passed = self._pass_some(self._notices)
            self._passing.release()
            if not has_passed:
                break

    def _pass_some(self, descriptor: int) -> bytes | None:
        """Pass on the notices at hand, in a single thread at a time; returns None for nothing, and empty bytes at the end."""
        notices = select.poll()
        notices.register(descriptor, select.POLLIN)
        if not notices.poll(0):
            return None
        chunk = read(descriptor)  # empty too where it was closed, since nothing is relayed after all
        *lines, self._line = (self._line + chunk).split(b"\n")
        if not chunk and self._line:  # the recorder was killed within a line
            lines, self._line = [self._line], b""
        for line in lines:
            self._pass_notice(line + b"\n")
        return chunk

    def _pass_notice(self, line: bytes) -> None:
        if line == HOPEFUL:
            self._is_known.set()
        elif line == DOUBTFUL:
            self._is_known.clear()
        elif line == TAKEN:
            self._writer.make_room()
        else:
            write(2, line)

    # The recorder's death.

    def _bury(self) -> None:
        """Count and tell a dead recorder's losses; an orderly end is no death."""
        patience = _CLOSING if self._is_ending else _CLOSED
        how = death_of(self._process, patience) if self._process else ""
        if how:
            is_first = self._journal.is_well or not self._deaths
            if self._journal.is_well:
                self._deaths = self._lost_bytes = 0
            self._deaths += 1
            self._lost_bytes += self._journal.give_up()
            if self._is_ending:
                self._tell_lost(f"the recorder {how}")
            elif is_first:
                self._is_gap_told = False
                self._tell(
                    f"recording has broken off: the recorder {how}; everything is passed on, and another one begins"
                )
            else:
                self._tell_gap(f"the recorder {how}, again and again")
        self._process = 0  # once it is told: whoever sees this may end

    def _tell_lost(self, why: str) -> None:
        """Tell how much at most nobody records any more."""
        if lost := self._journal.left + self._journal.held + self._lost_bytes:
            self._tell(f"up to {lost:,} bytes of what passed are lost: {why}")

    def _tell_gap(self, why: str) -> None:
        """Tell that nothing is recorded for now. Later calls are silent until recording goes on."""
        if not self._is_gap_told:
            self._is_gap_told = True
            self._tell(
                f"nothing is recorded for now: {why}; everything is passed on and waits, and that is tried again"
            )

    @property
    def _rest(self) -> float:
        """Seconds to wait before the next recorder is forked."""
        return min(FIRST_REST * 2.0**self._deaths, LONGEST_REST) if self._deaths > 1 else 0

    def _fork_another(self) -> None:
        """Fork a new recorder; a failure is told, and retried later."""
        self._watch.restart()
        before = self._lifeline
        try:
            self._writer.begin_anew()
            self._lifeline, self._notices, self._process = self._fork(follows_another=True)
        except OSError as error:
            self._deaths += 1
            self._tell_gap(f"no recorder can be started: {error.strerror or error}")
            return
        os.close(before)
        self._is_known.clear()

    def _fork(self, *, follows_another: bool = False) -> tuple[int, int, int]:
        """Fork a recorder; returns the relay's ends and the process id."""
        opened: list[int] = []
        try:
            lifeline, lifeline_write = os.pipe()
            opened += lifeline, lifeline_write
            notices_read, notices = os.pipe()
            opened += notices_read, notices
            process = fork()
        except OSError:
            for descriptor in opened:
                os.close(descriptor)
            raise
        if process == 0:
            ends = RecorderEnds(
                self._journal,
                lifeline=lifeline,
                notices=notices,
                follows_another=follows_another,
                lost_bytes=self._lost_bytes,
                said=self._said,  # it has it, should the relay be killed right now
            )
            kept = (lifeline, notices, *self._journal.descriptors)
            _detached(lambda: self._work(ends), kept if self._file is None else (*kept, self._file))
        self._journal.add_only()
        for theirs in (lifeline, notices):
            os.close(theirs)
        return lifeline_write, notices_read, process


def _detached(work: Callable[[], None], kept: Sequence[int]) -> NoReturn:
    """Run in the forked process, where no signal to the tap's process group comes, and then end.

    Args:
        work: What to do.
        kept: The descriptors that it needs.
    """
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):  # the relay's
                signal.signal(number, signal.SIG_DFL)
        _close_all_but(sorted(kept))
        work()
    finally:
        os._exit(0)


def _close_all_but(kept: Sequence[int]) -> None:
    """Close all descriptors except these: an open pipe would keep its reader waiting for this process.

    A file keeps nobody waiting. Where standard error is one, a person reads there what is known after the tap's end.
    """
    highest = min(os.sysconf("SC_OPEN_MAX"), 1 << 16)
    for before, after in zip((2, *kept), (*kept, highest), strict=True):
        os.closerange(before + 1, after)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1) if stat.S_ISREG(os.fstat(2).st_mode) else (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
