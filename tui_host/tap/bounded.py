"""A recorder for what comes faster than any disk takes it: nobody waits, so bytes beyond a bound are counted and not kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tui_host.capture.record import Draft
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact import Redactor

HELD_LIMIT = 96 << 20
"""Bytes of records in memory, with those that a recorder keeps for views after they have been written."""


class Bounded:
    """Hands records on, without their bytes while too many wait.

    Args:
        recorder: Keeps them.
        tell: Takes a sentence for a person.
        limit: How many bytes may wait.

    Attributes:
        missed: Bytes that were not kept.
    """

    def __init__(self, recorder: Recorder, tell: Callable[[str], None], limit: int = HELD_LIMIT) -> None:
        self._recorder = recorder
        self._tell = tell
        self._limit = limit
        self.missed = 0
        self.new_exchange = recorder.new_exchange
        self.new_connection = recorder.new_connection

    @property
    def redactor(self) -> Redactor:
        """Knows the secrets."""
        return self._recorder.redactor

    def append(self, draft: Draft, /) -> int:
        """Keep a record; what an exchange ended with is always kept whole."""
        size = len(draft.data)
        if size and self._recorder.held_bytes + size > self._limit and draft.kind not in {"end", "error"}:
            self.missed += size
            self._tell("more passes than can be written: some of its bytes are not kept")
            draft = replace(draft, data=b"", malformed=f"{size} bytes were not kept: more passed than could be written")
        return self._recorder.append(draft)
