"""Sessions taken away: one module for each format, each made from redacted records alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from tui_host.capture.exports import jsonl, markdown
from tui_host.capture.store.sessions import SessionInfo
from tui_host.capture.store.store import Store


def _jsonl(store: Store, session: SessionInfo) -> Iterator[bytes]:
    return jsonl.lines(session, store.session_records(session.id))


def _markdown(store: Store, session: SessionInfo) -> Iterator[bytes]:
    items = [text for _, text in store.sessions.items(session.id)]
    return markdown.pieces(session, items, store.session_records(session.id))


EXPORTS: Mapping[str, Callable[[Store, SessionInfo], Iterator[bytes]]] = MappingProxyType(
    {"jsonl": _jsonl, "markdown": _markdown}
)
"""Format names, and what gives a session's bytes in pieces."""
