"""The process that records beside a relay, as the relay sees it: begun before a byte flows, told what passes, never waited for.

It is forked: another interpreter would take the time that a server needs to start. Nothing that it does takes the relay's turn, it
has a session and a process group of its own, and it outlives a relay that is killed. Imported before the first byte flows.
Source: threats.md, PXY-09; performance.md, Relays.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time

from tui_host.tap.descriptors import READ_BYTES, write
from tui_host.tap.recording.channel_write import BYE, DOUBTFUL, HEARD, HOPEFUL, TAKEN, Telling
from tui_host.tap.recording.forked_child import apart, how_ended, is_there
from tui_host.tap.recording.journal import ROOM, Journal
from tui_host.tap.recording.log_file import open_log
from tui_host.tap.recording.recorder_watch import LOOK_SECONDS, Standstill
from tui_host.tap.threads import Thread, fork

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from tui_host.tap.recording.log_writer import Log

    Plain: TypeAlias = Callable[[Callable[[str], None]], Log]

LAST_WORDS = 5.0
"""Seconds that the end may wait for what is wrong with recording, where something seems to be."""
HEARING = 0.25
"""Seconds that the end may wait to be heard of: who was killed just before it, of which the relay may not know yet, does not."""
DYING = 2.0
"""Seconds that it may wait beyond, for who does not answer to do so after all, or to die, which takes long on a busy machine."""
_CLOSING, _CLOSED = 0.1, 2.0
"""Seconds that the end of who says nothing any more is waited for: as the tap ends, when he may have something to do yet, and before."""
DEATHS = 4
"""So often a process may die before it has got on; what it had taken is then left out: it may be that which it dies of."""
REST = 0.1
"""Seconds from one beginning to the next, at least, where each dies at once: as long as there is none, nobody would outlive the relay."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 4.0
"""Seconds that another leaves the processor alone before it goes on, where each dies: it is there, and ends that if the relay ends."""


class Asked:
    """What the process is asked to record.

    Attributes:
        title: What its session is called.
        data_dir: `--data-dir DIR`.
        log: `--log FILE`, `-` for plain lines on standard error.
        log_file: That file, to be appended to; None for none.
        began_ns: When the tap began, on the wall clock.
        seed: What it is told apart by from others that began then.
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
        self.seed = os.urandom(8)
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
        is_another: There was one before it, which died.
        pause: Seconds to leave the processor alone before anything else, unless the relay ends.
        said: What was said on the lifeline before it began.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        lifeline: int,
        notices: int,
        is_another: bool = False,
        pause: float = 0,
        said: bytes = b"",
    ) -> None:
        self.journal = journal
        self.lifeline = lifeline
        self.notices = notices
        self.is_another = is_another
        self.pause = pause
        self.said = said


class Beside:
    """The relay's ends of the same. If the process dies another is begun, which goes on from what the journal holds.

    Args:
        work: What the process does; it has no other descriptors than its ends, and the file.
        tell: Takes a sentence for a person.
        file: To be had by the process, None for none.
        room: Bytes that may wait in memory for the process, where the journal's own are too few.

    Raises:
        OSError: There can be no other process, or too many files are open.
    """

    def __init__(
        self, work: Callable[[Ends], None], tell: Callable[[str], None], file: int | None, *, room: int = ROOM
    ) -> None:
        self._work = work
        self._tell = tell
        self._file = file
        self._journal = Journal(room)
        self._standstill = Standstill(self._journal, tell)
        self._changing = threading.RLock()
        self._passing = threading.Lock()
        self._rest = b""  # of a line that has not come whole
        self._is_ending = False
        self._said = b""  # on the lifeline
        self._deaths = self._tries = self._kept = 0  # since it got on, as the last of them says
        self._is_pause_told = False
        self._tried_at = time.monotonic()
        self._lifeline, self._notices, self._process = self._fork(is_another=False)

    def guard(self, group: int) -> None:
        """If the relay is killed, this server's group is to be ended."""
        self._say(b"%d\n" % group)

    def _say(self, line: bytes) -> None:
        with self._changing:
            self._said += line
            write(self._lifeline, line)

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
        self._changing = threading.RLock()  # in a forked process nobody gives back the one from before
        self._passing = threading.Lock()
        self._is_ending = False
        self._is_hurried = threading.Event()
        self._is_known = threading.Event()
        self._is_heard = threading.Event()
        Thread(self._listen)

    def fork(self) -> int:
        """As `os.fork`: the child goes on in the relay's place, and the parent, whose end waits for nothing more, is to end.

        Raises:
            OSError: There can be no other process; or, in it, no other thread.
        """
        with self._changing:
            child = self._telling.fork()
            self._is_ending = True  # in the parent: whoever is begun from now on is the child's
        if not child:
            self._begin()
            self._is_known.set()  # it may have been told to the parent
            self._say(BYE)  # its server has ended: if this one is killed, nobody is to be ended for it
        return child

    def undo(self) -> None:
        """As if it had never begun: nothing has passed."""
        with self._changing:
            self._is_ending = True
            process, self._process = self._process, 0
        if process:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)

    def end(self) -> None:
        """Nothing follows. What waits to be recorded waits no longer here, unless it seems that it cannot be."""
        self._is_heard.clear()
        self._say(BYE)
        is_heard = self._is_heard.wait(HEARING) or self._is_heard_late()  # by another, if this one has died
        with self._changing:
            if not is_heard and not self._is_one_there:
                self._bury()
                self._begin_another()  # on a busy machine nobody had come to it yet: it outlives this process
            self._is_ending = True
            is_recording = self._process != 0
            os.close(self._lifeline)
        self._is_hurried.set()
        self._telling.close()
        if not is_recording:
            self._tell_lost("nothing is there that records")
        else:
            self._pass_rest()
            if not self._is_known.wait(LAST_WORDS):  # what is wrong is told before the end, too
                self._tell("the end is not recorded yet; that goes on by itself, if the database lets it")
            self._pass_rest()

    def _is_heard_late(self) -> bool:
        until = time.monotonic() + DYING
        while self._is_one_there and time.monotonic() < until:
            if self._is_heard.wait(HEARING):
                return True
        return False

    @property
    def _is_one_there(self) -> bool:
        process = self._process
        return process != 0 and is_there(process)

    def _listen(self) -> None:
        """Pass on what the process says, and begin another where it dies, to the relay's end."""
        while True:
            notices = self._notices
            self._pass_notices(notices)
            with self._changing:
                if self._notices == notices:
                    self._bury()
                    if self._is_ending:
                        break
            self._is_hurried.wait(max(0.0, self._tried_at + REST - time.monotonic()))
            with self._changing:
                if self._notices == notices and not self._is_ending:
                    self._begin_another()
                if self._notices != notices:
                    os.close(notices)
        self._is_known.set()

    def _pass_notices(self, descriptor: int) -> None:
        """To their end; meanwhile it is looked whether it still records."""
        notices = select.poll()
        notices.register(descriptor, select.POLLIN)
        while True:
            if notices.poll(1000 * LOOK_SECONDS):
                with self._passing:
                    if self._pass_some(descriptor) == b"":
                        break
            if not self._is_ending:
                self._standstill.look()

    def _pass_rest(self) -> None:
        """Pass on what is on its way: as long as there is something, and no longer than a moment."""
        until = time.monotonic() + HEARING
        while (left := until - time.monotonic()) > 0 and self._passing.acquire(timeout=left):
            is_something = self._pass_some(self._notices)
            self._passing.release()
            if not is_something:
                break

    def _pass_some(self, descriptor: int) -> bytes | None:
        """In one thread at a time: what was there; None for nothing, and nothing at the end."""
        notices = select.poll()
        notices.register(descriptor, select.POLLIN)
        if not notices.poll(0):
            return None
        chunk = os.read(descriptor, READ_BYTES)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if not chunk and self._rest:  # it was killed within a line
            lines, self._rest = [self._rest], b""
        for line in lines:
            self._pass_notice(line + b"\n")
        return chunk

    def _pass_notice(self, line: bytes) -> None:
        if line == HOPEFUL:
            self._is_known.set()
        elif line == DOUBTFUL:
            self._is_known.clear()
        elif line == HEARD:
            self._is_heard.set()
        elif line == TAKEN:
            self._telling.taken()
        else:
            write(2, line)

    # Its death.

    def _bury(self) -> None:
        """Tell of its death, once until recording has gone on; who ends in order does not die."""
        unsettled = self._journal.unsettled
        if unsettled.kept > self._kept:
            self._deaths = self._tries = 0
            self._kept = unsettled.kept
        patience = _CLOSING if self._is_ending else _CLOSED
        if how := how_ended(self._process, patience) if self._process else "":
            self._tell_death(how)
        self._process = 0  # once it is told: whoever sees this may end

    def _tell_death(self, how: str) -> None:
        unsettled = self._journal.unsettled
        self._deaths += unsettled.is_at_work
        unsettled.is_at_work = False
        if self._deaths > DEATHS:
            unsettled.give_up()
        if self._is_ending:
            self._tell_lost(f"what records {how}")
        elif unsettled.is_told:
            unsettled.is_told = self._is_pause_told = False
            self._tell(
                f"recording has broken off: what records {how}; everything is passed on, and recording begins again"
            )
        elif self._pause:
            self._tell_pause(f"what records {how}, again and again")

    def _tell_lost(self, why: str) -> None:
        """Tell how much at most nobody records any more; nothing where all is kept, as it is where the process ended in order."""
        if lost := self._journal.left + self._journal.held + self._journal.unsettled.size(self._journal.taken):
            self._tell(f"up to {lost:,} bytes of what passed are lost: {why}")

    def _tell_pause(self, why: str) -> None:
        """Tell once until recording has gone on that it does not for now."""
        if not self._is_pause_told:
            self._is_pause_told = True
            self._tell(
                f"nothing is recorded for now: {why}; everything is passed on and waits, and that is tried again"
            )

    @property
    def _pause(self) -> float:
        """What the next is to wait: the first two nothing."""
        return min(FIRST_PAUSE * 2.0 ** (self._tries - 2), LONGEST_PAUSE) if self._tries > 1 else 0

    def _begin_another(self) -> None:
        """Fork one that goes on; where there can be none, that is tried again."""
        self._tried_at = time.monotonic()
        self._standstill.begin_anew()
        self._journal.unsettled.is_fault_told = False  # by this one
        before = self._lifeline
        try:
            self._telling.begin_anew()
            self._lifeline, self._notices, self._process = self._fork(is_another=True)
        except OSError as error:
            self._tell_pause(f"nothing can be begun that records: {error.strerror or error}")
            return
        self._tries += 1
        os.close(before)
        self._is_known.clear()

    def _fork(self, *, is_another: bool) -> tuple[int, int, int]:
        """A process that does the work: the relay's ends, and its id."""
        opened: list[int] = []
        try:
            lifeline, lifeline_write = os.pipe()
            opened += lifeline, lifeline_write
            notices_read, notices = os.pipe()
            opened += notices_read, notices
            process = fork()
        except OSError:
            for each in opened:
                os.close(each)
            raise
        if process == 0:
            ends = Ends(
                self._journal,
                lifeline=lifeline,
                notices=notices,
                is_another=is_another,
                pause=self._pause,
                said=self._said,  # it has it, should the relay be killed right now
            )
            kept = (lifeline, notices, *self._journal.descriptors)
            apart(lambda: self._work(ends), kept if self._file is None else (*kept, self._file))
        self._journal.add_only()
        for theirs in (lifeline, notices):
            os.close(theirs)
        return lifeline_write, notices_read, process
