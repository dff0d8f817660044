"""Runs a host's command in this terminal with taps around it, and ends as the command does.

The command stays in the tap's process group, as under `env` or `time`: a terminal's signals reach both, and pipes and job
control work as without a tap. Signals that were sent to the tap alone are passed on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress

import anyio

from tui_host.capture.session_summary import session_id
from tui_host.errors import TuiHostError
from tui_host.tap.http.relay import Relay, bound
from tui_host.tap.http.upstream import Upstream
from tui_host.tap.relay import IGNORED_BY_PYTHON, RecorderChild, Ring, recorder_words
from tui_host.tap.session import Tell

OF_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGWINCH)
PASSED = (*OF_TERMINAL, signal.SIGHUP, signal.SIGTERM, signal.SIGCONT, signal.SIGUSR1, signal.SIGUSR2)


class RunTap:
    """An HTTP tap on a free port of this machine. Its recorder starts with the first exchange."""

    def __init__(self, wire: str, name: str, upstream: Upstream, folder: str, tell: Tell, notices: int) -> None:
        self._ring, self._words = Ring(), recorder_words(wire, name, data_dir=folder)
        self._tell, self._notices = tell, notices
        *_, began_ns, seed = self._words
        self.session = session_id(int(began_ns), bytes.fromhex(seed))
        self.recorder: RecorderChild | None = None
        self.relay = Relay(bound(0, upstream), upstream, is_mcp=wire == "http", report=self._report, tell=tell)
        self.url = self.relay.origin + upstream.url.path

    def _report(self, kind: bytes, number: int, data: bytes) -> None:
        self._ring.add(kind, number, data)
        if self.recorder is None:
            self.recorder = RecorderChild(self._ring, self._words, self._tell, self._notices)


async def run_host(command: Sequence[str], variables: Mapping[str, str], taps: Sequence[RunTap]) -> int:
    """Run a command behind taps until it ends; returns its status as `os.waitpid` does. Raises TuiHostError if it cannot start."""
    async with AsyncExitStack() as relays:
        for tap in taps:
            await relays.enter_async_context(tap.relay.listening())
        # One that is switched off (nohup) stays off in the command too.
        heeded = [number for number in PASSED if signal.getsignal(number) is not signal.SIG_IGN]
        with anyio.open_signal_receiver(signal.SIGCHLD, *heeded) as signals:
            try:
                process = os.posix_spawnp(command[0], tuple(command), variables, setsigdef=IGNORED_BY_PYTHON)  # noqa: ASYNC221 - at once
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else str(error)
                raise TuiHostError(
                    f"cannot be started: {why}", command[0], "install it, or give its full path"
                ) from error
            async for number in signals:
                if number == signal.SIGCHLD:
                    changed, status = os.waitpid(process, os.WNOHANG | os.WUNTRACED)  # noqa: ASYNC222 - at once
                    if changed and not os.WIFSTOPPED(status):
                        return status
                    if changed:
                        os.kill(os.getpid(), signal.SIGSTOP)  # the shell takes over, and later continues both
                elif number not in OF_TERMINAL or not _is_foreground():
                    with suppress(ProcessLookupError):
                        os.kill(process, number)
    raise AssertionError("signals end")


def _is_foreground() -> bool:
    """Whether the terminal sends its signals to this process, and so to the command."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)
