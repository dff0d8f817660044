"""The recorder's end of the channel: reads whole items in order until the relay ends. Imported late."""

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
"""Seconds to wait so that a burst of messages is read together, instead of waking the recorder for each message."""
_SOON = 0.25
"""Seconds between checks whether everything read is stored."""
_MUCH = 64 << 10
_LATE = 0.25
"""Seconds that data may wait if there is much of it, to leave the processors to relay, host and server."""
_AT_ONCE = 1 << 20


class ChannelReader:
    """Reads the relay's items until the relay has ended.

    Args:
        ends: The recorder's descriptors to the relay.
        grace: Seconds allowed for the remaining items after `hurry`.

    Attributes:
        is_hurried: Whether `hurry` was called.
    """

    def __init__(self, ends: RecorderEnds, grace: float) -> None:
        self._journal = ends.journal
        self._notices = ends.notices
        self._grace = grace
        self.is_hurried = False
        self._deadline: float | None = None

    def hurry(self) -> None:
        """Ask to end soon after the relay's end."""
        self.is_hurried = True
        self._deadline = None

    def wait_for_more_than_input(self, patience: float | None) -> bool:
        """Wait until items other than the host's input arrive: until then the server needs the processor. Takes no item.

        Args:
            patience: Largest number of seconds to wait; None for as long as the relay runs.

        Returns:
            Whether any item has arrived.
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
        """Yield batches of new items. An empty batch now and then leaves time for other work."""
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
        """Wait, depending on the item's age, so that more items can arrive; not if the relay has ended."""
        journal = self._journal
        if journal.left <= _MUCH and not journal.is_over:
            journal.look(TICK)
        seconds = _LATE - (time.monotonic_ns() - passed_ns) / 1e9
        if journal.left > _MUCH and seconds > 0 and not journal.is_over:
            journal.look(seconds)

    def _take(self) -> Sequence[Item]:
        """Return the oldest whole items and remove them."""
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
        """Number of bytes that were not read by the end, or that found no room."""
        return self._journal.left + self._journal.held

    def notify(self, line: bytes) -> None:
        """Send a notice to the relay."""
        send_notice(self._notices, line)

    def _is_overdue(self) -> bool:
        if not self.is_hurried:
            return False
        self._journal.look(0)  # during heavy traffic `wait` is not called, so look for the relay's end here
        if not self._journal.is_over:
            return False
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._grace
        return now >= self._deadline


def send_notice(descriptor: int, line: bytes) -> bool:
    """Send a notice to the relay; returns False if the relay has gone."""
    try:
        os.write(descriptor, line)
    except OSError:
        return False
    return True
