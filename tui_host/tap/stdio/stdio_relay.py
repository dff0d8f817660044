"""`tap stdio`: runs a server's command, passes on and records every byte, and passes on the exit code and signals.

The server is started first, and bytes flow before the rest is imported. The recorder is a process of its own, which never holds the relay
up, and which ends the server if the relay is killed. Standard output belongs to the server alone.

A server may leave processes behind that hold its pipes: the tap then passes bytes on until they close the pipes or the host ends its input,
and ends as the server did.
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
from tui_host.tap.stdio.signal_relay import STOPS, SignalRelay, die_of
from tui_host.tap.stdio_arguments import NO_TAP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from types import FrameType
    from typing import NoReturn

    from tui_host.tap.recording.line_records import LineRecords
    from tui_host.tap.recording.recorder_process import PlainLog, RecorderEnds
    from tui_host.tap.recording.tap_session import TapRecording
    from tui_host.tap.stdio_arguments import StdioArguments

PATIENCE = 2.0
"""Seconds for each step of ending a server after the host has gone, as in this program's own connections."""
LOOK_SECONDS = 0.25
"""Seconds between checks whether a silent host has gone."""
START_SECONDS = 1.0
"""Seconds for which the recorder leaves the processor to a silent server."""
IDLE_LOOKS = 5
"""Number of consecutive looks that find a pipe idle before nothing more is expected from it."""
ROOM = 4 << 20
"""Bytes of memory that must be free at the start, more than the pumps ever take."""
NO_ROOM = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""Errors after which a server cannot start beside a tap, but perhaps in the tap's place."""
WRONG = 2
"""The exit code for wrong arguments."""

TO_GROUP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals that are sent to the server's whole process group, as a terminal sends them."""


def relay(tap: StdioArguments, closed: Collection[int], plain_log: PlainLog) -> NoReturn:
    """Start the server, relay until the server ends, and end in the same way.

    Args:
        tap: The arguments of the command.
        closed: Standard streams that the host left closed.
        plain_log: The same as in `RecorderOptions`.
    """

    def tell(words: str) -> None:
        line = f"tui-host tap {tap.name}: {words}"
        try:
            from tui_host.capture.visible import visible

            line = visible(line, newlines=False)
        except (ImportError, MemoryError):  # memory is too short even for this import
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
    except (OSError, MemoryError) as error:  # usually `ulimit -n`, `ulimit -u` or `ulimit -v` is too low
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
        self,
        tap: StdioArguments,
        closed: Collection[int],
        begin: Callable[[], RecorderProcess],
        tell: Callable[[str], None],
    ) -> None:
        self._tap = tap
        self._closed = closed
        self._tell = tell
        self._group = 0
        self._is_running = True
        self._is_over = threading.Event()
        self._is_hurried = self._is_abandoned = False
        self._nowhere = os.open(os.devnull, os.O_RDWR)
        self._wake, self._waking = os.pipe()
        input_read, self._input = os.pipe()
        self._output, output_write = os.pipe()
        self._errors, errors_write = os.pipe()
        theirs = (input_read, output_write, errors_write)
        self._recorder = begin()
        self._signals = SignalRelay()
        try:
            self._listen()
            self._prepare()
            self._group = self._start(theirs)
        except (OSError, MemoryError):
            self._recorder.cancel()
            self._signals.cancel()
            raise
        for descriptor in theirs:
            os.close(descriptor)
        self._recorder.guard(self._group)

    def _prepare(self) -> None:
        """Acquire everything that may fail, while the server can still run without a tap."""
        self._writer = writer = self._recorder.writer()
        self._into = into = Pump(0, self._input, OUT, writer, lambda: self._after_input(into))
        self._out = out = Pump(self._output, 1, IN, writer, lambda: self._after_output(out))
        self._err = err = Pump(self._errors, 2, ERROR, writer, lambda: os.close(self._errors))
        for pump in (into, out, err):
            pump.prepare()
        self._signals.prepare(self._pass_signal)
        bytes(ROOM)  # reserved but not touched, and freed at once

    def run(self) -> NoReturn:
        into, out, err, writer = self._into, self._out, self._err, self._writer
        for part in (into, out, err, self._signals):
            part.start()
        leave_no_core()  # set only now: the server keeps the limits that its host gave it
        status = self._wait()
        self._is_running = False
        for pump in (out, err):
            self._deliver(pump)
        self._is_over.set()
        writer.report(EXITED, b"%d" % os.waitstatus_to_exitcode(status))
        if self._is_gone():
            self._signal_group(signal.SIGKILL)  # descendants may outlive an orderly end
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

    def _deliver(self, pump: Pump) -> None:
        """Wait until all output is delivered. While a process left by the server holds the pipe, wait for the host's end."""
        pause, idle_looks = 0.001, 0
        while not (pump.is_over or self._is_hurried or self._is_gone()) and idle_looks < IDLE_LOOKS:
            pump.wait(pause)
            pause = min(2 * pause, 0.1)
            idle_looks = idle_looks + 1 if self._into.is_over and pump.is_idle else 0

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
                setpgroup=0,  # its own group, which can be ended alone and as a whole
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
            return  # no process is left

    # SignalRelay.

    def _listen(self) -> None:
        os.set_blocking(self._waking, False)
        signal.set_wakeup_fd(self._waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _heard)  # also if the host ignores it, which would hide how the server ends
        for number in STOPS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._stop)

    def _pass_signal(self, number: int) -> None:
        if not self._is_running:
            self._is_hurried = self._is_hurried or number in TO_GROUP
        elif number in TO_GROUP:
            self._signal_group(number)
        else:
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
            if self._is_over.wait(LOOK_SECONDS):  # polls, since waiting on the output would hold it open
                return
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._is_over.wait(PATIENCE):
                return
            self._signal_group(number)
        self._finish()  # remaining processes have left the server's group

    def _is_gone(self) -> bool:
        """Whether the host has gone and no longer reads."""
        hosts_end = select.poll()
        hosts_end.register(1, 0)
        gone = select.POLLERR | select.POLLHUP
        if not self._is_abandoned:
            is_gone = self._out.is_broken or any(event & gone for _, event in hosts_end.poll(0))
            self._is_abandoned = self._is_abandoned or is_gone
        return self._is_abandoned

    def _after_output(self, pump: Pump) -> None:
        os.close(self._output)  # the server learns from its next write that nobody reads
        if not pump.is_broken and not self._is_gone():
            os.dup2(self._nowhere, 1)  # the host learns that the server has closed its output


def _close_own() -> None:
    """Close the descriptors that this process opened, to free their numbers. Descriptors from the host stay open."""
    for number in range(3, 64):
        try:
            if not os.get_inheritable(number):
                os.close(number)
        except OSError:
            continue


def _reason(error: OSError | MemoryError) -> str:
    return (isinstance(error, OSError) and error.strerror) or "no memory is left"


def _heard(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the signal only wakes the tap."""


def _end_as(status: int) -> NoReturn:
    """End with the server's exit code, or by the server's signal."""
    if not os.WIFSIGNALED(status):
        os._exit(os.waitstatus_to_exitcode(status))
    number = os.WTERMSIG(status)
    die_of(number)
    os._exit(128 + number)
