"""Long work in small steps: a generator works and reports progress, so that the screen stays responsive."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")
Steps: TypeAlias = Generator[str, None, T]
"""Work that stops every few milliseconds to say in words how far it is («3,000 of 60,000 bytes»), and returns what it made."""

PIECE = 8 << 10
"""Bytes of a body that are read between two stops: a millisecond or a few."""


_WAIT = 0.002


def in_thread(work: Callable[[], T], words: str) -> Steps[T]:
    """Do in a thread what knows no steps, such as reading large JSON, and say the words meanwhile."""
    executor = ThreadPoolExecutor(1)
    future = executor.submit(work)
    executor.shutdown(wait=False)
    while not wait((future,), timeout=_WAIT).done:
        yield words
    return future.result()


class Making(Generic[T]):
    """Runs steps, a few at a time."""

    def __init__(self, steps: Steps[T], clock: Callable[[], float] = time.perf_counter) -> None:
        self.result: T | None = None  # the result; None until the work is done
        self.progress = ""  # the last report, in words
        self.seconds = 0.0  # time spent so far
        self._clock = clock
        self._steps = self._all_of(steps)

    def _all_of(self, steps: Steps[T]) -> Steps[None]:
        self.result = yield from steps

    def advance(self, seconds: float) -> bool:
        """Continue for about `seconds`; returns whether the work is done.

        Raises:
            Exception: Any exception that a step raises.
        """
        began = self._clock()
        try:
            for progress in self._steps:
                self.progress = progress
                if self._clock() - began >= seconds:
                    return False
        finally:
            self.seconds += self._clock() - began
        return True


def made(steps: Steps[T]) -> T:
    """Run all steps at once, for small work."""
    making = Making(steps)
    making.advance(float("inf"))
    if making.result is None:
        raise ValueError("no step returned a value")
    return making.result
