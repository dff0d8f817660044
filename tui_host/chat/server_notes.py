"""Notes in the chat about servers that went away or came back, or whose questions are declined."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui_host.chat.active_profile import offers, profile_of
from tui_host.chat.conversation import NoteItem

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.servers.catalog import Turning
    from tui_host.settings.schema import Settings

REASON_CHARACTERS = 200


def note_turning(sessions: Iterable[Session], settings: Settings, server: str, turning: Turning, reason: str) -> None:
    """Say what happened to a server in each chat that uses it; a chat that has not begun is told nothing."""
    why = reason.partition(";")[0][:REASON_CHARACTERS]
    because = f": {why}" if why else ""
    what, remedy = {
        "back": (f"the server {server} is back", ""),
        "declined": (
            f"all questions of the server {server} are declined until it is connected again, as you chose",
            "r in f3 connects it again",
        ),
        "lost": (f"the server {server} went away{because}", "it is tried again; f3 shows when"),
        "given up": (f"the server {server} is tried no more{because}", "r in f3 tries it at once"),
    }[turning]
    for session in sessions:
        if session.turn and not session.is_foreign and offers(profile_of(session, settings), server):
            note = NoteItem(turn=session.turn, kind="note", what=what, remedy=remedy, server=server)
            session.conversation.add(note)
