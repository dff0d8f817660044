"""Exports of sessions, one module per format. They contain only records from which secrets were removed.

All but JSON lines are imported when they are asked for: the screen imports this folder before its first frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from tui_host.capture.exports import jsonl_export as jsonl
from tui_host.capture.exports.exported import Exported
from tui_host.capture.exports.keyless import keyless_draft
from tui_host.capture.session_summary import SessionInfo


def _jsonl(source: Exported, session: SessionInfo) -> Iterator[bytes]:
    return jsonl.lines(session, source.session_records(session.id))


def _har(source: Exported, session: SessionInfo) -> Iterator[bytes]:
    from tui_host.capture.exports import har_export

    return har_export.pieces(source.session_records(session.id))


def _curl(source: Exported, session: SessionInfo) -> Iterator[bytes]:
    from tui_host.capture.exports import curl_export

    return curl_export.pieces(session, source.session_records(session.id))


def _markdown(source: Exported, session: SessionInfo) -> Iterator[bytes]:
    from tui_host.capture.exports import markdown_export

    return markdown_export.pieces(session, source.session_items(session.id), source.session_records(session.id))


def _mermaid(source: Exported, session: SessionInfo) -> Iterator[bytes]:
    from tui_host.capture.exports import mermaid_export

    return mermaid_export.pieces(session, source.session_items(session.id), source.session_records(session.id))


def _raw(source: Exported, session: SessionInfo) -> Iterator[bytes]:
    """Yield the bytes of bodies and frames in order. Frames of HTTP stand in the bodies that carried them."""
    for record, _ in source.session_records(session.id):
        if record.kind in {"request", "chunk"} or (record.kind == "frame" and record.exchange is None):
            yield keyless_draft(record).data


EXPORTS: Mapping[str, Callable[[Exported, SessionInfo], Iterator[bytes]]] = MappingProxyType(
    {"jsonl": _jsonl, "har": _har, "curl": _curl, "markdown": _markdown, "mermaid": _mermaid, "raw": _raw}
)
"""The formats by name, each with a function that yields a session's bytes in pieces."""
