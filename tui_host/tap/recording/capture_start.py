"""Where the recording of a tap begins: anew, or where a process that died has left it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.session_summary import session_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui_host.capture.store.store import Store

NOT_OPEN = "the database is not open yet"
"""Why nothing is kept at first: that alone is no fault, and not told."""


def _nothing(_: int = 0) -> None:
    """There is nothing to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Where a recording begins.

    Attributes:
        id: Its session's, and its capture's.
        began_ns: When the tap began, on the wall clock.
        after: The last number of a record that is not made again.
        logged: The last one in the log; None where nothing stands there.
        note_logged: Takes that.
        is_another: Another process has died.
        missing: What is missing for that, in words; empty for nothing.
        is_well: Called whenever recording begins, or goes on, as well as it should.
        is_ill: Called whenever it does not any more.
    """

    id: str
    began_ns: int
    after: int = 0
    logged: int | None = None
    note_logged: Callable[[int], None] = _nothing
    is_another: bool = False
    missing: str = ""
    is_well: Callable[[], None] = _nothing
    is_ill: Callable[[], None] = _nothing


def anew() -> Beginning:
    """Just now, and for the first time."""
    now_ns = time.time_ns()
    return Beginning(id=session_id(now_ns, os.urandom(8)), began_ns=now_ns)


def last_kept(store: Store, capture: str, after: int) -> int:
    """The last number that a record of a capture has in a database; that one where it has none after it.

    Raises:
        StoreError: It cannot be read.
    """
    return max((record.seq for record in store.records(capture=capture, after=after)), default=after)
