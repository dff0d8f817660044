"""Threads whose failed start raises instead of hanging, and forking beside threads. Imported before the first byte flows."""

from __future__ import annotations

import _thread
import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BEGIN_SECONDS = 5.0
"""Seconds that a thread may take to begin; a failed start is silent."""


class Thread:
    """A running thread.

    Args:
        work: The function to run.

    Raises:
        OSError: The thread cannot start.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._beginning = _thread.allocate_lock()
        self._beginning.acquire()
        self._running = _thread.allocate_lock()
        self._running.acquire()
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError as error:
            raise OSError(errno.EAGAIN, "no thread can be started") from error
        if not self._beginning.acquire(timeout=BEGIN_SECONDS):
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    def _run(self) -> None:
        try:
            self._beginning.release()
            self._work()
        finally:
            self._running.release()

    @property
    def is_alive(self) -> bool:
        """Whether the thread still runs."""
        return self._running.locked()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the thread's end, at most the given seconds."""
        if self._running.acquire(timeout=-1 if seconds is None else seconds):
            self._running.release()


def fork() -> int:
    """Fork, also beside other threads: the child must not use a lock from before the fork.

    Raises:
        OSError: The process cannot be forked.
    """
    if sys.warnoptions:
        import warnings  # already imported at this point

        # Python 3.12 and later warn about locks that other threads may hold for ever. The child uses only new locks;
        # and warnings were asked for from the server, whose standard error this is.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    return os.fork()
