"""Sources of the inspector's rows: this host's sessions, taps of another host, or files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.sources.live import SessionSource


def source_of(host: Host, session: Session) -> SessionSource:
    """Return the source for a session. Modules for recordings of other hosts are imported only for these."""
    from tui_host.tui.sources.live import SessionSource

    if not session.is_foreign or host.store is None:
        return SessionSource(host, session)
    from tui_host.chat.conversation import Conversation
    from tui_host.tui.sources.tapped import NO_CHAT, TapSource
    from tui_host.tui.suggestions import FROM_FILE, read_only

    info = host.store.sessions.get(session.id)
    # One of our own that is imported is followed as a tap is while it is read, and then has the chat that it came with.
    if info is not None and info.imported and not (info.is_story or info.live):
        source = SessionSource(host, session)
        source.live, source.empty, source.read_only = False, NO_CHAT, read_only(FROM_FILE)
        source.foreign = "from a file: read only"
        session.conversation = Conversation(host.store.session_items(session.id), redact=session.redact)
        return source
    return TapSource(host, host.store, session, info)
