"""The recorder's end of the channel: reads whole items, in order, to the relay's end. Imported late, apart from `channel_write`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tui_host.tap.recording.channel_write import OUT, TAKEN, read_items

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui_host.tap.recording.channel_write import Item
    from tui_host.tap.recording.recorder_process import RecorderEnds

TICK = 0.005
"""Seconds in which a burst is read together, instead of waking the recorder for each message."""
_SOON = 0.25
"""Seconds between checks whether everything read is kept."""
_MUCH = 64 << 10
_LATE = 0.25
"""Seconds that much data may wait, leaving the processors to relay, host and server."""
_AT_ONCE = 1 << 20


class ChannelReader:
    """Reads the relay's items until the relay ends.

    Args:
        ends: What leads to the relay.
        grace: Seconds that remain for what is left once somebody wants an end.

    Attributes:
        is_hurried: Somebody wants an end.
    """

    def __init__(self, ends: RecorderEnds, grace: float) -> None:
        self._journal = ends.journal
        self._notices = ends.notices
        self._grace = grace
        self.is_hurried = False
        self._deadline: float | None = None

    def hurry(self) -> None:
        """End soon after the relay's end."""
        self.is_hurried = True
        self._deadline = None

    def wait_for_more_than_input(self, patience: float | None) -> bool:
        """Wait until more than a host's input is reported: until then the processor is the server's. Takes nothing.

        Args:
            patience: Seconds to wait at most; None for as long as the relay runs.

        Returns:
            Whether anything was reported.
        """
        journal = self._journal
        end = None if patience is None else time.monotonic() + patience
        while len(data := journal.look_at(_MUCH)) < _MUCH and not journal.is_over:
            left = None if end is None else end - time.monotonic()
            if any(item[0] != OUT for item in read_items(data)[0]) or (left is not None and left <= 0):
                break
            journal.wait(left, len(data))
        return journal.left > 0

    def batches(self) -> Iterator[Sequence[Item]]:
        """Yield batches of new items; an empty batch now and then leaves time for other work."""
        journal = self._journal
        while not self._is_overdue():
            if items := self._take():
                yield items
                self._rest(items[-1][2])
            elif journal.is_over:
                return
            else:
                if journal.needs_care:
                    self.notify(TAKEN)
                yield ()
                journal.wait(_SOON if journal.kept != journal.taken else None)

    def _rest(self, passed_ns: int) -> None:
        """Let more items come behind an item of this age, unless the relay has ended."""
        journal = self._journal
        if journal.left <= _MUCH and not journal.is_over:
            journal.look(TICK)
        seconds = _LATE - (time.monotonic_ns() - passed_ns) / 1e9
        if journal.left > _MUCH and seconds > 0 and not journal.is_over:
            journal.look(seconds)

    def _take(self) -> Sequence[Item]:
        """Take the oldest whole items."""
        limit = _AT_ONCE
        while data := self._journal.look_at(limit):
            items, size = read_items(data)
            if items:
                self._journal.take(size)
                return items
            limit *= 2
        return ()

    @property
    def missing(self) -> int:
        """Bytes left unread at the end, or without room."""
        return self._journal.left + self._journal.held

    def notify(self, line: bytes) -> None:
        """Send the relay a notice."""
        send_notice(self._notices, line)

    def _is_overdue(self) -> bool:
        if not self.is_hurried:
            return False
        self._journal.look(0)  # while there is much to read nobody waits, and so nobody hears of the relay's end
        if not self._journal.is_over:
            return False
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._grace
        return now >= self._deadline


def send_notice(descriptor: int, line: bytes) -> bool:
    """Send the relay a notice; returns False if the relay has gone."""
    try:
        os.write(descriptor, line)
    except OSError:
        return False
    return True
