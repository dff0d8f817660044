"""What taps recorded of another host, for chat and inspector: followed while they run, several of the same time as one story.

Every tap is a process of its own that writes to the database; what is new there is fetched when it is looked at. Rows of several
captures are put in the order of time, for which what has just come waits a moment for what the others have yet to write.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.record import Draft, Record
from tui_host.capture.store.tapped import captures_of
from tui_host.chat.conversation import Conversation
from tui_host.chat.infer.stories import Known, late_ns, story_with
from tui_host.chat.infer.story import Found, Story
from tui_host.chat.infer.telling import Telling
from tui_host.errors import StoreError
from tui_host.settings.schema import ModelRef
from tui_host.tui.source import LOOK_SECONDS, PER_PAGE, SessionSource

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.store.sessions import SessionInfo
    from tui_host.chat.session import Session
    from tui_host.host.host import Host

WAIT_NS = 250_000_000
"""So long a record waits for what another process has yet to write of the time before it."""
TAPS_SECONDS = 1.0
"""How often it is looked for taps that have begun, or ended."""
JOIN_SECONDS = 0.2
"""How often at most calls are joined anew while much comes."""
PATIENCE = 20
"""And not before so many times what that took the last time."""
_LINKS_FROM = 1 << 48
"""Numbers of the links that are found here: no capture has so many records."""

NO_MODEL = "Only servers are tapped so far. tui-host tap llm --upstream URL shows what this host says to its model."
LOADING = "What the taps recorded is being read …"
NOTHING_SAID = "Nothing has been said yet: use the tapped host, and it appears here."


@dataclass(slots=True)
class _Tapped:
    """One tap's capture, as far as it was read."""

    capture: str
    info: SessionInfo
    seen: int = 0
    waiting: deque[tuple[int, Record]] = field(default_factory=deque[tuple[int, Record]])
    has_more: bool = True


class TapSource(SessionSource):
    """The rows and bytes of one story, which begins anew in the session's conversation."""

    read_only = "A tap's, read only.  ctrl+n new session  / commands"

    def __init__(self, host: Host, session: Session) -> None:
        super().__init__(host, session)
        self.ladder = Ladder(session.id)
        self.empty = LOADING
        session.conversation = Conversation(redact=session.redact)
        self._story = Story(session.id)
        self._telling = Telling(self._story, session.conversation)
        self._taps: dict[str, _Tapped] = {}
        self._links: dict[tuple[str, int], Record] = {}
        self._known: Known = {}
        self._given: set[Found] = set()
        self._joined = -1
        self._version = -1
        self._looked_for_taps = self._join_at = 0.0
        self._turns: dict[int, int] = {}

    # What is new.

    @property
    @override
    def news(self) -> object:
        """Changes whenever a look may find something."""
        store = self._host.store
        try:
            version = 0 if store is None else store.data_version()
        except StoreError:
            version = 0
        is_due = self.live and time.monotonic() - self._looked_for_taps >= TAPS_SECONDS
        return version, is_due, any(tap.waiting for tap in self._taps.values())

    @override
    def look(self) -> None:
        try:
            self._look_at_taps()
        except (
            StoreError
        ):  # what cannot be read now may be readable later; that the store has a fault is told elsewhere
            self.is_settled = True

    def _look_at_taps(self) -> None:
        until = time.perf_counter() + LOOK_SECONDS
        store = self._host.store
        if store is None:
            return
        version = store.data_version()
        if version != self._version:
            self._version = version
            for tap in self._taps.values():
                tap.has_more = True
        if time.monotonic() - self._looked_for_taps >= TAPS_SECONDS:
            self._looked_for_taps = time.monotonic()
            self._look_for_taps()
        self.is_settled = False
        while time.perf_counter() < until:
            ready = list(self._ready())
            if not ready:
                break
            self._feed([self._story.feed(record) for record in ready])
        is_read = not any(tap.has_more for tap in self._taps.values())
        if is_read and time.monotonic() >= self._join_at:
            began = time.monotonic()
            self._join()
            self._join_at = began + max(JOIN_SECONDS, PATIENCE * (time.monotonic() - began))
        is_waiting = any(tap.has_more or tap.waiting for tap in self._taps.values())
        self.is_settled = not is_waiting and self._joined == self._story.revision

    def _look_for_taps(self) -> None:
        """Those that belong to the story by now, and whether they run."""
        store = self._host.store
        if store is None:
            return
        told = story_with(store, self._session.id, self._known)
        for info in told.taps:
            for capture in captures_of(store, info.id) if info.imported else (info.id,):
                self._taps.setdefault(capture, _Tapped(capture, info)).info = info
        if told.taps:
            self._session.title = told.title
        self.live = any(tap.info.live for tap in self._taps.values())

    def _ready(self) -> Iterator[Record]:
        """The next records in the order of time, a page at most."""
        now_ns = time.time_ns()
        for tap in self._taps.values():
            self._fill(tap)
        for _ in range(PER_PAGE):
            first = min(
                (tap for tap in self._taps.values() if tap.waiting), key=lambda tap: tap.waiting[0][0], default=None
            )
            if first is None:
                return
            at_ns = first.waiting[0][0]
            is_alone = all(tap.waiting or not tap.info.live for tap in self._taps.values())
            if not is_alone and at_ns > now_ns - WAIT_NS:
                return
            yield first.waiting.popleft()[1]
            if not first.waiting:
                self._fill(first)

    def _fill(self, tap: _Tapped) -> None:
        store = self._host.store
        if tap.waiting or not tap.has_more or store is None:
            return
        records = list(store.records(capture=tap.capture, after=tap.seen, limit=PER_PAGE))
        tap.has_more = len(records) == PER_PAGE
        if records:
            tap.seen = records[-1].seq
            tap.waiting.extend(
                (self._story.at_ns(record) - late_ns(record), record)
                for record in records
                if record.draft.kind != "link"  # as a story has them that was brought here: they are found anew
            )

    @override
    def _feed(self, records: Sequence[Record]) -> None:
        for record in records:
            self._turns.setdefault(record.draft.place.turn or 0, record.mono_ns)
        self.ladder.feed(records)

    def _join(self) -> None:
        """Show what was found to belong together, and tell what was said."""
        if self._joined == self._story.revision:
            return
        self._joined = self._story.revision
        found = list(self._story.links())
        if not self._given <= set(found):
            lost = {_place(each) for each in self._given} - {_place(each) for each in found}
            self.is_stale = bool(lost)
        new = [each for each in found if each not in self._given]
        known = {_place(each) for each in self._given}
        self._given.update(new)
        self.ladder.feed([self._link(each) for each in new if _place(each) not in known])
        self._telling.tell()
        session, models = self._session, self._story.models
        session.turn = max(self._story.talks.turns, 1)
        if models:
            session.model = ModelRef(provider=models[-1][0], model=models[-1][1])
            session.protocol = self._story.protocols[0]
        self.empty = NO_MODEL if self._story.frames.sent and not models else NOTHING_SAID

    def _link(self, found: Found) -> Record:
        seq = _LINKS_FROM + len(self._links)
        draft = Draft(wire="host", kind="link", place=found.place, data=found.link.to_bytes())
        record = Record(capture=found.capture, seq=seq, time_ns=0, mono_ns=0, draft=draft)
        self._links[record.key] = record
        return record

    @property
    @override
    def foreign(self) -> str:
        """Whose session it is, and whether it goes on."""
        whose = " and ".join(self._story.hosts) or "another host"
        return f"{whose}, {'followed' if self.live else 'tapped'}: read only"

    # Bytes.

    @override
    def record(self, key: tuple[str, int]) -> Record | None:
        if key in self._links:
            return self._links[key]
        found = super().record(key)
        return None if found is None else self._story.on_clock(found)

    @override
    def _read(self, capture: str, after: int, last: int) -> Sequence[Record]:
        return [self._story.on_clock(record) for record in super()._read(capture, after, last)]

    @override
    def started_mono_ns(self, row: Row) -> int:
        return self._turns.get(row.turn, row.mono_ns)

    @override
    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        asked = {joined.asked.name for joined in self._story.joined()}
        known = {name: self._story.tools_named(name) for name in asked}
        return {name: next(iter(tools)) for name, tools in known.items() if len(tools) == 1}


def _place(found: Found) -> tuple[object, ...]:
    """What is joined to what, whatever is known besides."""
    link = found.link
    return found.capture, link.relation, link.call, link.span.exchange, link.span.seq, not link.call and link.span
