"""Exports of sessions, one module per format. They contain only records from which secrets were removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from tui_host.capture.exports import jsonl_export as jsonl
from tui_host.capture.exports import markdown_export as markdown
from tui_host.capture.record import Record
from tui_host.capture.session_summary import SessionInfo


class Exported(Protocol):
    """Where the exported session comes from: the store, or a story of several taps."""

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:
        """Return the records of a session in order, each with True if it belongs to a connection's preamble."""
        ...

    def session_items(self, session: str) -> Sequence[str]:
        """Return the chat's items as JSON, in order."""
        ...


def _jsonl(source: Exported, session: SessionInfo) -> Iterator[bytes]:
    return jsonl.lines(session, source.session_records(session.id))


def _markdown(source: Exported, session: SessionInfo) -> Iterator[bytes]:
    return markdown.pieces(session, source.session_items(session.id), source.session_records(session.id))


EXPORTS: Mapping[str, Callable[[Exported, SessionInfo], Iterator[bytes]]] = MappingProxyType(
    {"jsonl": _jsonl, "markdown": _markdown}
)
"""The formats by name, each with a function that yields a session's bytes in pieces."""
