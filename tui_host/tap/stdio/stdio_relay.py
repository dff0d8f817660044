"""`tap stdio`: runs a server's command, and passes on and records every byte, the exit code and signals.

The server is started first, and bytes flow before the rest is imported. The recorder is a process of its own, which never holds the relay
up, and which ends the server if the relay is killed. Standard output belongs to the server alone.

A server may leave processes behind that hold its pipes. A host then sees the server's exit and still reads from the pipes, and so with a
tap: the tap ends as the server did, and a forked process passes bytes on until the pipes are closed or the host has gone.
Source: MCP 2025-11-25, Transports, stdio.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import threading

from tui_host.guard.core_dumps import leave_no_core
from tui_host.tap.descriptors import write
from tui_host.tap.recording.channel_write import ERROR, EXITED, IN, OUT
from tui_host.tap.recording.log_file import NoLogError
from tui_host.tap.recording.recorder_process import RecorderOptions, RecorderProcess
from tui_host.tap.stdio.pump import Pump
from tui_host.tap.stdio.server_command import IGNORED_BY_PYTHON, become, cannot_start, environment
from tui_host.tap.stdio.signals import STOPS, Signals, die_of
from tui_host.tap.threads import Thread
from tui_host.tap.typed_command import NO_TAP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from types import FrameType
    from typing import NoReturn

    from tui_host.tap.recording.line_records import LineRecords
    from tui_host.tap.recording.recorder_process import PlainLog, RecorderEnds
    from tui_host.tap.recording.tap_session import TapRecording
    from tui_host.tap.typed_command import Stdio

PATIENCE = 2.0
"""Seconds for each step of a server's end after the host has gone, as in our own connections."""
LOOK_SECONDS = 0.25
"""How often to check whether a silent host has gone."""
START_SECONDS = 1.0
"""Seconds that the recorder leaves the processor to a silent server."""
PIPE_LIMIT = 1 << 20
"""A pipe's usual capacity at most; more bytes after the server's exit come from a process that still runs."""
ROOM = 4 << 20
"""Bytes of memory that must be free at the start, more than the pumps ever take."""
NO_ROOM = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""Errors with which a server cannot start beside a tap, though perhaps in the tap's place."""
WRONG = 2
"""The exit code for wrong use."""

TO_GROUP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals for the server's whole process group, as a terminal sends them."""


def relay(tap: Stdio, closed: Collection[int], plain_log: PlainLog) -> NoReturn:
    """Start the server, relay until the server ends, and end in the server's way.

    Args:
        tap: The typed command.
        closed: Standard streams that the host left closed.
        plain_log: As in `RecorderOptions`.
    """

    def tell(words: str) -> None:
        line = f"tui-host tap {tap.name}: {words}"
        try:
            from tui_host.capture.visible import visible

            line = visible(line, newlines=False)
        except (ImportError, MemoryError):  # there is no room for it either
            line = ascii(line)[1:-1]
        write(2, f"{line}\n".encode(errors="backslashreplace"))

    try:
        options = RecorderOptions(
            tap.name, data_dir=tap.data_dir, log=tap.log, plain_log=plain_log, command=tap.command
        )
    except NoLogError as error:
        tell(f"--log {tap.log}: {error}")
        os._exit(WRONG)

    def work(ends: RecorderEnds) -> None:
        from tui_host.tap.recording.recorder_main import record

        def records_of(recording: TapRecording) -> LineRecords:
            from tui_host.tap.recording.line_records import LineRecords

            return LineRecords(recording, tap.name)

        record(ends, options, records_of, START_SECONDS)

    try:
        running = _Relay(tap, closed, lambda: RecorderProcess(work, tell, options.log_file), tell)
    except (OSError, MemoryError) as error:  # mostly `ulimit -n`, `ulimit -u`, `ulimit -v`
        _close_own()
        tell(f"{NO_TAP}: {_reason(error)}")
        become(tap.command, closed, tell)
    try:
        running.run()
    except (OSError, MemoryError) as error:
        tell(f"the tap cannot go on, and ends the server: {_reason(error)}")
        running.give_up()


class _Relay:
    def __init__(
        self, tap: Stdio, closed: Collection[int], begin: Callable[[], RecorderProcess], tell: Callable[[str], None]
    ) -> None:
        self._tap = tap
        self._closed = closed
        self._tell = tell
        self._group = 0
        self._is_running = True
        self._is_over = threading.Event()
        self._is_hurried = self._is_abandoned = self._is_left = False
        self._nowhere = os.open(os.devnull, os.O_RDWR)
        self._wake, self._waking = os.pipe()
        input_read, self._input = os.pipe()
        self._output, output_write = os.pipe()
        self._errors, errors_write = os.pipe()
        theirs = (input_read, output_write, errors_write)
        self._recorder = begin()
        self._signals = Signals()
        try:
            self._listen()
            self._prepare()
            self._group = self._start(theirs)
        except (OSError, MemoryError):
            self._recorder.undo()
            self._signals.undo()
            raise
        for descriptor in theirs:
            os.close(descriptor)
        self._recorder.guard(self._group)

    def _prepare(self) -> None:
        """Acquire everything that may be refused, while the server can still run without a tap."""
        self._writer = writer = self._recorder.writer()
        self._into = into = Pump(0, self._input, OUT, writer, lambda: self._after_input(into))
        self._out = out = Pump(self._output, 1, IN, writer, lambda: self._after_output(out))
        self._err = err = Pump(self._errors, 2, ERROR, writer, self._after_errors)
        for pump in (into, out, err):
            pump.prepare()
        self._signals.prepare(self._pass_signal)
        bytes(ROOM)  # untouched, and given back at once

    def run(self) -> NoReturn:
        into, out, err, writer = self._into, self._out, self._err, self._writer
        for part in (into, out, err, self._signals):
            part.start()
        leave_no_core()  # not before: the server has the limits that its host gave it
        status = self._wait()
        self._is_running = False
        self._is_over.set()
        held = [pump for pump in (out, err) if not self._is_delivered(pump)]
        writer.report(EXITED, b"%d" % os.waitstatus_to_exitcode(status))
        if held and not self._is_gone():
            self._leave(held, status)
        if self._is_gone():
            self._signal_group(signal.SIGKILL)  # as in our own connections: descendants that outlived an orderly end
        os.dup2(self._nowhere, 0)
        os.dup2(self._nowhere, 1)
        self._recorder.end()
        _end_as(status)

    def give_up(self) -> NoReturn:
        """End, with the server."""
        if self._group and self._is_running:
            self._signal_group(signal.SIGKILL)
        os._exit(1)

    def _wait(self) -> int:
        """Wait for the server's end or a signal. A plain `waitpid` would miss a signal that comes just before the wait."""
        while True:
            ended, status = os.waitpid(self._group, os.WNOHANG)
            if ended:
                return status
            os.read(self._wake, 64)

    def _is_delivered(self, pump: Pump) -> bool:
        """Wait until all is delivered; False if somebody else has the pipe, who may say more, or goes on all the time."""
        pause, enough = 0.001, pump.written + PIPE_LIMIT
        while not (pump.is_over or self._is_hurried):
            if pump.is_held or pump.written > enough:
                return False
            pump.wait(pause)
            pause = min(2 * pause, 0.1)
        return True

    def _leave(self, held: Sequence[Pump], status: int) -> None:
        """End in the server's way, while a forked process passes on the words of remaining processes."""
        try:
            for pump in (self._into, *held):
                pump.halt(self._nowhere)
            child = self._recorder.fork()
            if child:
                _end_as(status)
            self._is_over = threading.Event()
            self._go_on(held)
        except (OSError, MemoryError) as error:
            self._tell(f"what others of the server still say is not passed on: {_reason(error)}")
            return
        while not self._is_over.is_set():
            os.read(self._wake, 64)
        self._recorder.end()
        os._exit(0)

    def _go_on(self, held: Sequence[Pump]) -> None:
        self._is_left = True
        if self._into.is_over:
            Thread(self._end_without_host)
        if self._err.is_over:
            os.dup2(self._nowhere, 2)
        pumps = held if self._into.is_over else (self._into, *held)
        for pump in pumps:
            pump.prepare()
        self._signals.prepare(self._pass_signal)
        Thread(lambda: self._wait_for(held))
        for part in (*pumps, self._signals):
            part.start()

    def _wait_for(self, pumps: Sequence[Pump]) -> None:
        for pump in pumps:
            pump.wait()
        self._finish()

    def _finish(self) -> None:
        self._is_over.set()
        write(self._waking, b"!")

    # The server.

    def _start(self, pipes: Sequence[int]) -> int:
        command = self._tap.command
        try:
            pid = os.posix_spawnp(
                command[0],
                command,
                environment(),
                file_actions=[
                    (os.POSIX_SPAWN_CLOSE, number) if number in self._closed else (os.POSIX_SPAWN_DUP2, pipe, number)
                    for number, pipe in enumerate(pipes)
                ],
                setsigmask=self._signals.mask,
                setpgroup=0,  # so that it can be ended with all that it started, and the host's own group is left alone
                setsigdef=IGNORED_BY_PYTHON,
            )
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise
            cannot_start(command[0], error, self._tell)
        return pid

    def _signal_group(self, number: int) -> None:
        self._signal(os.killpg, number)

    def _signal(self, send: Callable[[int, int], None], number: int) -> None:
        try:
            send(self._group, number)
        except OSError:
            return  # nobody is left

    # Signals.

    def _listen(self) -> None:
        os.set_blocking(self._waking, False)
        signal.set_wakeup_fd(self._waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _heard)  # also where the host ignores it, which would hide how the server ends
        for number in STOPS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._stop)

    def _pass_signal(self, number: int) -> None:
        if self._is_over.is_set():
            self._is_hurried = self._is_hurried or number in TO_GROUP
        elif number in TO_GROUP:
            self._signal_group(number)
        elif self._is_running:
            self._signal(os.kill, number)

    def _stop(self, number: int, _frame: object) -> None:
        """Stop the server too when a terminal stops the tap. SIGCONT reaches the server through the tap."""
        if self._group:
            self._signal_group(number)
        os.kill(os.getpid(), signal.SIGSTOP)

    # What follows the end of a stream.

    def _after_input(self, pump: Pump) -> None:
        os.close(self._input)
        if pump.is_broken:
            os.dup2(self._nowhere, 0)  # the host learns from its next write that nobody reads
        self._end_without_host()

    def _end_without_host(self) -> None:
        """End the server and all its processes once the host has gone."""
        while not self._is_gone():
            if self._is_over.wait(LOOK_SECONDS):  # to wait at the output itself would hold it open
                return
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._is_over.wait(PATIENCE):
                return
            self._signal_group(number)
        self._finish()  # whoever is left has left the group as well

    def _is_gone(self) -> bool:
        """Whether the host takes nothing any more."""
        hosts_end = select.poll()
        hosts_end.register(1, 0)
        gone = select.POLLERR | select.POLLHUP
        if not self._is_abandoned:
            is_gone = self._out.is_broken or any(event & gone for _, event in hosts_end.poll(0))
            self._is_abandoned = self._is_abandoned or is_gone
        return self._is_abandoned

    def _after_output(self, pump: Pump) -> None:
        os.close(self._output)  # where nobody takes it, the server learns so from its next write
        if not pump.is_broken and not self._is_gone():
            os.dup2(self._nowhere, 1)  # the host learns that the server closed it

    def _after_errors(self) -> None:
        os.close(self._errors)
        if self._is_left:
            os.dup2(self._nowhere, 2)  # the host, which has seen the exit, may wait for its end


def _close_own() -> None:
    """Close this process's own descriptors, to free numbers; descriptors from the host stay open."""
    for number in range(3, 64):
        try:
            if not os.get_inheritable(number):
                os.close(number)
        except OSError:
            continue


def _reason(error: OSError | MemoryError) -> str:
    return (isinstance(error, OSError) and error.strerror) or "no memory is left"


def _heard(_number: int, _frame: FrameType | None) -> None:
    """Nothing is to be done but to wake up."""


def _end_as(status: int) -> NoReturn:
    """End with the server's exit code, or by the server's signal."""
    if not os.WIFSIGNALED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    number = os.WTERMSIG(status)
    die_of(number)
    os._exit(128 + number)
