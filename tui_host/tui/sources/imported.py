"""Sources for sessions of our own that were read from files, and for a file that has given no record yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.chat.conversation import Conversation
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.sources.source_words import FROM_FILE, NO_CHAT, reading_words

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.chat.session import Session
    from tui_host.host.host import Host


class ImportSource(SessionSource):
    """The rows and bytes of an imported session of our own, with the chat that was stored for it."""

    empty: str | None = NO_CHAT
    read_only = FROM_FILE
    foreign = "from a file: read only"
    origin = "from a file"

    def __init__(self, host: Host, session: Session) -> None:
        super().__init__(host, session)
        self.live = False
        items = () if host.store is None else host.store.sessions.item_texts(session.id)
        session.conversation = Conversation(items, redact=session.redact)

    @override
    def _belongs(self, record: Record) -> bool:
        return False


class ExpectedSource(SessionSource):
    """Stands for a session whose file has given no record yet."""

    read_only = FROM_FILE

    def __init__(self, host: Host, session: Session) -> None:
        super().__init__(host, session)
        self.empty = reading_words(session.title)
        self.foreign = f"{self.empty}: read only"

    @property
    @override
    def why_empty(self) -> str:
        return reading_words(self.session.title)

    @override
    def _belongs(self, record: Record) -> bool:
        return False
