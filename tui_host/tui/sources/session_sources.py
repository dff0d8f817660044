"""Which source shows a session: its own records, what taps recorded, or what came from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.sources.live import SessionSource


ARRIVING = "arriving"
"""The id of what stands for a session that will be read from a file. None that is kept has it."""


def source_of(host: Host, session: Session) -> SessionSource:
    """What the inspector reads from; what only sessions from elsewhere need is imported for them alone."""
    match session.source:
        case "tap":
            from tui_host.tui.sources.tapped import TapFileSource, TapSource

            return (TapFileSource if _is_imported(host, session) else TapSource)(host, session)
        case "import":
            from tui_host.tui.sources.imported import ArrivingSource, ImportSource

            return (ArrivingSource if _is_arriving(host, session) else ImportSource)(host, session)
        case _:
            from tui_host.tui.sources.live import SessionSource

            return SessionSource(host, session)


def _is_imported(host: Host, session: Session) -> bool:
    """Whether a file brought it here."""
    info = _kept(host, session)
    return info is not None and info.imported


def _kept(host: Host, session: Session) -> SessionInfo | None:
    return None if host.store is None else host.store.sessions.get(session.id)


def _is_arriving(host: Host, session: Session) -> bool:
    """Whether it is still read from its file, or was a moment ago: then nobody has put in what it says."""
    info = _kept(host, session)
    return session.id == ARRIVING if info is None else info.live or not len(session.conversation)
