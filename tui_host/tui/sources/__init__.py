"""Sources of the inspector's rows: this host's sessions, taps of another host, or files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.sources.live import SessionSource

ARRIVING = "arriving"
"""The id of the placeholder for a session that will be read from a file. No stored session has it."""


def source_of(host: Host, session: Session) -> SessionSource:
    """Return the source for a session. Modules for recordings of other hosts are imported only for these."""
    match session.source:
        case "tap":
            from tui_host.tui.sources.tapped import TapFileSource, TapSource

            info = _stored(host, session)
            return (TapFileSource if info is not None and info.imported else TapSource)(host, session)
        case "import":
            from tui_host.tui.sources.imported import ArrivingSource, ImportSource

            return (ArrivingSource if _is_arriving(host, session) else ImportSource)(host, session)
        case _:
            from tui_host.tui.sources.live import SessionSource

            return SessionSource(host, session)


def _stored(host: Host, session: Session) -> SessionInfo | None:
    return None if host.store is None else host.store.sessions.get(session.id)


def _is_arriving(host: Host, session: Session) -> bool:
    """Whether the file is still being read, or was a moment ago, with the chat still empty."""
    info = _stored(host, session)
    return session.id == ARRIVING if info is None else info.live or not len(session.conversation)
