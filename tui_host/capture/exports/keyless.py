"""Takes vendors' keys out of what is exported; the keys stay on the disk, since their form alone is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui_host.capture.record import Record, Redaction
from tui_host.capture.redact.by_value import mark
from tui_host.settings.sensitivity import VENDOR_KEY, pieces


def keyless(text: str) -> str:
    """Return a text with a mark in place of each vendor's key."""
    return "".join(mark(VENDOR_KEY) if is_key else piece for piece, is_key in pieces(text))


def keyless_draft(draft: Record) -> Record:
    """Return a draft with a mark in place of each vendor's key in its data; compressed data stays as it is."""
    data, lengths = keyless_bytes(draft.data) if draft.encoding is None else (draft.data, ())
    if not lengths:
        return draft
    redacted = (Redaction(where="data", name=VENDOR_KEY, length=length) for length in lengths)
    return replace(draft, data=data, redacted=(*draft.redacted, *redacted))


def keyless_bytes(data: bytes) -> tuple[bytes, Sequence[int]]:
    """Return bytes with a mark in place of each vendor's key, and the lengths of the keys."""
    cut = list(pieces(data.decode("latin-1")))  # a character for each byte: no byte changes on the way
    lengths = [len(piece) for piece, is_key in cut if is_key]
    if not lengths:
        return data, ()
    return b"".join(mark(VENDOR_KEY).encode() if is_key else piece.encode("latin-1") for piece, is_key in cut), lengths
