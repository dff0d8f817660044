"""Takes vendors' keys out of what is exported; the keys stay on the disk, since their form alone is known."""

from __future__ import annotations

from dataclasses import replace

from tui_host.capture.content_codings import decode_records
from tui_host.capture.exports.parts import Exported
from tui_host.capture.record import Record, Redaction
from tui_host.capture.redact.known_secrets import Redacted, mark
from tui_host.settings.sensitivity import VENDOR_KEY, pieces


def keyless(text: str) -> str:
    """Return a text with a mark in place of each vendor's key."""
    return "".join(mark(VENDOR_KEY) if is_key else piece for piece, is_key in pieces(text))


def keyless_bytes(data: bytes) -> Redacted:
    """Return bytes with a mark in place of each vendor's key, and what was removed."""
    cut = list(pieces(data.decode("latin-1")))  # a character for each byte: no byte changes on the way
    keys = tuple(Redaction(where="data", name=VENDOR_KEY, length=len(piece)) for piece, is_key in cut if is_key)
    if not keys:
        return data, ()
    return b"".join(mark(VENDOR_KEY).encode() if is_key else piece.encode("latin-1") for piece, is_key in cut), keys


def keyless_record(record: Record) -> Record:
    """Return a record with a mark in place of each vendor's key in its data; compressed data stays as it is."""
    data, keys = keyless_bytes(record.data) if record.encoding is None else (record.data, ())
    return replace(record, data=data, redacted=(*record.redacted, *keys)) if keys else record


def keys_in_words(source: Exported, session: str) -> str:
    """Return what to tell before an export is written: how many of its texts look like vendors' keys. Empty without any."""
    masked = {key for text in source.session_items(session) for key in _keys(text)}
    left: set[str] = set()
    bodies: dict[tuple[str, str, str | None], list[Record]] = {}
    for record, _ in source.session_records(session):
        masked |= _plain_keys(record)
        if record.kind in {"chunk", "request"}:
            bodies.setdefault((record.capture, record.kind, record.exchange), []).append(record)
    for body in bodies.values():
        left |= _keys(decode_records(body)[0].decode("latin-1")).difference(*map(_plain_keys, body))
    count = len(masked | left)
    if not count:
        return ""
    words = f"{count} {'text looks like a key of a vendor' if count == 1 else 'texts look like keys of vendors'}"
    if not left:
        return f"{words}: {mark(VENDOR_KEY)} is written instead"
    return f"{words}; {len(left)} of them stand in compressed or cut bodies, which raw and jsonl write as they are"


def _plain_keys(record: Record) -> set[str]:
    return _keys(record.data.decode("latin-1")) if record.encoding is None else set()


def _keys(text: str) -> set[str]:
    return {piece for piece, is_key in pieces(text) if is_key}
