"""Sources of the inspector's rows: this host's sessions, taps of another host, or files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.sources.live import SessionSource


def source_of(host: Host, session: Session) -> SessionSource:
    """Return the source for a session. Modules for recordings of other hosts are imported only for these."""
    if not session.is_foreign or host.store is None:
        from tui_host.tui.sources.live import SessionSource

        return SessionSource(host, session)
    from tui_host.tui.sources.tapped import FileSource, TapSource

    info = host.store.sessions.get(session.id)
    # One of our own that is imported is followed as a tap is while it is read, and then has the chat that it came with.
    if info is not None and info.imported and not (info.is_story or info.live):
        return FileSource(host, host.store, session)
    return TapSource(host, host.store, session, info)
