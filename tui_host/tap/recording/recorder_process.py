"""The recorder's process, as the relay sees it. Imported before the first byte flows.

The recorder is forked: starting another interpreter would take time from the server's start. It has its own session and
process group. The relay never waits for it, and it outlives a killed relay until everything in the journal is recorded.
If the recorder dies, what it had taken and not stored is lost, counted and told, and the relay forks another.
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

    from tui_host.tap.recording.log_writer import Log

    PlainLog: TypeAlias = Callable[[Callable[[str], None]], Log]

LAST_WORDS = 5.0
"""Seconds that the relay's end waits for news if recording seems to fail."""
NOTICES_SECONDS = 0.25
"""Seconds that the relay's end may take to pass on notices."""
_CLOSING, _CLOSED = 0.1, 2.0
"""Seconds to wait for the end of a recorder that has closed its notices: at the tap's end, and before."""
FIRST_REST, LONGEST_REST = 0.1, 4.0
"""Shortest and longest pause between two recorders that die at once, in seconds."""
MOST_NOTICES = 1000
"""Largest number of different sentences to print; a web page could cause any number."""


def told_once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Wrap a function so that it tells each sentence only once."""
    sentences: set[str] = set()

    def tell_once(words: str) -> None:
        if words not in sentences and len(sentences) < MOST_NOTICES:
            sentences.add(words)
            tell(words)

    return tell_once


class RecorderOptions:
    """What to record, and where.

    Attributes:
        title: The session's title.
        data_dir: `--data-dir DIR`.
        log: `--log FILE`, `-` for plain lines on standard error.
        log_file: The descriptor that appends to that file; None without a file.
        began_ns: Time when the tap began, on the wall clock.
        seed: Random bytes for the session's id.
        plain_log: Makes a log of plain lines from a function that writes a line; called for `--log -`.
        command: The server's command, which may contain credentials; empty if there is none.
        terminal: The path of the terminal or file of standard error, for messages after the tap's end; or None.

    Raises:
        NoLogError: The log's file cannot be written, or is not a log.
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
    """The recorder's descriptors of the channel, and what earlier recorders left.

    Attributes:
        journal: The bytes that passed.
        lifeline: Reports the server's process group. If it closes without `BYE`, the relay was killed.
        notices: Takes messages for the user, and reports for the relay.
        follows_another: Whether an earlier recorder has died.
        lost_bytes: Number of bytes that earlier recorders lost since the user was last told.
        said: What the relay sent on the lifeline before this recorder began.
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
    """The relay's view of the recorder: forks it, passes on its notices, and forks a new one if it dies.

    Args:
        work: What the recorder runs. It has only its ends and `file` as descriptors.
        tell: Receives messages for the user.
        file: A further descriptor that the recorder needs; None for none.
        room: Largest number of bytes that wait in memory.

    Raises:
        OSError: No process can be forked, or too many files are open.
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
        self._line = b""  # the beginning of an incomplete notice
        self._is_ending = False
        self._is_hurried = threading.Event()
        self._has_news = threading.Event()
        self._lifeline_sent = b""  # sent on the lifeline so far
        self._deaths = 0  # deaths since a recorder last reported that all is well
        self._lost_bytes = 0
        self._is_gap_told = False
        self._lifeline, self._notices, self._process = self._fork()

    def guard(self, group: int) -> None:
        """Tell the recorder to end the server's process group if the relay is killed, also together with the relay's own group."""
        self._say(b"%d\n" % group)
        while self._is_in_own_group():
            time.sleep(0.001)

    def _is_in_own_group(self) -> bool:
        """Whether the recorder has just been forked, and a signal to the relay's process group would reach it."""
        process = self._process
        try:
            return process != 0 and os.getpgid(process) == os.getpgrp()
        except ProcessLookupError:  # it has ended
            return False

    def _say(self, line: bytes) -> None:
        with self._changing:
            self._lifeline_sent += line
            write(self._lifeline, line)

    def writer(self, call_soon: Callable[[Callable[[], None]], object] | None = None) -> ChannelWriter:
        """Begin to report and to pass on notices. Call only once.

        Args:
            call_soon: The same as for `ChannelWriter`.

        Raises:
            OSError: The thread cannot start.
        """
        self._writer = ChannelWriter(self._journal, call_soon)
        Thread(self._listen)
        return self._writer

    def cancel(self) -> None:
        """End the recorder, because nothing has passed."""
        with self._changing:
            self._is_ending = True
            process, self._process = self._process, 0
        if process:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)

    def end(self) -> None:
        """Stop reporting. Waits only if recording seems to fail, to pass on the reason."""
        self._say(BYE)
        with self._changing:
            if not (self._process and is_running(self._process)):
                self._note_death()
                self._fork_another()
            self._is_ending = True
            is_recording = self._process != 0
            os.close(self._lifeline)
        self._is_hurried.set()
        self._writer.close()
        if not is_recording:
            self._tell_lost("no recorder is running")
        else:
            self._pass_rest()
            if not self._has_news.wait(LAST_WORDS):
                self._tell(
                    "the end is not recorded yet; recording continues by itself once the database can be written"
                )
            self._pass_rest()

    # Notices.

    def _listen(self) -> None:
        """Pass on notices, and replace dead recorders, until the relay ends."""
        while True:
            notices = self._notices
            self._pass_notices(notices)
            with self._changing:
                if self._notices == notices:
                    self._note_death()
                    if self._is_ending:
                        break
            self._is_hurried.wait(self._rest)
            with self._changing:
                if self._notices == notices and not self._is_ending:
                    self._fork_another()
                if self._notices != notices:
                    os.close(notices)
        self._has_news.set()

    def _pass_notices(self, descriptor: int) -> None:
        """Pass on notices until the recorder closes them; meanwhile check that the recorder makes progress."""
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
        """Pass on notices that are already on their way, waiting only a moment."""
        until = time.monotonic() + NOTICES_SECONDS
        while (left := until - time.monotonic()) > 0 and self._passing.acquire(timeout=left):
            has_passed = self._pass_some(self._notices)
            self._passing.release()
            if not has_passed:
                break

    def _pass_some(self, descriptor: int) -> bytes | None:
        """Pass on the notices at hand, one thread at a time; returns None if there are none, and empty bytes at the end."""
        notices = select.poll()
        notices.register(descriptor, select.POLLIN)
        if not notices.poll(0):
            return None
        chunk = read(descriptor)  # also empty if the descriptor was closed, because nothing is relayed after all
        *lines, self._line = (self._line + chunk).split(b"\n")
        if not chunk and self._line:  # the recorder was killed in the middle of a line
            lines, self._line = [self._line], b""
        for line in lines:
            self._pass_notice(line + b"\n")
        return chunk

    def _pass_notice(self, line: bytes) -> None:
        if line == HOPEFUL:
            self._has_news.set()
        elif line == DOUBTFUL:
            self._has_news.clear()
        elif line == TAKEN:
            self._writer.make_room()
        else:
            write(2, line)

    # The recorder's death.

    def _note_death(self) -> None:
        """Count and report the losses of a dead recorder; an orderly end does not count."""
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
                    f"recording was interrupted: the recorder {how}; everything passes, and another recorder starts"
                )
            else:
                self._tell_gap(f"the recorder {how}, again and again")
        self._process = 0  # set after telling: whoever sees it may end

    def _tell_lost(self, why: str) -> None:
        """Tell the user how many bytes at most are lost."""
        if lost := self._journal.left + self._journal.held + self._lost_bytes:
            self._tell(f"up to {lost:,} bytes of the traffic are lost: {why}")

    def _tell_gap(self, why: str) -> None:
        """Tell the user that nothing is recorded for now. Later calls are silent until recording resumes."""
        if not self._is_gap_told:
            self._is_gap_told = True
            self._tell(
                f"nothing is recorded for now: {why}; everything passes and waits, and another recorder is tried soon"
            )

    @property
    def _rest(self) -> float:
        """Return the seconds to wait before forking the next recorder."""
        return min(FIRST_REST * 2.0**self._deaths, LONGEST_REST) if self._deaths > 1 else 0

    def _fork_another(self) -> None:
        """Fork a new recorder. A failure is told to the user, and the fork is tried again later."""
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
        self._has_news.clear()

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
                said=self._lifeline_sent,  # the recorder needs it if the relay is killed right now
            )
            kept = (lifeline, notices, *self._journal.descriptors)
            _detached(lambda: self._work(ends), kept if self._file is None else (*kept, self._file))
        self._journal.add_only()
        for theirs in (lifeline, notices):
            os.close(theirs)
        return lifeline_write, notices_read, process


def _detached(work: Callable[[], None], kept: Sequence[int]) -> NoReturn:
    """Run in the forked process, which gets no signals sent to the tap's process group, and then exit.

    Args:
        work: The function to run.
        kept: The descriptors that the function needs.
    """
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):  # handlers of the relay
                signal.signal(number, signal.SIG_DFL)
        _close_all_but(sorted(kept))
        work()
    finally:
        os._exit(0)


def _close_all_but(kept: Sequence[int]) -> None:
    """Close all other descriptors: the reader of an open pipe would wait for this process.

    Files stay open, since no process waits for them: messages after the tap's end may go there.
    """
    highest = min(os.sysconf("SC_OPEN_MAX"), 1 << 16)
    for before, after in zip((2, *kept), (*kept, highest), strict=True):
        os.closerange(before + 1, after)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1) if stat.S_ISREG(os.fstat(2).st_mode) else (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
