"""What a relay tells the process that records beside it, as that one hears it: whole things, in order, to the relay's end."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tui_host.tap.recording.channel_write import TAKEN, taken_from
from tui_host.tap.report_kinds import OUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui_host.tap.recording.channel_write import Item
    from tui_host.tap.recording.recorder_process import Ends

TICK = 0.005
"""Seconds in which what comes in a burst is read together: a reader who waits would have to be woken for each message that passes."""
_SOON = 0.25
"""Seconds after which it is looked again whether what was told is kept."""
_MUCH = 64 << 10
_LATE = 0.25
"""Seconds that what passes at once may wait where there is much of it: both sides and the relay want their processors just then. How nice
this process is does not see to that where there are few of them: the system shares each out by itself."""
_AT_ONCE = 1 << 20


class Told:
    """What the relay tells, to its end.

    Args:
        ends: What leads to the relay.
        grace: Seconds that are left for what is left, once somebody wants an end.

    Attributes:
        is_hurried: Somebody wants an end.
    """

    def __init__(self, ends: Ends, grace: float) -> None:
        self._journal = ends.journal
        self._notices = ends.notices
        self._grace = grace
        self.is_hurried = False
        self._deadline: float | None = None

    def hurry(self) -> None:
        """Somebody wants an end; it comes with the relay's, or after it."""
        self.is_hurried = True
        self._deadline = None

    def listen(self, patience: float | None) -> bool:
        """Until it tells more than a host's input, and no longer than so: until then the processor is the server's.

        What it told by then is taken, and not settled.

        Returns:
            Whether it told anything.
        """
        journal = self._journal
        end = None if patience is None else time.monotonic() + patience
        items: Sequence[Item] = ()
        while journal.taken < _MUCH and all(item[0] == OUT for item in items):
            left = None if end is None else end - time.monotonic()
            items = self._take()
            if not items:
                if journal.is_over or (left is not None and left <= 0):
                    break
                journal.wait(left)
        return journal.taken > 0

    def batches(self) -> Iterator[Sequence[Item]]:
        """All that it tells and nobody has taken; now and then nothing, where there is time for something else."""
        journal = self._journal
        while not self._is_overdue():
            if items := self._take():
                yield items
                self._rest(items[-1][2])
            elif journal.is_over:
                return
            else:
                if journal.needs_care:
                    self.notice(TAKEN)
                yield ()
                journal.wait(_SOON if journal.unsettled.size(journal.taken) else None)

    def _rest(self, passed_ns: int) -> None:
        """Let more come behind what passed at that moment; not once the relay has ended."""
        journal = self._journal
        if journal.left <= _MUCH and not journal.is_over:
            journal.look(TICK)
        seconds = _LATE - (time.monotonic_ns() - passed_ns) / 1e9
        if journal.left > _MUCH and seconds > 0 and not journal.is_over:
            journal.look(seconds)

    def _take(self) -> Sequence[Item]:
        """The oldest things that were told, whole; none where there are none."""
        limit = _AT_ONCE
        while data := self._journal.look_at(limit):
            rest = bytearray(data)
            if items := taken_from(rest):
                self._journal.take(data[: len(data) - len(rest)])
                return items
            limit *= 2
        return ()

    @property
    def missing(self) -> int:
        """Bytes that were not read at the end, or found no room."""
        return self._journal.left + self._journal.held

    def notice(self, line: bytes) -> None:
        """Let the relay know."""
        notice(self._notices, line)

    def _is_overdue(self) -> bool:
        if not self.is_hurried:
            return False
        self._journal.look(0)  # where there is much, nobody waits and hears of it
        if not self._journal.is_over:
            return False
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._grace
        return now >= self._deadline


def notice(descriptor: int, line: bytes) -> bool:
    """Let the relay know; False if it has gone."""
    try:
        os.write(descriptor, line)
    except OSError:
        return False
    return True
