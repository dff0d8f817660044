"""What comes from a file, for chat and inspector: nothing of this process belongs to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.tui.source import SessionSource
from tui_host.tui.widgets.first import FROM_FILE, reading_words

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.capture.record import Record
    from tui_host.chat.session import Session
    from tui_host.host.host import Host

NO_CHAT = "What was captured elsewhere: no chat stands in it; the wires are in the inspector (f2). Nothing can be sent from here: ctrl+n begins a session of your own."


class ImportSource(SessionSource):
    """The rows and bytes of one import."""

    empty: str | None = NO_CHAT
    read_only = FROM_FILE

    def __init__(self, host: Host, session: Session) -> None:
        super().__init__(host, session)
        self.live = False

    @property
    @override
    def foreign(self) -> str:
        return "from a file: read only"

    @property
    @override
    def origin(self) -> str:
        return "from a file"

    @override
    def _belongs(self, record: Record) -> bool:
        return False

    @override
    def names(self, row: Row) -> Mapping[str, tuple[str, str]]:
        return {}


class ArrivingSource(ImportSource):
    """What stands for one while its file is read: there are no rows before all of it was understood."""

    def __init__(self, host: Host, session: Session) -> None:
        super().__init__(host, session)
        self.empty = reading_words(session.title)

    @property
    @override
    def why_empty(self) -> str:
        return reading_words(self._session.title)
