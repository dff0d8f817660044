"""Takes vendors' keys out of what is exported; the keys stay on the disk, since their form alone is known."""

from __future__ import annotations

from dataclasses import replace

from tui_host.capture.record import Draft, Redaction
from tui_host.capture.redact.by_value import mark
from tui_host.settings.vendor_keys import VENDOR_KEY, pieces


def keyless(text: str) -> str:
    """Return a text with a mark in place of each vendor's key."""
    return "".join(mark(VENDOR_KEY) if is_key else piece for piece, is_key in pieces(text))


def keyless_draft(draft: Draft) -> Draft:
    """Return a draft with a mark in place of each vendor's key in its data; compressed data stays as it is."""
    text = draft.data.decode("latin-1")  # a character for each byte: no byte changes on the way
    cut = list(pieces(text)) if draft.encoding is None else []
    redacted = [Redaction(where="data", name=VENDOR_KEY, length=len(piece)) for piece, is_key in cut if is_key]
    if not redacted:
        return draft
    data = b"".join(mark(VENDOR_KEY).encode() if is_key else piece.encode("latin-1") for piece, is_key in cut)
    return replace(draft, data=data, redacted=(*draft.redacted, *redacted))
