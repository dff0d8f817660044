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

_LONGEST = 200


def note_turning(sessions: Iterable[Session], settings: Settings, server: str, turning: Turning, reason: str) -> None:
    """Say in each chat that uses a server that what happened to the server, such as that it went away or is back.

    Args:
        sessions: The open sessions; a chat that has not begun is told nothing.
        settings: The configuration, which has the sessions' profiles.
        server: The server's configured name.
        turning: What happened to it.
        reason: Why, in the words of its status.
    """
    for session in sessions:
        if session.turn and not session.is_foreign and offers(profile_of(session, settings), server):
            session.conversation.add(_note(session.turn, server, turning, reason))


def _note(turn: int, server: str, turning: Turning, reason: str) -> NoteItem:
    what, remedy = f"the server {server} is back", ""
    if turning == "declined":
        what = f"all questions of the server {server} are declined until it is connected again, as you chose"
        remedy = "r in f3 connects it again"
    elif turning != "back":
        why = reason.partition(";")[0][:_LONGEST]
        what = f"the server {server} went away" if turning == "lost" else f"the server {server} is tried no more"
        what = f"{what}: {why}" if why else what
        remedy = "it is tried again; f3 shows when" if turning == "lost" else "r in f3 tries it at once"
    return NoteItem(turn=turn, kind="note", what=what, remedy=remedy, server=server)
