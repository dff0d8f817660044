"""The relay of `tap stdio`, the ring through which every relay reports, and the recorder that reads it, as a relay sees it.

A host waits for its server, so this file imports nothing of ours and runs in any Python, also with `-I -S`. The server is
started first. Bytes are copied into memory that the recorder shares before they are passed on, so a relay that is killed
loses none of them, and no relay waits. The recorder is a process of its own, which also ends the server of a killed relay.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import sys
import threading
import time
from struct import Struct
from time import monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

# Kinds of items, one letter each. What a count of bytes or a code is, is in ASCII.
OUT, IN, ERROR = b"o", b"i", b"e"  # a piece of a server's standard input, output and error
EXITED = b"z"  # its exit code or, if negative, the signal that ended it
REQUEST, SENT = b"q", b"b"  # a request's origin, line end and head; a piece of its body
ASKED, UNREAD = b"a", b"unread"  # the end of a request's body, and the data of that if it was not read
RESPONSE, CHUNK = b"r", b"c"  # a response's head; a piece of its body
ANNOUNCED = b"p"  # the URL of an `endpoint` event
COMPLETE, FAILED, CLOSED = b"d", b"f", b"x"  # an exchange's end; failed, in the form of `capture.http.exchange_end`
GAP = b"g"  # how many bytes of everything are not reported, for want of room

# The ring: a head of counters, then the items. Counters of bytes only grow, and each has one writer while a recorder lives.
HEAD_BYTES, ROOM = 32 << 10, 64 << 20
ADDED, BASE, LOST, GROUP, IS_ENDED = range(5)
"""Written by the relay: bytes added, the count at the memory's beginning, bytes without room, the server's process group, whether
the relay has ended in order."""
FREED, FREED_SEQ, TAKEN, IS_WELL, RECORDERS = range(2048, 2053)
"""Written by recorders, on another page so that processors do not contend for it: bytes stored, the record's number there, bytes
read, whether recording works, how many recorders there were."""
ITEM = Struct("<cQII")  # before an item's data: kind, time on the monotonic clock, size, number of the exchange
ITEM_BYTES = ITEM.size

STRIDE = 1 << 20  # bytes to add between two looks at what has been freed
READ_BYTES = 64 << 10
PATIENCE_SECONDS = 2.0  # for each step of ending a server after the host has gone
LOOK_SECONDS = 0.25  # between looks whether a silent host has gone
IDLE_LOOKS = 5  # that find a pipe idle one after the other before nothing more is expected from it
RESTART_SECONDS = 1.0  # shortest time between two recorders' starts
DEATHS = 3  # of recorders over the same bytes, which are then passed over
REST_SECONDS = 0.5  # longest wait at the end for the rest to be stored
NEWS_SECONDS = 5.0  # the same where recording is not known to work
BEGIN_AGAIN = 75  # exit code of a recorder that another one is to follow, for example because its database was replaced
MOST_NOTICES = 1000  # different sentences to print; a web page could cause any number

IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
NOT_PASSED = {signal.SIGCHLD, signal.SIGKILL, signal.SIGSTOP, signal.SIGTTIN, signal.SIGTTOU}
"""Signals for the tap itself, that no process receives, or without which reading from a terminal would fail."""
TO_GROUP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP)  # as a terminal sends them


class Ring:
    """Memory that a relay shares with its recorder. Taking an item makes no system call and wakes no process.

    What is in it has not been redacted, so it has no name on any disk. `file` is its descriptor, for the recorder, and
    `words` are its counters.
    """

    def __init__(self, room: int = ROOM) -> None:
        if sys.platform == "linux":
            self.file = os.memfd_create("tui-host-tap")
        else:
            path = f"{os.environ.get('TMPDIR', '/tmp')}/tui-host-{os.urandom(8).hex()}"  # noqa: S108 - random, and gone at once
            self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            os.unlink(path)  # noqa: PTH108 - importing pathlib takes as long as all else
        os.ftruncate(self.file, HEAD_BYTES + room)
        self._memory = mmap.mmap(self.file, HEAD_BYTES + room)
        self.words = memoryview(self._memory)[:HEAD_BYTES].cast("Q")
        self._room = room
        self._added = self._base = 0  # as in `words`
        # Up to which count items lie side by side, and what leads from a count to its place.
        self._until = self._shift = 0
        self._gap = 0  # bytes that found no room since the last item
        lock = threading.Lock()
        self._acquire, self._release = lock.acquire, lock.release  # `with` takes three times as long

    def add(self, kind: bytes, number: int, data: bytes) -> None:
        """Report an item of an exchange, before its bytes are passed on. Never blocks; bytes without room are counted."""
        # A host waits for this twice in each round trip.
        self._acquire()
        try:
            size, shift, added = len(data), self._shift, self._added
            end = added + ITEM_BYTES + size
            if end > self._until:
                self._add_with_care(kind, number, data)
            else:
                ITEM.pack_into(self._memory, added + shift, kind, monotonic_ns(), size, number)
                self._memory[end - size + shift : end + shift] = data
                # No barrier: the reader waits a moment between the counter and what it counts.
                self.words[ADDED] = self._added = end
        finally:
            self._release()

    def _add_with_care(self, kind: bytes, number: int, data: bytes) -> None:
        """Add an item at both ends of the memory, or behind a gap, or count it; and look how many may follow."""
        words, mono_ns, freed = self.words, monotonic_ns(), self.words[FREED]
        if self._added == freed:
            # Begin at the front again: that memory is warm, and no more is taken than needed.
            self._base = words[BASE] = freed
        block, note = ITEM.pack(kind, mono_ns, len(data), number) + data, b"%d" % self._gap
        if self._gap:
            block = ITEM.pack(GAP, mono_ns, len(note), 0) + note + block
        if self._added + len(block) - freed > self._room:
            size = len(data) or 1  # also the loss of an end, which has no bytes, is to leave a gap
            self._gap, self._until = self._gap + size, 0
            words[LOST] += size
            return
        place = (self._added - self._base) % self._room
        fitting = min(len(block), self._room - place)
        self._memory[HEAD_BYTES + place : HEAD_BYTES + place + fitting] = block[:fitting]
        self._memory[HEAD_BYTES : HEAD_BYTES + len(block) - fitting] = block[fitting:]
        words[ADDED] = self._added = self._added + len(block)
        self._gap = 0
        place = (self._added - self._base) % self._room
        self._shift = HEAD_BYTES + place - self._added
        self._until = min(freed + self._room, self._added + min(self._room - place, STRIDE))


def recorder_words(
    wire: str, name: str, *, data_dir: str = "", log: str = "", log_file: int = -1, command: Sequence[str] = ()
) -> Sequence[str]:
    """Return the words for the recorders of a new tap: see `tap.session.RecorderOptions`."""
    return (wire, name, data_dir, log, str(log_file), str(time.time_ns()), os.urandom(8).hex(), *command)


def told_once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Wrap a function so that it tells each sentence only once."""
    sentences: set[str] = set()

    def tell_once(words: str) -> None:
        if words not in sentences and len(sentences) < MOST_NOTICES:
            sentences.add(words)
            tell(words)

    return tell_once


class RecorderChild:
    """The recorder as the relay sees it: its standard input ends with the relay, and another one is started if it dies.

    It is there once this is made: it also ends the server of a relay that is killed.
    """

    def __init__(self, ring: Ring, words: Sequence[str], tell: Callable[[str], None], told_to: int = 2) -> None:
        self._ring, self._words, self._tell, self._tell_once = ring, words, tell, told_once(tell)
        self._told_to = told_to  # the descriptor for what recorders say
        self._passed_over = 0  # bytes over which recorders died
        self._is_ending, self._is_over = threading.Event(), threading.Event()
        self._lifeline = self._notices = open(os.devnull, "rb", 0)  # noqa: PTH123, SIM115 - until one is started
        threading.Thread(target=self._run, args=(self._start(),), daemon=True).start()

    def end(self) -> None:
        """End reporting. Waits only for a log, or if recording is not known to work, and tells the user what is missing."""
        words, has_log = self._ring.words, self._words[3] != ""
        words[IS_ENDED] = 1
        self._is_ending.set()
        self._lifeline.close()
        began = time.monotonic()
        while not self._is_over.wait(0.01) and (late := time.monotonic() - began) < NEWS_SECONDS:
            is_well = words[IS_WELL] and not has_log and not ready(self._notices.fileno(), 0, 0)  # else it has died
            if is_well and (words[ADDED] == words[FREED] or late > REST_SECONDS):
                break
        missing = words[LOST] + self._passed_over
        if self._is_over.is_set():
            missing += words[ADDED] - words[FREED]
        elif not words[IS_WELL]:
            self._tell("the end is not recorded yet; recording continues by itself once the database can be written")
        if missing:
            self._tell(f"up to {missing:,} bytes of the traffic are not recorded")

    def _run(self, process: int | None) -> None:
        """Pass on what a recorder writes until it ends, and start another one unless it has done all."""
        words, freed, deaths = self._ring.words, -1, 0
        is_last, began = False, time.monotonic()
        while True:
            code = BEGIN_AGAIN
            if process is not None:
                # Through the relay: whoever reads the tap's standard error would else wait for the recorder's end too.
                while notice := read(self._notices.fileno()):
                    write(self._told_to, notice)
                code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
                self._lifeline.close()
            words[IS_WELL] = 0  # a dead recorder can no longer take it back
            if self._is_ending.is_set() and (is_last or code == 0):
                break
            if code not in {0, BEGIN_AGAIN}:
                how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
                self._tell_once(
                    f"recording was interrupted: the recorder {how}; everything passes, and another recorder goes on "
                    "(lines and answers in progress are cut in the recording)"
                )
                deaths = deaths + 1 if words[FREED] == freed else 1
                if deaths == DEATHS:
                    self._passed_over += words[TAKEN] - words[FREED]
                    words[FREED] = words[TAKEN]
                freed = words[FREED]
            self._is_ending.wait(max(began + RESTART_SECONDS - time.monotonic(), 0))
            is_last = self._is_ending.is_set()  # one that dies while the relay ends is replaced once
            began = time.monotonic()
            process = self._start()
        self._is_over.set()

    def _start(self) -> int | None:
        """Start a recorder; returns its process, or None if the system has no room for it."""
        program = [sys.executable, "-P", "-m", "tui_host", "tap-recorder", "--", str(self._ring.file), *self._words]
        pipes: list[int] = []
        try:
            pipes += os.pipe()
            pipes += os.pipe()
            for file in (self._ring.file, int(self._words[4])):
                if file >= 0:  # only now: no server gets them, which was started before
                    os.set_inheritable(file, True)  # noqa: FBT003 - the system's own form
            moves = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
            moves += [(os.POSIX_SPAWN_DUP2, pipes[0], 0), (os.POSIX_SPAWN_DUP2, pipes[3], 2)]
            # Of a session of its own: signals sent to the tap's process group spare it.
            process = os.posix_spawn(program[0], program, environment(), file_actions=moves, setsigmask=(), setsid=True)
        except OSError as error:
            self._tell_once(f"no recorder can be started: {error.strerror or error}; another try follows each second")
            for descriptor in pipes:
                os.close(descriptor)
            return None
        os.close(pipes[0])
        os.close(pipes[3])
        self._lifeline, self._notices = os.fdopen(pipes[1], "wb", 0), os.fdopen(pipes[2], "rb", 0)
        if self._is_ending.is_set():
            self._lifeline.close()
        return process


# Descriptors, also nonblocking ones: another process that shares a descriptor may have made it so.


def read(source: int) -> bytes:
    """Wait for the next bytes and return them; empty at the end."""
    while True:
        try:
            return os.read(source, READ_BYTES)
        except BlockingIOError:
            ready(source, select.POLLIN, None)
        except OSError:  # the connection was reset, or the terminal has gone
            return b""


def write(target: int, chunk: bytes | memoryview) -> bool:
    """Write all bytes; returns False if nobody reads any more."""
    while chunk:
        try:
            size = os.write(target, chunk)
        except BlockingIOError:
            ready(target, select.POLLOUT, None)
        except OSError:
            return False
        else:
            chunk = memoryview(chunk)[size:] if size < len(chunk) else b""
    return True


def ready(descriptor: int, events: int, seconds: float | None) -> int:
    """Wait for events of a descriptor; returns those that there are, with errors and the end."""
    poll = select.poll()
    poll.register(descriptor, events)
    return next((events_there for _, events_there in poll.poll(None if seconds is None else seconds * 1000)), 0)


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
    """Copies bytes from descriptor to descriptor and into the ring until one of them ends, and then calls `ended`."""

    def __init__(self, ring: Ring, kind: bytes, source: int, target: int, ended: Callable[[], None]) -> None:
        self.source, self._target, self._ended = source, target, ended
        self._kind, self._add = kind, ring.add
        self.is_writing = False
        self.is_broken = False  # no process reads the target any more
        self.is_over = threading.Event()

    def run(self) -> None:
        """Copy, in a thread of its own."""
        source, target, kind, add = self.source, self._target, self._kind, self._add
        while not self.is_broken and (chunk := read(source)):
            self.is_writing = True
            add(kind, 0, chunk)  # before any process can answer the bytes
            self.is_broken = not write(target, chunk)
            self.is_writing = False
        self.is_over.set()
        self._ended()


class StdioRelay:
    """Relays between a host and a server until the server ends. `words` are what `recorder_words` returns.

    A server may leave processes behind that hold its pipes: bytes pass until they close the pipes or the host ends its input.
    Source: MCP 2025-11-25, Transports, stdio.
    """

    def __init__(self, words: Sequence[str], command: tuple[str, ...]) -> None:
        self._words = words
        self._is_over = threading.Event()
        self._is_running, self._is_hurried, self._is_abandoned = True, False, False
        self._nowhere = os.open(os.devnull, os.O_RDWR)
        self._ring = ring = Ring()
        input_read, self._input = os.pipe()
        self._output, output_write = os.pipe()
        errors, errors_write = os.pipe()
        self._into = Pump(ring, OUT, 0, self._input, self._after_input)
        self._out = Pump(ring, IN, self._output, 1, self._after_output)
        self._err = Pump(ring, ERROR, errors, 2, lambda: os.close(errors))
        # A signal that is switched off (nohup) stays off in tap and server; Python itself has switched off two more.
        self._heeded = {
            number
            for number in signal.valid_signals() - NOT_PASSED
            if number in IGNORED_BY_PYTHON or signal.getsignal(number) is not signal.SIG_IGN
        }
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._heeded)  # early signals wait for the server
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a host may ignore it, which would hide how the server ends
        theirs = (input_read, output_write, errors_write)
        try:
            self._group = os.posix_spawnp(
                command[0],
                command,
                environment(),
                file_actions=[(os.POSIX_SPAWN_DUP2, pipe, number) for number, pipe in enumerate(theirs)],
                setsigmask=mask,
                setpgroup=0,  # its own group, which can be ended alone and as a whole
                setsigdef=IGNORED_BY_PYTHON,
            )
        except (OSError, ValueError) as error:
            self._cannot_start(command[0], error)
        for descriptor in theirs:
            os.close(descriptor)
        ring.words[GROUP] = self._group

    def run(self) -> NoReturn:
        """Relay until the server ends, and end as it did."""
        try:
            recorder = RecorderChild(self._ring, self._words, self._tell)
            for work in (self._into.run, self._out.run, self._err.run, self._pass_signals):
                threading.Thread(target=work, daemon=True).start()
            import resource  # only now: the server is started, and keeps the limits that its host gave it

            # No core dumps: memory holds secrets and whole conversations.
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
            _, status = os.waitpid(self._group, 0)
            self._is_running = False
            for pump in (self._out, self._err):
                # All output is to be delivered. While a process left by the server holds the pipe, wait for the host's end.
                pause, idle_looks = 0.001, 0
                while not (pump.is_over.wait(pause) or self._is_hurried or self._is_gone()) and idle_looks < IDLE_LOOKS:
                    pause = min(2 * pause, 0.1)
                    is_idle = not (pump.is_writing or ready(pump.source, select.POLLIN, 0))
                    idle_looks = idle_looks + 1 if self._into.is_over.is_set() and is_idle else 0
            self._is_over.set()
            self._ring.add(EXITED, 0, b"%d" % os.waitstatus_to_exitcode(status))
            if self._is_gone():
                self._signal(os.killpg, signal.SIGKILL)  # descendants may outlive an orderly end
            os.dup2(self._nowhere, 0)
            os.dup2(self._nowhere, 1)
            recorder.end()
        except (OSError, MemoryError, RuntimeError) as error:
            self._tell(f"the tap cannot go on, and ends the server: {error!r}")
            self._signal(os.killpg, signal.SIGKILL)
            os._exit(1)
        if not os.WIFSIGNALED(status):
            os._exit(os.waitstatus_to_exitcode(status))
        number = os.WTERMSIG(status)
        if signal.getsignal(number) not in {signal.SIG_DFL, None}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        signal.raise_signal(number)
        os._exit(128 + number)  # a signal that ends no process

    def _tell(self, sentence: str) -> None:
        text = f"tui-host tap {self._words[1]}: {sentence}"
        line = "".join(letter if letter.isprintable() else "�" for letter in text)
        write(2, f"{line}\n".encode(errors="backslashreplace"))

    def _pass_signals(self) -> None:
        """Wait for signals, in a thread, so that the tap reacts to none, and repeated ones are passed on as often as they come."""
        while True:
            number = signal.sigwait(self._heeded)
            if not self._is_running:
                self._is_hurried = self._is_hurried or number in TO_GROUP
            else:
                self._signal(os.killpg if number in TO_GROUP else os.kill, number)
            if number == signal.SIGTSTP:
                os.kill(os.getpid(), signal.SIGSTOP)  # SIGCONT reaches the server through the tap

    def _signal(self, send: Callable[[int, int], None], number: int) -> None:
        try:
            send(self._group, number)
        except OSError:
            return  # no process is left

    def _after_input(self) -> None:
        os.close(self._input)
        if self._into.is_broken:
            os.dup2(self._nowhere, 0)  # the host learns from its next write that nobody reads
        while not self._is_gone():
            if self._is_over.wait(LOOK_SECONDS):  # polls, since waiting on the output would hold it open
                return
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._is_over.wait(PATIENCE_SECONDS):
                return
            self._signal(os.killpg, number)

    def _after_output(self) -> None:
        os.close(self._output)  # the server learns from its next write that nobody reads
        if not self._out.is_broken and not self._is_gone():
            os.dup2(self._nowhere, 1)  # the host learns that the server has closed its output

    def _is_gone(self) -> bool:
        """Whether the host has gone and no longer reads."""
        is_gone = self._out.is_broken or ready(1, 0, 0) & (select.POLLERR | select.POLLHUP)
        self._is_abandoned = self._is_abandoned or bool(is_gone)
        return self._is_abandoned

    def _cannot_start(self, command: str, error: OSError | ValueError) -> NoReturn:
        """Say why a command cannot start, with a remedy, and exit as the shell, `env` and `nohup` do."""
        is_path, is_missing = "/" in command, isinstance(error, FileNotFoundError)
        reason = str(error)
        if is_missing and not is_path:
            reason = "PATH has no such command (give its full path: a host started from a menu may have a shorter PATH)"
        elif is_missing and os.path.exists(command):  # noqa: PTH110 - importing pathlib takes long
            reason = "the interpreter named behind #! in its first line is missing (install it, or correct that line)"
        elif is_missing:
            reason = "there is no such file (give the path of the server's command)"
        elif isinstance(error, PermissionError) and is_path and os.path.isdir(command):  # noqa: PTH112 - as above
            reason = "it is a folder (name the command in it)"
        elif isinstance(error, PermissionError):
            reason = "this user may not execute it (chmod +x makes a file executable)"
        self._tell(f"{command!r} cannot be started: {reason}")
        os._exit(127 if is_missing else 126)
