"""The relay of `tap stdio`, the ring through which every relay reports, and the recorder that reads it, as a relay sees it.

A host waits for its server, so this file imports nothing of ours and runs in any Python, also with `-I -S`. The server is started first. Bytes
are copied into memory that the recorder shares before they are passed on, so a relay that is killed loses none of them, and no relay waits.
The recorder is a process of its own, which also ends the server of a killed relay.

A server may leave processes behind that hold its pipes: the tap then passes bytes on until they close the pipes or the host ends its input,
and ends as the server did.
Source: MCP 2025-11-25, Transports, stdio.
"""

from __future__ import annotations

import errno
import mmap
import os
import select
import signal
import sys
import threading
import time
from struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Collection, Mapping, Sequence
    from types import FrameType
    from typing import NoReturn

# Kinds of items, one letter each.
OUT, IN, ERROR = b"o", b"i", b"e"
"""A piece of a server's standard input, output and error."""
EXITED = b"z"
"""A server's end: its exit code in ASCII, or, if negative, the signal that ended it."""
REQUEST, SENT, ASKED = b"q", b"b", b"a"
"""A request: origin, line end and head; a piece of its body; the end of its body."""
UNREAD = b"unread"
"""The data of `ASKED` if the relay refused the request by its head and did not read its body."""
RESPONSE, ANNOUNCED, CHUNK = b"r", b"p", b"c"
"""A response: its head; the URL of an `endpoint` event; a piece of its body."""
LEFT_OUT = b"l"
"""In ASCII, how many bytes of a body are not reported: a request's, or after `ASKED` its answer's."""
COMPLETE, FAILED, CLOSED = b"d", b"f", b"x"
"""An exchange's end: complete; failed, in the form of `capture.http.exchange_end`; closed by the host."""
GAP = b"g"
"""In ASCII, how many bytes found no room in the ring at this point."""
SKIP = b"-"
"""Nothing: the next item is at the ring's beginning."""

# The ring: a head of counters, then the items. Counters of bytes only grow; each has one writer.
ROOM = 64 << 20
SLACK = 2 << 20
"""Bytes before the oldest item that stay unused, because the recorder may be returning their memory to the system."""
HEAD_BYTES = 32 << 10
ADDED, LOST, GROUP, IS_ENDED = 0, 1, 2, 3
"""Written by the relay: bytes added and without room, the server's process group, whether the relay ended in order."""
FREED, FREED_SEQ, IS_WELL, RECORDERS, TAKEN, TRIES, SKIPPED = range(2048, 2055)
"""Written by recorders, on another page so that processors do not contend for it: bytes recorded, the record's number there, whether
recording works, how many recorders there were, bytes read, how many recorders began at `FREED`, bytes over which these died."""
ITEM = Struct("<cQII")
"""What stands before an item's data: kind, time on the monotonic clock, size, number of the exchange."""

READ_BYTES = 64 << 10
PATIENCE = 2.0
"""Seconds for each step of ending a server after the host has gone, as in this program's own connections."""
LOOK_SECONDS = 0.25
"""Seconds between looks whether a silent host has gone."""
IDLE_LOOKS = 5
"""Number of consecutive looks that find a pipe idle before nothing more is expected from it."""
RESTART_SECONDS = 1.0
"""Shortest time between two recorders' starts."""
LAST_WORDS = 5.0
"""Seconds that the relay's end waits for news of its recorder, where recording is not known to work."""
MOST_NOTICES = 1000
"""Largest number of different sentences to print; a web page could cause any number."""
BEGIN_AGAIN = 75
"""A recorder's exit code if it needs to be started again, for example because its database was replaced."""
NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""Exit codes for a command that cannot be started, as in the shell, `env` and `nohup`."""
NO_ROOM = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""Errors after which a server cannot start beside a tap, but perhaps in the tap's place."""

IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
OWN = {signal.SIGCHLD, signal.SIGKILL, signal.SIGSTOP}
"""Signals for the tap itself, or that no process receives; all others are meant for the server."""
STOPS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
"""Signals by which a terminal stops a program. If they were blocked, reading from the terminal would fail."""
TO_GROUP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals that are sent to the server's whole process group, as a terminal sends them."""


class Ring:
    """Memory that a relay shares with its recorder: takes items without a system call, as long as there is room.

    What is in it has not been redacted, so it has no name on any disk.

    Args:
        room: Bytes for items.

    Attributes:
        file: Its descriptor, for the recorder.

    Raises:
        OSError: Memory is not available, or too many files are open.
    """

    def __init__(self, room: int = ROOM) -> None:
        self.file = _file_without_name()
        os.ftruncate(self.file, HEAD_BYTES + room)
        self._memory = mmap.mmap(self.file, HEAD_BYTES + room)
        self._words = memoryview(self._memory)[:HEAD_BYTES].cast("Q")
        self._room = room
        self._at = HEAD_BYTES  # where the next item begins
        self._until = HEAD_BYTES  # the end of the room known to be free
        self._offset = -HEAD_BYTES  # difference between `_at` and the count of all bytes added
        self._gap = 0  # bytes that found no room since the last item
        self._lock = threading.Lock()
        # Without a barrier another processor could see the counter before the bytes that it counts. A lock is the
        # only thing in Python that is certain to be one without a system call.
        barrier = threading.Lock()
        barrier.acquire()
        self._release, self._acquire = barrier.release, barrier.acquire

    def add(self, kind: bytes, number: int, data: bytes, at_ns: int | None = None) -> None:
        """Report an item, before its bytes are passed on. Never blocks; bytes without room are counted.

        Args:
            kind: The kind of the item.
            number: Number of the exchange; 0 without exchanges.
            data: The item's data.
            at_ns: Time on the monotonic clock; None for the current time.
        """
        with self._lock:
            size = ITEM.size + len(data)
            if self._at + size > self._until and not self._find_room(size):
                self._gap += len(data)
                self._words[LOST] += len(data)
                return
            start = self._at + ITEM.size
            end = self._at + size
            ITEM.pack_into(
                self._memory, self._at, kind, time.monotonic_ns() if at_ns is None else at_ns, len(data), number
            )
            self._memory[start:end] = data
            self._advance(end)

    def _advance(self, end: int) -> None:
        self._release()
        self._acquire()
        self._at = end
        self._words[ADDED] = end + self._offset

    def _find_room(self, size: int) -> bool:
        """Look for room that the recorder has freed, for an item and for the note of a gap before it."""
        note = b"%d" % self._gap if self._gap else b""
        wanted = size + ITEM.size + len(note)
        memory_end = HEAD_BYTES + self._room
        used = self._at + self._offset - self._words[FREED]
        free = self._room - SLACK - used
        rest = memory_end - self._at
        if free < wanted or (rest < wanted and free < rest + wanted):
            self._until = self._at
            return False
        if rest < wanted:
            if rest >= ITEM.size:
                ITEM.pack_into(self._memory, self._at, SKIP, 0, rest - ITEM.size, 0)
            self._offset += self._room
            self._advance(HEAD_BYTES)
            free -= rest
        self._until = min(memory_end, self._at + free)
        if note:
            ITEM.pack_into(self._memory, self._at, GAP, time.monotonic_ns(), len(note), 0)
            end = self._at + ITEM.size + len(note)
            self._memory[end - len(note) : end] = note
            self._gap = 0
            self._advance(end)
        return True

    def guard(self, group: int) -> None:
        """Have the recorder end this process group if the relay is killed."""
        self._words[GROUP] = group

    def end(self) -> None:
        """Say that the relay ends in order."""
        self._words[IS_ENDED] = 1

    def forget_recorder(self) -> None:
        """Believe no longer what a dead recorder reported."""
        self._words[IS_WELL] = 0

    @property
    def is_well(self) -> bool:
        """Whether recording works, as the recorder reports."""
        return self._words[IS_WELL] != 0

    @property
    def lost(self) -> int:
        """Number of bytes that found no room, or that recorders could not read."""
        return self._words[LOST] + self._words[SKIPPED]

    @property
    def left(self) -> int:
        """Number of bytes that are not recorded yet."""
        return self._words[ADDED] - self._words[FREED]


def told_once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Wrap a function so that it tells each sentence only once."""
    sentences: set[str] = set()

    def tell_once(words: str) -> None:
        if words not in sentences and len(sentences) < MOST_NOTICES:
            sentences.add(words)
            tell(words)

    return tell_once


def recorder_words(
    wire: str, name: str, *, data_dir: str = "", log: str = "", log_file: int = -1, command: tuple[str, ...] = ()
) -> Sequence[str]:
    """Return the words for the recorders of a new tap: see `tap.recorder.RecorderOptions`."""
    began_ns, seed = str(time.time_ns()), os.urandom(8).hex()
    return (wire, name, data_dir, log, str(log_file), began_ns, seed, *command)


def _file_without_name() -> int:
    if sys.platform == "linux":
        return os.memfd_create("tui-host-tap")
    path = f"{os.environ.get('TMPDIR', '/tmp')}/tui-host-{os.urandom(8).hex()}"  # noqa: S108 - random, new, and gone at once
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)  # noqa: PTH108 - importing pathlib takes as long as all else
    return file


class RecorderChild:
    """The recorder as the relay sees it: passes its messages on, and starts another one if it dies.

    The recorder's standard input ends with the relay; what it writes to standard error goes through the relay, since whoever
    reads the tap's standard error would otherwise wait for the recorder's end too.

    Args:
        ring: What the recorder reads.
        words: What `recorder_words` returns.
        tell: Receives messages for the user.

    Attributes:
        notices: What the recorder writes to standard error; -1 while none runs.
    """

    def __init__(self, ring: Ring, words: Sequence[str], tell: Callable[[str], None]) -> None:
        _, _, _, log, log_file, *_ = words
        self._ring = ring
        self._words = words
        self._tell = tell
        self._tell_once = told_once(tell)
        self._inherited = [ring.file] if int(log_file) < 0 else [ring.file, int(log_file)]
        self._has_log = log != ""
        self._process = 0
        self._has_died = False
        self._lifeline = -1
        self._started_at = -RESTART_SECONDS
        self.notices = -1

    def start(self) -> None:
        """Start a recorder. A failure is told once, and tried again by `attend`."""
        self._started_at = time.monotonic()
        mine: list[int] = []
        theirs: list[int] = []
        try:
            for our_end in (1, 0):
                ends = os.pipe()
                mine.append(ends[our_end])
                theirs.append(ends[1 - our_end])
            nowhere = os.open(os.devnull, os.O_RDWR)
            theirs.append(nowhere)
            self._process = self._spawn(*theirs)
        except OSError as error:
            for descriptor in mine:
                os.close(descriptor)
            self._tell_once(f"no recorder can be started: {error.strerror or error}; another try follows each second")
        else:
            self._lifeline, self.notices = mine
        finally:
            for descriptor in theirs:
                os.close(descriptor)

    def _spawn(self, lifeline: int, notices: int, nowhere: int) -> int:
        for descriptor in self._inherited:  # only now: no server gets them, which was started before
            os.set_inheritable(descriptor, True)  # noqa: FBT003 - the system's own form
        program = [sys.executable, "-P", "-m", "tui_host", "tap-recorder", "--"]
        return os.posix_spawn(
            sys.executable,
            [*program, str(self._ring.file), *self._words],
            environment(),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, lifeline, 0),
                (os.POSIX_SPAWN_DUP2, nowhere, 1),
                (os.POSIX_SPAWN_DUP2, notices, 2),
            ],
            setsigmask=(),
            setsigdef=[number for number in signal.valid_signals() if number not in OWN],
            setsid=True,  # signals sent to the tap's process group spare it
        )

    def seconds_until_due(self) -> float | None:
        """Return how long to wait for `notices` before calling `attend` all the same; None for ever."""
        if self.notices >= 0:
            return None
        return max(self._started_at + RESTART_SECONDS - time.monotonic(), 0)

    def attend(self) -> None:
        """Pass on what the recorder writes, or start another one. Call if `notices` are readable, or when it is due."""
        if self.notices < 0:
            if time.monotonic() >= self._started_at + RESTART_SECONDS:
                self.start()
        elif words := read(self.notices):
            write(2, words)
        else:
            self._bury()

    def attend_in(self, loop: AbstractEventLoop) -> None:
        """Attend to recorders in an event loop from now on."""
        notices = self.notices

        def attend() -> None:
            self.attend()
            if self.notices != notices:
                if notices >= 0:
                    loop.remove_reader(notices)
                self.attend_in(loop)

        if notices >= 0:
            loop.add_reader(notices, attend)
        else:
            loop.call_later(self.seconds_until_due() or RESTART_SECONDS, attend)

    def _bury(self) -> None:
        """Take in the recorder's end, and tell how it ended if it was not in order."""
        os.close(self.notices)
        self.notices = -1
        self._close_lifeline()
        self._ring.forget_recorder()
        try:
            _, status = os.waitpid(self._process, 0)
        except ChildProcessError:
            status = 0
        code = os.waitstatus_to_exitcode(status)
        self._has_died = code != 0
        if code not in {0, BEGIN_AGAIN}:
            how = f"was ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
            self._tell_once(
                f"recording was interrupted: the recorder {how}; everything passes, and another recorder goes on "
                "(lines and answers in progress are cut in the recording)"
            )

    def end(self) -> None:
        """End reporting. Waits only for a log, or if recording is not known to work, and tells the user what is missing."""
        self._ring.end()
        if not self._process:  # nothing was to be recorded
            return
        until = time.monotonic() + LAST_WORDS
        for _ in range(2):  # a recorder that has just died is replaced once more
            if self.notices < 0:
                self.start()
            self._close_lifeline()
            self._wait_for_news(until)
            if self.notices >= 0 or not self._has_died:
                break
        missing = self._ring.lost
        if self.notices < 0:
            missing += self._ring.left
        elif not self._ring.is_well:
            self._tell("the end is not recorded yet; recording continues by itself once the database can be written")
        if missing:
            self._tell(f"up to {missing:,} bytes of the traffic are not recorded")

    def _wait_for_news(self, until: float) -> None:
        """Wait until the recorder ends or reports that recording works."""
        while self.notices >= 0 and time.monotonic() < until:
            if is_readable(self.notices, 0):
                self.attend()
            elif self._ring.is_well and not self._has_log:
                return
            else:
                time.sleep(0.01)

    def _close_lifeline(self) -> None:
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# Descriptors, also nonblocking ones.


def read(source: int) -> bytes:
    """Wait for the next bytes and return them; empty at the end."""
    while True:
        try:
            return os.read(source, READ_BYTES)
        except BlockingIOError:  # another process that shares the descriptor has made it nonblocking
            _wait_for(source, select.POLLIN, None)
        except OSError:  # the connection was reset, or the terminal has gone
            return b""


def write(target: int, chunk: bytes) -> bool:
    """Write all bytes; returns False if nobody reads any more."""
    rest = memoryview(chunk)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            _wait_for(target, select.POLLOUT, None)
        except OSError:
            return False
    return True


def is_readable(descriptor: int, seconds: float) -> bool:
    """Wait for bytes or an end at most so long; returns whether there is any."""
    return _wait_for(descriptor, select.POLLIN, seconds)


def _wait_for(descriptor: int, event: int, seconds: float | None) -> bool:
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def environment() -> Mapping[bytes, bytes]:
    """Return the environment as the host set it, without what Python adds to it in the C locale."""
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - importing pathlib takes as long as all else
            pairs = [entry.partition(b"=") for entry in file.read().split(b"\0")]
    except OSError:
        return os.environb  # the system has no such file
    return {name: value for name, equals, value in pairs if equals}


# The stdio relay.


class Pump:
    """Copies bytes from descriptor to descriptor and into the ring, in a thread, until one of them ends.

    Attributes:
        is_broken: Whether no process reads the target any more.
    """

    def __init__(self, source: int, target: int, kind: bytes, ring: Ring) -> None:
        self._source = source
        self._target = target
        self._kind = kind
        self._add = ring.add
        self._is_writing = False
        self._is_over = threading.Event()
        self.is_broken = False

    def start(self, ended: Callable[[Pump], None]) -> None:
        """Start copying; `ended` is called in the thread at the end."""
        self._ended = ended
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        source, target, kind, add = self._source, self._target, self._kind, self._add
        while not self.is_broken and (chunk := read(source)):
            self._is_writing = True
            add(kind, 0, chunk)  # before any process can answer the bytes
            self.is_broken = not write(target, chunk)
            self._is_writing = False
        self._is_over.set()
        self._ended(self)

    def wait(self, seconds: float) -> bool:
        """Wait for the end; returns whether it has come."""
        return self._is_over.wait(seconds)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to copy, although a process still holds the pipe."""
        return not (self._is_writing or is_readable(self._source, 0))


class StdioRelay:
    """Relays between a host and a server until the server ends.

    Args:
        command: The server's command.
        closed: Standard streams that the host left closed.
        tell: Receives messages for the user.

    Raises:
        OSError: Something is missing that the tap needs, while the server can still run without it.
    """

    def __init__(self, command: tuple[str, ...], closed: Collection[int], tell: Callable[[str], None]) -> None:
        self._closed = closed
        self._tell = tell
        self._is_running = True
        self._is_over = threading.Event()
        self._is_hurried = self._is_abandoned = False
        self._nowhere = os.open(os.devnull, os.O_RDWR)
        self._wake, self._waking = os.pipe()
        self._ring = Ring()
        input_read, self._input = os.pipe()
        self._output, output_write = os.pipe()
        self._errors, errors_write = os.pipe()
        theirs = (input_read, output_write, errors_write)
        self._into = Pump(0, self._input, OUT, self._ring)
        self._out = Pump(self._output, 1, IN, self._ring)
        self._err = Pump(self._errors, 2, ERROR, self._ring)
        # A signal that is switched off (nohup) stays off in tap and server; Python itself has switched off two more.
        self._heeded = {
            number
            for number in signal.valid_signals() - OWN - STOPS
            if number in IGNORED_BY_PYTHON or signal.getsignal(number) is not signal.SIG_IGN
        }
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._heeded)  # early signals wait for the server
        # A host may have blocked or ignored this one, which would hide how the server ends.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        os.set_blocking(self._waking, False)
        signal.set_wakeup_fd(self._waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _heard)
        try:
            self._group = self._start(command, theirs, mask)
        except OSError:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            raise
        for descriptor in theirs:
            os.close(descriptor)
        self._ring.guard(self._group)

    def _start(self, command: tuple[str, ...], pipes: Sequence[int], mask: Collection[int]) -> int:
        try:
            return os.posix_spawnp(
                command[0],
                command,
                environment(),
                file_actions=[
                    (os.POSIX_SPAWN_CLOSE, number) if number in self._closed else (os.POSIX_SPAWN_DUP2, pipe, number)
                    for number, pipe in enumerate(pipes)
                ],
                setsigmask=mask,
                setpgroup=0,  # its own group, which can be ended alone and as a whole
                setsigdef=IGNORED_BY_PYTHON,
            )
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise
            cannot_start(command[0], error, self._tell)

    def run(self, record: Callable[[Ring], RecorderChild]) -> NoReturn:
        """Relay until the server ends, and end as it did.

        Args:
            record: Returns the recorder for a ring.
        """
        self._into.start(self._after_input)
        self._out.start(self._after_output)
        self._err.start(lambda _: os.close(self._errors))
        threading.Thread(target=self._pass_signals, daemon=True).start()
        for number in STOPS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._stop)
        leave_no_core()  # only now: the server keeps the limits that its host gave it
        recorder = record(self._ring)
        recorder.start()
        status = self._wait(recorder)
        self._is_running = False
        for pump in (self._out, self._err):
            self._deliver(pump)
        self._is_over.set()
        self._ring.add(EXITED, 0, b"%d" % os.waitstatus_to_exitcode(status))
        if self._is_gone():
            self._signal_group(signal.SIGKILL)  # descendants may outlive an orderly end
        os.dup2(self._nowhere, 0)
        os.dup2(self._nowhere, 1)
        recorder.end()
        _end_as(status)

    def give_up(self) -> NoReturn:
        """End, with the server."""
        self._signal_group(signal.SIGKILL)
        os._exit(1)

    def _wait(self, recorder: RecorderChild) -> int:
        """Wait for the server's end, and meanwhile attend to the recorder; returns the server's exit status."""
        while True:
            ended, status = os.waitpid(self._group, os.WNOHANG)  # a plain wait would miss a signal right before it
            if ended:
                return status
            poll = select.poll()
            poll.register(self._wake, select.POLLIN)
            if recorder.notices >= 0:
                poll.register(recorder.notices, select.POLLIN)
            due = recorder.seconds_until_due()
            ready = [descriptor for descriptor, _ in poll.poll(None if due is None else due * 1000 + 1)]
            if self._wake in ready:
                os.read(self._wake, 64)
            if not ready or recorder.notices in ready:
                recorder.attend()

    def _deliver(self, pump: Pump) -> None:
        """Wait until all output is delivered. While a process left by the server holds the pipe, wait for the host's end."""
        pause, idle_looks = 0.001, 0
        while not (pump.wait(pause) or self._is_hurried or self._is_gone()) and idle_looks < IDLE_LOOKS:
            pause = min(2 * pause, 0.1)
            idle_looks = idle_looks + 1 if self._into.wait(0) and pump.is_idle else 0

    # Signals: a thread waits for them, so the tap reacts to none, and repeated ones are passed on as often as they come.

    def _pass_signals(self) -> None:
        while True:
            number = signal.sigwait(self._heeded)
            if not self._is_running:
                self._is_hurried = self._is_hurried or number in TO_GROUP
            elif number in TO_GROUP:
                self._signal_group(number)
            else:
                self._signal(os.kill, number)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        """Stop the server too when a terminal stops the tap. SIGCONT reaches the server through the tap."""
        self._signal_group(number)
        os.kill(os.getpid(), signal.SIGSTOP)

    def _signal_group(self, number: int) -> None:
        self._signal(os.killpg, number)

    def _signal(self, send: Callable[[int, int], None], number: int) -> None:
        try:
            send(self._group, number)
        except OSError:
            return  # no process is left

    # What follows the end of a stream.

    def _after_input(self, pump: Pump) -> None:
        os.close(self._input)
        if pump.is_broken:
            os.dup2(self._nowhere, 0)  # the host learns from its next write that nobody reads
        while not self._is_gone():
            if self._is_over.wait(LOOK_SECONDS):  # polls, since waiting on the output would hold it open
                return
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._is_over.wait(PATIENCE):
                return
            self._signal_group(number)
        self._is_over.set()  # remaining processes have left the server's group

    def _after_output(self, pump: Pump) -> None:
        os.close(self._output)  # the server learns from its next write that nobody reads
        if not pump.is_broken and not self._is_gone():
            os.dup2(self._nowhere, 1)  # the host learns that the server has closed its output

    def _is_gone(self) -> bool:
        """Whether the host has gone and no longer reads."""
        if not self._is_abandoned:
            hosts_end = select.poll()
            hosts_end.register(1, 0)
            gone = select.POLLERR | select.POLLHUP
            self._is_abandoned = self._out.is_broken or any(event & gone for _, event in hosts_end.poll(0))
        return self._is_abandoned


def _heard(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the signal only wakes the tap."""


def leave_no_core() -> None:
    """Disable core dumps: memory holds secrets and whole conversations."""
    try:
        import resource
    except ImportError:  # a platform without such limits
        return
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


def _end_as(status: int) -> NoReturn:
    """End with the server's exit code, or by the server's signal."""
    if not os.WIFSIGNALED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    number = os.WTERMSIG(status)
    if signal.getsignal(number) not in {signal.SIG_DFL, None}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    signal.raise_signal(number)
    os._exit(128 + number)  # a signal that ends no process


def relay(words: Sequence[str], command: tuple[str, ...], closed: Collection[int]) -> NoReturn:
    """Start the server, relay until it ends, and end in the same way.

    Args:
        words: What `recorder_words` returns.
        command: The server's command.
        closed: Standard streams that the host left closed.
    """

    def tell(sentence: str) -> None:
        line = f"tui-host tap {words[1]}: {sentence}"
        shown = "".join(letter if letter.isprintable() else "�" for letter in line)
        write(2, f"{shown}\n".encode(errors="backslashreplace"))

    try:
        running = StdioRelay(command, closed, tell)
    except (OSError, MemoryError) as error:  # usually `ulimit -n`, `ulimit -u` or `ulimit -v` is too low
        tell(f"no tap: nothing is recorded, and the server runs without it: {_reason(error)}")
        become(command, closed, tell)
    try:
        running.run(lambda ring: RecorderChild(ring, words, tell))
    except (OSError, MemoryError, RuntimeError) as error:
        tell(f"the tap cannot go on, and ends the server: {_reason(error)}")
        running.give_up()


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error) or "no memory is left"


def become(command: tuple[str, ...], closed: Collection[int], tell: Callable[[str], object]) -> NoReturn:
    """Run the server in the tap's place, so that the host has a server although the tap failed."""
    for number in closed:
        os.close(number)
    for number in IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, environment())  # noqa: S606 - as the host would have started it
    except (OSError, ValueError) as error:
        cannot_start(command[0], error, tell)


def cannot_start(command: str, error: OSError | ValueError, tell: Callable[[str], object]) -> NoReturn:
    """Exit as a shell would, and say why the command cannot start."""
    tell(f"{command!r} cannot be started: {_why(command, error)}")
    os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE)


def _why(command: str, error: OSError | ValueError) -> str:
    """Describe why a command cannot be started, with a remedy."""
    if not command:
        return "the command is empty (tui-host tap stdio NAME -- COMMAND ARGUMENTS…)"
    if isinstance(error, FileNotFoundError) and "/" not in command:
        return "PATH has no such command (give its full path: a host started from a menu may have a shorter PATH)"
    if isinstance(error, FileNotFoundError) and os.path.exists(command):  # noqa: PTH110 - importing pathlib takes long
        return "the interpreter named behind #! in its first line is missing (install it, or correct that line)"
    if isinstance(error, FileNotFoundError):
        return "there is no such file (give the path of the server's command)"
    if isinstance(error, PermissionError) and "/" in command and os.path.isdir(command):  # noqa: PTH112 - as above
        return "it is a folder (name the command in it)"
    if isinstance(error, PermissionError):
        return "this user may not execute it (chmod +x makes a file executable)"
    return (isinstance(error, OSError) and error.strerror) or str(error)
