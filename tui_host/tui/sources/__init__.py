"""Sources of the inspector's rows: this host's sessions, taps of another host, or files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.sources.live import SessionSource

ARRIVING = "arriving"
"""The id of the placeholder for a session that will be read from a file. No stored session has it."""


def source_of(host: Host, session: Session) -> SessionSource:
    """Return the source for a session. Modules for recordings of other hosts are imported only for these."""
    if not session.is_foreign:
        from tui_host.tui.sources.live import SessionSource

        return SessionSource(host, session)
    from tui_host.tui.sources.imported import ExpectedSource, ImportSource
    from tui_host.tui.sources.tapped import TapFileSource, TapSource

    if session.id == ARRIVING:
        return ExpectedSource(host, session)
    info = None if host.store is None else host.store.sessions.get(session.id)
    if info is None or not info.imported:
        return TapSource(host, session)
    # one of our own is followed like a tap while it is read, and then has the chat that it came with
    return TapFileSource(host, session) if info.is_story or info.live else ImportSource(host, session)
