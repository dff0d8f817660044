"""How another process that records goes on where one died: nothing that the journal holds is lost, and no record made twice.

Records are made again from what is not settled, under the numbers that they had; what of them the database has is left out there.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Protocol

from tui_host.capture.session_summary import session_id
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError
from tui_host.settings.paths import DATABASE, data_dir
from tui_host.tap.recording.capture_start import NOT_OPEN, Beginning, last_kept
from tui_host.tap.recording.channel_write import head, taken_from
from tui_host.tap.report_kinds import LOST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from tui_host.capture.recorder import Recorder
    from tui_host.tap.recording.channel_read import Told
    from tui_host.tap.recording.channel_write import Item
    from tui_host.tap.recording.journal import Journal
    from tui_host.tap.recording.recorder_process import Asked, Ends

UNWRITTEN = 8 << 20
"""Bytes that are recorded before the database is waited for: here nobody else waits."""
SETTLE_SECONDS = 1.0
"""The same as time: what nobody has to make again is not made again."""
UNSETTLED = 1 << 20
"""Bytes that are told before they are looked through for what is on its way, once all is written."""
_OF_ONE = 10
"""Records that are made of something without bytes, at most; of each byte, two."""


class Folding(Protocol):
    """Makes records of what a relay tells."""

    def restore(self, state: Iterable[Item]) -> None:
        """Go on from the state of another, without a record of it."""
        ...

    def take(self, item: Item) -> int:
        """The next thing that the relay tells; gives the bytes that its records take in memory."""
        ...

    @property
    def is_at_rest(self) -> bool:
        """Whether its state takes no look at what was told."""
        ...

    def state(self, told: Callable[[], Sequence[Item]]) -> Sequence[Item]:
        """What has to be told for it.

        Args:
            told: Gives the state that it was in before, and what was told since.
        """
        ...

    def finish(self) -> None:
        """Nothing follows."""
        ...


def beginning(
    ends: Ends, asked: Asked, typed: Path | None, *, is_well: Callable[[], None], is_ill: Callable[[], None]
) -> Beginning:
    """Where a process goes on that another has died before, or begins.

    Args:
        ends: With what that one left.
        asked: What is recorded.
        typed: `--data-dir DIR`.
        is_well: As `Beginning` has it.
        is_ill: The same.
    """
    journal, unsettled = ends.journal, ends.journal.unsettled
    identity = session_id(asked.began_ns, asked.seed)

    def is_told() -> None:
        unsettled.is_told = True
        unsettled.lost = 0
        is_well()

    if unsettled.is_short and ends.is_another:
        seq = _last_kept(typed, identity, unsettled.seq)
        unsettled.begin_anew(journal.taken, unsettled.reached if seq is None else seq)
    lost = unsettled.lost
    return Beginning(
        id=identity,
        began_ns=asked.began_ns,
        after=unsettled.seq,
        logged=unsettled.logged,
        note_logged=partial(setattr, unsettled, "logged"),
        is_another=ends.is_another,
        missing=f"up to {lost:,} bytes are missing, and what follows in answers that had begun" if lost else "",
        is_well=is_told,
        is_ill=is_ill,
    )


def restore(journal: Journal, folder: Folding) -> None:
    """Make again what records there may not be of what another process had taken."""
    unsettled = journal.unsettled
    unsettled.is_at_work = True
    folder.restore(taken_from(bytearray(unsettled.state())))
    for item in taken_from(bytearray(unsettled.since(journal.taken))):
        folder.take(item)


def fold(
    told: Told, journal: Journal, recorder: Recorder, folder: Folding, missed: Callable[[int], None] = lambda _: None
) -> None:
    """Make records of all that is told, and settle what is kept.

    Args:
        told: It.
        journal: Where it stands.
        recorder: Keeps the records.
        folder: Makes them.
        missed: Hears how many bytes more were not told, as there was no room for them.
    """
    unsettled = journal.unsettled
    unwritten, waited_at = 0, 0.0
    for items in told.batches():
        unsettled.reached = recorder.reached + sum([_OF_ONE + 2 * len(item[3]) for item in items])
        for item in items:
            unwritten += folder.take(item)
            if item[0] in LOST:
                missed(int(item[3]))
        now = time.monotonic()
        if (unwritten > UNWRITTEN or now - waited_at > SETTLE_SECONDS) and not recorder.fault:
            unwritten, waited_at = 0, now
            recorder.flush()
        unsettled.kept = recorder.reached - recorder.left
        unsettled.is_fault_told = recorder.fault not in {"", NOT_OPEN}
        if not recorder.left:
            unsettled.whole = journal.taken
            _settle(journal, recorder.reached, folder)
    folder.finish()


def _settle(journal: Journal, seq: int, folder: Folding) -> None:
    """All records up to this number are kept: nothing of what they were made of is needed any more, but for what is on its way."""
    unsettled, taken = journal.unsettled, journal.taken
    size = unsettled.size(taken)
    is_worth = size > max(UNSETTLED, unsettled.state_size) and not unsettled.is_short
    if size and (folder.is_at_rest or is_worth):
        state = folder.state(lambda: taken_from(bytearray(unsettled.state() + unsettled.since(taken))))
        told = [head(kind, number, mono_ns, len(data)) + data for kind, number, mono_ns, data in state]
        unsettled.settle(taken, b"".join(told), seq)


def _last_kept(typed: Path | None, capture: str, after: int) -> int | None:
    """The last number of a record after that one, as the database tells; None where it tells nothing."""
    try:
        store = Store.open_to_read(data_dir(typed, os.environ) / DATABASE)
    except TuiHostError:
        return None
    try:
        return last_kept(store, capture, after)
    except TuiHostError:
        return None
    finally:
        store.close()
