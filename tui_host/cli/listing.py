"""What `sessions list` says of each session: of a tap whose it is, what it stands before, and how much passed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.capture.store.tapped import NOTHING, Passed, passed
from tui_host.chat.infer.stories import Known, TapStory, look_at, stories_of

if TYPE_CHECKING:
    from tui_host.capture.store.sessions import SessionInfo
    from tui_host.capture.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A session in a list.

    Attributes:
        info: It; of a tap with what was found out.
        passed: How much passed, if it is a tap's.
        hosts: Whose it is then, as the host says itself.
        story: The id of the first tap of its story; empty if it is no tap's.
    """

    info: SessionInfo
    passed: Passed = NOTHING
    hosts: Sequence[str] = ()
    story: str = ""

    @property
    def length(self) -> str:
        """Its turns; of a tap what can be counted without a look at all of it."""
        if not self.story:
            return counted(self.info.turns, "turn")
        return in_words(self.passed)


def in_words(passed: Passed) -> str:
    """`12 requests, 40 frames`."""
    told = ((passed.exchanges, "request"), (passed.frames, "frame"))
    return ", ".join(counted(*each) for each in told if each[0]) or "nothing yet"


def counted(number: int, what: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def listing(store: Store) -> Iterator[Listed]:
    """All that is listed, newest first. Blocks.

    Raises:
        StoreError: The file cannot be read.
    """
    infos = store.sessions.list()
    taps = [info for info in infos if info.source == "tap"]
    counts = passed(store)
    known: Known = {}
    looked = {tap.id: look_at(store, tap, known) for tap in taps}
    first = {tap.id: story.taps[0].id for story in stories_of(store, taps, known) for tap in story.taps}
    for info in infos:
        if info.id not in first:
            yield Listed(info=info)
            continue
        abouts = looked[info.id]
        alone = TapStory(taps=[info], about=[abouts])
        models = [each for each in abouts if each.model]
        yield Listed(
            info=replace(
                info,
                title=alone.title,
                model=models[-1].model if models else info.model,
                protocol=models[-1].protocol if models else info.protocol,
            ),
            passed=counts.get(info.id, NOTHING),
            hosts=alone.hosts,
            story=first[info.id],
        )
