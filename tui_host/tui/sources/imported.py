"""Sources for sessions read from files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.capture.store.imported_records import turns_of
from tui_host.capture.store.tap_summary import captures_of
from tui_host.chat.conversation import item_from_text
from tui_host.errors import StoreError
from tui_host.host.session_storage import tell_imported
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.sources.source_words import FROM_FILE, reading_words

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.chat.session import Session
    from tui_host.host.host import Host

NO_CHAT = "This capture has no chat. Read its requests and frames in the inspector (f2). To send something, begin a session of your own with ctrl+n."


class ImportSource(SessionSource):
    """The rows and bytes of an imported session."""

    empty: str | None = NO_CHAT
    read_only = FROM_FILE
    foreign = "from a file: read only"
    origin = "from a file"

    def __init__(self, host: Host, session: Session) -> None:
        super().__init__(host, session)
        self.live = False

    @override
    def _belongs(self, record: Record) -> bool:
        return False


class ArrivingSource(ImportSource):
    """A session whose file another process is still reading.

    Attributes:
        reached: How far the process has read, as text.
    """

    def __init__(self, host: Host, session: Session) -> None:
        super().__init__(host, session)
        self.live = True
        self.is_behind = False  # what there is is drawn, however much is to come
        self.reached = reading_words(session.title)
        self._tell_progress()
        self._version: int | None = None
        self._written: SessionInfo | None = None
        self._last: dict[str, int] = {}

    @property
    @override
    def news(self) -> object:
        return self._version_now(), self.reached

    def _version_now(self) -> int | None:
        """A number that changes with every write; None while the store cannot tell, such as with a full disk."""
        try:
            return None if self._host.store is None else self._host.store.data_version()
        except StoreError:
            return None

    @override
    def look(self) -> None:
        if self.live:
            self._tell_progress()
        try:
            self._look_on()
        except StoreError:  # what cannot be read now may be readable later
            self._version, self._earlier, self.is_settled = None, None, True

    def _tell_progress(self) -> None:
        self.empty = self.reached
        self.foreign = f"{self.reached}: read only"

    def _look_on(self) -> None:
        version = self._version_now()
        if self._host.store is not None and version != self._version:
            self._version = version
            # before its records are: then those are all
            self._written = self._host.store.sessions.get(self.session.id)
            self._earlier = self._kept_records()
        super().look()
        if self.live and self.is_settled and self._written is not None and not self._written.live:
            self._end(self._written)

    @override
    def _kept_records(self) -> Iterator[Record]:
        store = self._host.store
        if store is None:
            return
        for capture in captures_of(store, self.session.id):
            yield from store.records(capture=capture, after=self._last.get(capture, 0))

    @override
    def _feed(self, records: Sequence[Record]) -> None:
        super()._feed(records)
        self._last.update((record.capture, record.seq) for record in records)

    def break_off(self, words: str) -> None:
        """Set the reason why reading stopped; the session ends once all written records are shown."""
        self.reached = words
        self._version = None  # nothing was written, and yet it is another

    def _end(self, info: SessionInfo) -> None:
        """Finish the session: fill in the chat and its speakers."""
        store, session = self._host.store, self.session
        items = (
            () if store is None else store.session_items(session.id)
        )  # where they cannot be read it has not ended yet
        self.live = False
        self.foreign = ImportSource.foreign
        self._take_turns()
        self._close()
        tell_imported(session, info)
        for text in items:
            session.conversation.add(item_from_text(text))
        self.is_stale = info.source != "import"  # in one of our own what belongs to no session has another place
        if not self.is_stale:
            self.empty = NO_CHAT  # else the chat is still to come, from what takes this one's place

    @override
    def _close(self) -> None:
        if not self.live:
            super()._close()

    def _take_turns(self) -> None:
        """Assign the rows to turns, which are known once all records have been read."""
        if self._host.store is None:
            return
        turns = turns_of(self._host.store, self.session.id)
        self.ladder.put_into_turns(turns)
        for key, (turn, _) in turns.items():
            if (key[0], turn) not in self._begun and (number := self.ladder.row_of(key)) is not None:
                mono_ns = self.ladder.rows[number].mono_ns
                if mono_ns is not None:
                    self._begun[key[0], turn] = mono_ns

    @property
    @override
    def why_empty(self) -> str:
        return self.reached if self.live else super().why_empty
