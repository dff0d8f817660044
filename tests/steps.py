"""How much something costs, told alike on every machine, however busy it is."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


def steps(run: Callable[[], object]) -> int:
    """How many functions are called in it."""
    calls = count()

    def note(_: FrameType, event: str, __: object) -> None:
        if event == "call":
            next(calls)

    before = sys.getprofile()
    gc.collect()
    gc.disable()  # what other tests left behind would be counted while it is taken away
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
        gc.enable()
    return next(calls)
