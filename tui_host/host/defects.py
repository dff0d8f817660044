"""Catches errors that no code awaits: in a thread, in an abandoned task, in a destructor."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def catch_defects(noted: Callable[[BaseException, str], None]) -> Generator[None]:
    """Catch the unhandled errors that Python would print, while the block runs inside a running event loop.

    Args:
        noted: Called on the loop with the error and the name of the thread that it ended, or an empty name.
    """
    loop = asyncio.get_running_loop()

    def failed_aside(failure: threading.ExceptHookArgs | sys.UnraisableHookArgs) -> None:
        thread = failure.thread if isinstance(failure, threading.ExceptHookArgs) else None
        if failure.exc_value is not None:
            loop.call_soon_threadsafe(noted, failure.exc_value, thread.name if thread else "")

    def failed_task(_: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        noted(error if isinstance(error, BaseException) else RuntimeError(str(context.get("message"))), "")

    hooks = (threading.excepthook, sys.unraisablehook)
    threading.excepthook, sys.unraisablehook = failed_aside, failed_aside
    loop.set_exception_handler(failed_task)
    try:
        yield
    finally:
        threading.excepthook, sys.unraisablehook = hooks
        loop.set_exception_handler(None)
