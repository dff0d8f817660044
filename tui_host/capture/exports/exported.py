"""What an export reads, and the vendors' keys in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from tui_host.capture.http.decoded_body import decode_drafts
from tui_host.capture.record import Record
from tui_host.capture.redact.by_value import mark
from tui_host.settings.sensitivity import VENDOR_KEY, pieces


class Exported(Protocol):
    """Where the exported session comes from: the store, a story of several taps, or a part of either."""

    def session_records(self, session: str) -> Iterator[tuple[Record, bool]]:
        """Return the records of a session in order, each with True if it belongs to a connection's preamble."""
        ...

    def session_items(self, session: str) -> Sequence[str]:
        """Return the chat's items as JSON, in order."""
        ...


def keys_in_words(source: Exported, session: str) -> str:
    """Return what to tell before an export is written: how many of its texts look like vendors' keys. Empty without any."""
    masked = {key for text in source.session_items(session) for key in _keys(text)}
    left: set[str] = set()
    chunks: dict[tuple[str, str], list[Record]] = {}
    for record, _ in source.session_records(session):
        if record.encoding is None:
            masked.update(_keys(record.data.decode("latin-1")))
        if record.kind in {"chunk", "request"}:
            chunks.setdefault((record.capture, f"{record.kind} {record.exchange}"), []).append(record)
    for drafts in chunks.values():
        keys = {*_keys(decode_drafts(drafts)[0].decode("latin-1"))}
        in_pieces = {
            key for record in drafts if record.encoding is None for key in _keys(record.data.decode("latin-1"))
        }
        left |= keys - in_pieces
    count = len(masked | left)
    if not count:
        return ""
    words = f"{count} {'text looks like a key of a vendor' if count == 1 else 'texts look like keys of vendors'}"
    if not left:
        return f"{words}: {mark(VENDOR_KEY)} is written instead"
    return f"{words}; {len(left)} of them stand in compressed or cut bodies, which raw and jsonl write as they are"


def _keys(text: str) -> Iterator[str]:
    return (piece for piece, is_key in pieces(text) if is_key)
