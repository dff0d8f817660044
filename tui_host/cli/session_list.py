"""What `sessions list` says of each session: of a tap whose it is, what it stands before, and how much passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from tui_host.capture.store.tap_summary import NOTHING, Passed, passed, total
from tui_host.infer.taps.stories import TapStory, all_listed

if TYPE_CHECKING:
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.capture.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A session in a list.

    Attributes:
        info: It; of a tap with what was found out.
        passed: How much passed, if it is a tap's.
        hosts: Whose it is then, as the host says itself.
        story: The id of the first tap of its story; empty if it is no tap's.
        taps: Of a story that several taps tell, each of them.
    """

    info: SessionInfo
    passed: Passed = NOTHING
    hosts: Sequence[str] = ()
    story: str = ""
    taps: Sequence[Listed] = ()

    @property
    def length(self) -> str:
        """Its turns; of a tap what can be counted without a look at all of it."""
        if not self.story:
            return counted(self.info.turns, "turn")
        return in_words(self.passed, live=self.info.live)


def in_words(passed: Passed, *, live: bool) -> str:
    """`12 requests, 40 frames`; where nothing passed whether it may yet."""
    told = ((passed.exchanges, "request"), (passed.frames, "frame"))
    return ", ".join(counted(*each) for each in told if each[0]) or f"nothing{' yet' * live}"


def counted(number: int, what: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def listing(store: Store) -> Sequence[Listed]:
    """All that is listed, newest first; what several taps tell is one. Blocks.

    Raises:
        StoreError: The file cannot be read.
    """
    counts = passed(store)
    lines, _ = all_listed(store, {})
    return [_story(each, counts) if isinstance(each, TapStory) else Listed(info=each) for each in lines]


def sessions_of(lines: Iterable[Listed]) -> Sequence[Listed]:
    """Every session of a list for itself, newest first."""
    alone = chain.from_iterable(each.taps or (each,) for each in lines)
    return sorted(alone, key=lambda each: each.info.updated_ns, reverse=True)


def _story(told: TapStory, counts: Mapping[str, Passed]) -> Listed:
    """A story, with its taps where there are several."""
    first = told.taps[0]
    alone = [TapStory(taps=[tap], about=[about]) for tap, about in zip(told.taps, told.about, strict=True)]
    taps = [_story(each, counts) for each in alone] if len(alone) > 1 else []
    return Listed(
        info=replace(
            first,
            title=told.title,
            updated_ns=told.updated_ns,
            live=told.live,
            model=told.model or first.model,
            protocol=told.protocol or first.protocol,
        ),
        passed=total(counts.get(tap.id, NOTHING) for tap in told.taps),
        hosts=told.hosts,
        story=first.id,
        taps=[replace(tap, story=first.id) for tap in taps],
    )
