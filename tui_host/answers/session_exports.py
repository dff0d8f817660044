"""All formats in which a session is exported: those of records alone, and those that take requests and answers apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from tui_host.answers import article_export, html_export
from tui_host.answers.recorded_wires import RecordedWires
from tui_host.capture.exports import EXPORTS
from tui_host.capture.exports.exported import Exported
from tui_host.capture.session_summary import SessionInfo


def _wires(source: Exported, session: SessionInfo) -> RecordedWires:
    records = (record for record, _ in source.session_records(session.id))
    return RecordedWires(records, user="the user" if session.is_foreign else "you")


def _article(source: Exported, session: SessionInfo) -> Iterator[bytes]:
    return article_export.pieces(_wires(source, session), session)


def _html(source: Exported, session: SessionInfo) -> Iterator[bytes]:
    return html_export.pieces(_wires(source, session), session, source.session_items(session.id))


SESSION_EXPORTS: Mapping[str, Callable[[Exported, SessionInfo], Iterator[bytes]]] = MappingProxyType(
    {**EXPORTS, "article": _article, "html": _html}
)
"""The formats by name, each with a function that yields a session's bytes in pieces."""
