"""Makes the lines of `sessions list`: sessions, and stories with their taps and the amount of traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.store.tap_summary import NOTHING, Passed, passed, total
from tui_host.infer.stories import Stories, TapStory

if TYPE_CHECKING:
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.capture.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A line of the list.

    Attributes:
        info: The session; for a story or a tap, its summary in the form of a session.
        passed: The amount of traffic that passed the taps.
        halves: For a story of several taps, the lines of its taps.
    """

    info: SessionInfo
    story: TapStory | None = None
    passed: Passed = NOTHING
    halves: Sequence[Listed] = ()

    @property
    def length(self) -> str:
        """The number of turns; for taps, the number of requests and frames."""
        if self.story is None:
            return counted(self.info.turns, "turn")
        return in_words(self.passed, live=self.info.live)


def in_words(passed: Passed, *, live: bool) -> str:
    """Format the amount of traffic as `12 requests, 40 frames`, or `nothing yet`."""
    counts = ((passed.exchanges, "request"), (passed.frames, "frame"))
    return ", ".join(counted(*count) for count in counts if count[0]) or f"nothing{' yet' * live}"


def counted(number: int, what: str) -> str:
    """Format a number with its noun: `1 turn`, `2 turns`."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def listing(store: Store) -> Sequence[Listed]:
    """List sessions and stories, newest first. Blocks on the disk.

    Raises:
        StoreError: The database cannot be read.
    """
    counts = passed(store)
    lines, _ = Stories(store).listed()
    return [story_line(line, counts) if isinstance(line, TapStory) else Listed(info=line) for line in lines]


def story_line(story: TapStory, counts: Mapping[str, Passed]) -> Listed:
    """Make the line of a story; a story of several taps also has a line for each tap."""
    return Listed(
        info=story.info,
        story=story,
        passed=total(counts.get(tap.id, NOTHING) for tap in story.taps),
        halves=[story_line(half, counts) for half in story.halves],
    )
