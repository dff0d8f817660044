"""A process just forked of a tap, apart from it in all that a system hands down; and how it ended. Imported before the first byte flows."""

from __future__ import annotations

import os
import signal
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn


def is_there(process: int) -> bool:
    """Whether a process has not ended; how it did stays to be asked for."""
    try:
        return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return True  # it is another's child, who knows


def how_ended(process: int, patience: float) -> str:
    """How a process died whose end is there, or is about to be; empty if it ended in order, or goes on for so many seconds."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            ended, status = os.waitpid(process, os.WNOHANG)
        except ChildProcessError:
            return "has ended"  # it is another's child
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return f"was ended by {_signal_name(-code)}" if code < 0 else f"has ended with {code}" if code else ""
        time.sleep(0.001)
    return ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def apart(work: Callable[[], None], kept: Sequence[int]) -> NoReturn:
    """In it: do this where no signal to the tap's group comes, and then end.

    Args:
        work: What it does.
        kept: The descriptors that it needs for that.
    """
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):  # the relay's
                signal.signal(number, signal.SIG_DFL)
        _keep_alone(sorted(kept))
        work()
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
