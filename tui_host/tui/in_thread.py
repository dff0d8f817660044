"""Runs a plain function in a thread of its own while the screen goes on: pages, filters, the reading of taps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
_ROOM = threading.Semaphore(3)  # a page, a filter or a story that is read, and one that nobody waits for any more


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Begin some work that only reads. Who needs it no longer cancels the future: what runs goes on, and nobody hears of it."""
    future: Future[T] = Future()

    def run() -> None:
        with _ROOM:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
                future.set_exception(error)

    # A daemon: the end of the program does not wait for it.
    threading.Thread(target=run, name="at work", daemon=True).start()
    return future
