"""How much something costs, told alike on every machine, however busy it is."""

import gc
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import SupportsIndex, overload

from typing_extensions import override


def steps(run: Callable[[], object]) -> int:
    """How many functions are called in it, of Python and of C, in this thread."""
    with counted_steps() as taken:
        run()
        return taken()


@contextmanager
def counted_steps() -> Generator[Callable[[], int]]:
    """Says at any time how many have been called since this was entered."""
    called = 0

    def note(_: FrameType, event: str, __: object) -> None:
        nonlocal called
        called += event in {"call", "c_call"}

    before = sys.getprofile()
    gc.collect()
    gc.disable()  # what other tests left behind would be counted while it is taken away
    sys.setprofile(note)
    try:
        yield lambda: called
    finally:
        sys.setprofile(before)
        gc.enable()


class Copied(bytes):
    """Bytes that count how many of them are copied, in `size`, which no count of calls can see."""

    size = 0

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> bytes: ...
    @override
    def __getitem__(self, index: SupportsIndex | slice) -> int | bytes:
        found = super().__getitem__(index)
        self.size += len(found) if isinstance(found, bytes) else 0
        return found
