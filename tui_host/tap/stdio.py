"""`tap stdio`: put before a server's command, it passes on every byte, the exit code and signals, and lets them be recorded.

The server is started first, and bytes flow before anything of the rest is imported. Recording is a process of its own, so that
nothing that it does ever takes the relay's turn (`beside`); it also ends the server if the relay is killed. Standard output belongs to the
server alone. Source: MCP 2025-11-25, Transports, stdio; threats.md, PXY-08 to PXY-10; performance.md, Relays.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time

from tui_host.capture.no_core import leave_no_core
from tui_host.tap.beside import Asked, Beside, begin
from tui_host.tap.descriptors import read, write
from tui_host.tap.kinds import ERROR, IN, OUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType
    from typing import NoReturn

    from tui_host.tap.lines import Lines
    from tui_host.tap.passing import Telling
    from tui_host.tap.recording import TapRecording
    from tui_host.tap.words import Stdio

PATIENCE = 2.0
"""Seconds for each step of a server's end once its host has gone, as in our own connections."""
QUIET_SECONDS = 0.5
"""After the server's end: so long what others hold its pipes for is waited for, if nothing comes."""
START_SECONDS = 1.0
"""So long the process that records leaves the processor to a server that says nothing yet."""
NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""Exit codes for a command that cannot be started: those of the shell, `env` and `nohup`."""

TO_GROUP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""What a terminal, or a host that signals a group, would send to all that the server has started."""
TO_SERVER = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGCONT)


def relay(tap: Stdio) -> NoReturn:
    """Start the server, pass everything on until it has ended, and end as it did."""
    asked = Asked(tap.name, data_dir=tap.data_dir, log=tap.log)

    def tell(words: str) -> None:
        write(2, f"tui-host tap {tap.name}: {words}\n".encode(errors="backslashreplace"))

    def work() -> None:
        from tui_host.tap.recording_process import record

        def folding(recording: TapRecording) -> Lines:
            from tui_host.tap.lines import Lines

            return Lines(recording, tap.name)

        record(asked, folding, START_SECONDS)

    _Relay(tap, begin(work, tell), tell).run()


class _Pump:
    """Bytes from one descriptor to another, until one of them ends.

    Attributes:
        is_broken: Nobody takes what is written.
        count: Of chunks read and of chunks written; odd while one waits to be taken.
    """

    def __init__(self, source: int, target: int, kind: bytes, telling: Telling, ended: Callable[[], None]) -> None:
        self.source, self.target = source, target
        self.is_broken = False
        self.count = 0
        self._kind = kind
        self._telling = telling
        self._ended = ended
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.start, self.join, self.is_alive = self._thread.start, self._thread.join, self._thread.is_alive

    def _run(self) -> None:
        source, target, kind = self.source, self.target, self._kind
        passed, go = self._telling.passed, self._telling.go
        while chunk := read(source):
            passed(kind, chunk)  # before anybody can answer it
            self.count += 1
            if not write(target, chunk):
                self.is_broken = True
                break
            self.count += 1
            go()
        go()
        self._ended()


class _Relay:
    def __init__(self, tap: Stdio, beside: Beside, tell: Callable[[str], None]) -> None:
        self._tap = tap
        self._beside = beside
        self._tell = tell
        self._server: int | None = None
        self._is_over = threading.Event()
        self._is_hurried = False
        self._early: list[int] = []
        self._nowhere = os.open(os.devnull, os.O_RDWR)
        self._listen()
        input_read, self._input = os.pipe()
        self._output, output_write = os.pipe()
        self._errors, errors_write = os.pipe()
        theirs = (input_read, output_write, errors_write)
        self._group = self._start(theirs)
        for descriptor in theirs:
            os.close(descriptor)
        beside.guard(self._group)

    def run(self) -> NoReturn:
        leave_no_core()  # not before: the server has the limits that its host gave it
        telling = self._beside.telling()
        into = _Pump(0, self._input, OUT, telling, lambda: self._after_input(into))
        out = _Pump(self._output, 1, IN, telling, lambda: self._after_output(out))
        errors = _Pump(self._errors, 2, ERROR, telling, lambda: self._after_errors(errors))
        self._out = out
        for thread in (into, out, errors):
            thread.start()
        for number in self._early:
            self._pass_signal(number, None)
        status = os.waitpid(self._group, 0)[1]
        self._server = None
        self._is_over.set()
        for pump in (out, errors):
            self._drain(pump)
        self._signal_group(signal.SIGKILL)  # descendants that outlived an orderly end
        os.dup2(self._nowhere, 0)
        os.dup2(self._nowhere, 1)
        self._beside.end()
        _end_as(status)

    def _drain(self, pump: _Pump) -> None:
        """Wait until all is delivered. Somebody else may hold the pipe, with nothing to say."""
        count, since = -1, 0.0
        while pump.is_alive() and not self._is_hurried:
            pump.join(0.1)
            now = time.monotonic()
            if pump.count != count or count % 2:
                count, since = pump.count, now
            elif now - since >= QUIET_SECONDS:
                return

    # The server.

    def _start(self, pipes: Sequence[int]) -> int:
        command = self._tap.command
        try:
            pid = os.posix_spawnp(
                command[0],
                command,
                _environment(),
                file_actions=[(os.POSIX_SPAWN_DUP2, pipe, number) for number, pipe in enumerate(pipes)],
                setpgroup=0,  # so that it can be ended with all that it started, and the host's own group is left alone
                setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),  # which Python ignores
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            self._tell(f"{command[0]!r} cannot be started: {reason}")
            os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE)
        self._server = pid
        return pid

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self._group, number)
        except OSError:
            return  # nobody is left

    # Signals.

    def _listen(self) -> None:
        for number in (*TO_GROUP, *TO_SERVER):
            if signal.getsignal(number) is not signal.SIG_IGN:  # one that is switched off (nohup) stays so, in both
                signal.signal(number, self._pass_signal)
        if signal.getsignal(signal.SIGTSTP) is not signal.SIG_IGN:
            signal.signal(signal.SIGTSTP, self._stop)

    def _pass_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._is_over.is_set():
            self._is_hurried = number in TO_GROUP
        elif self._server is None:
            self._early.append(number)
        elif number in TO_GROUP:
            self._signal_group(number)
        else:
            os.kill(self._server, number)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        """Stopped at a terminal: the server too. SIGCONT reaches it through us."""
        if self._server is not None:
            self._signal_group(signal.SIGTSTP)
        os.kill(os.getpid(), signal.SIGSTOP)

    # What follows the end of a stream.

    def _after_input(self, pump: _Pump) -> None:
        os.close(self._input)
        if pump.is_broken:
            os.dup2(self._nowhere, 0)  # the host learns from its next write that nobody reads
        hosts_end = select.poll()
        hosts_end.register(1, 0)
        gone = select.POLLERR | select.POLLHUP
        while not self._out.is_broken and not any(event & gone for _, event in hosts_end.poll(1000)):
            pass
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._is_over.wait(PATIENCE):
                return
            self._signal_group(number)

    def _after_output(self, pump: _Pump) -> None:
        os.close(self._output)  # where nobody takes it, the server learns so from its next write
        if not pump.is_broken:
            os.dup2(self._nowhere, 1)  # the host learns that the server closed it

    def _after_errors(self, _pump: _Pump) -> None:
        os.close(self._errors)


def _environment() -> Mapping[bytes, bytes]:
    """The environment as the host composed it: Python adds LC_CTYPE to its own where the locale is C."""
    environment = dict(os.environb)
    if environment.get(b"LC_CTYPE", b"").upper() in {b"C.UTF-8", b"C.UTF8", b"UTF-8"}:
        try:
            with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib takes as long to import as all else
                if not any(line.startswith(b"LC_CTYPE=") for line in file.read().split(b"\0")):
                    del environment[b"LC_CTYPE"]
        except OSError:
            return environment  # no such file on this system
    return environment


def _end_as(status: int) -> NoReturn:
    """End as the server did: with its exit code, or by the same signal."""
    if not os.WIFSIGNALED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    number = os.WTERMSIG(status)
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)
