"""A row's body for reading: decoded, masked, with notes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tui_host.answers.masks import masked
from tui_host.answers.wires import Wires
from tui_host.capture.content_codings import CodingError, Decoder
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import MISSING, Head, Redaction
from tui_host.capture.visible import decode, hidden, line

_NOTICED = 1 << 20  # characters that are looked through for hidden ones
_PIECE = 1 << 16  # characters that are masked between two stops: a millisecond
_BETWEEN = re.compile(r'[\s"+/,\\]')  # what stands in no key and in no mark of a secret
_OF_RESPONSE = frozenset(("response", "chunk", "end", "error"))
_OF_ONE_RECORD = frozenset(("request", "frame", "decision", "vendor"))
_SAID = frozenset(("chunk",))
_SHOWN: dict[str, frozenset[str]] = {
    "request": frozenset(("request",)),
    "response": _SAID,
    "fault": frozenset(("frame", "error", "chunk")),
    "vendor": frozenset(("link",)),
}
"""The kinds of records that a row's bytes stand in; of all others they are `_OF_ALL_OTHERS`."""
_OF_ALL_OTHERS = frozenset(("frame", "line", "decision", "error"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A row's bytes: as they were on the wire, and after content decoding, as far as that was possible."""

    wire: bytes
    data: bytes
    notes: tuple[str, ...] = ()
    redacted: tuple[Redaction, ...] = ()

    def pieces(self) -> Iterator[str]:
        """Yield the body as masked text, or as hex, in pieces, each made in a millisecond or two."""
        if not is_text(self.data):
            yield hex_text(self.data)
            return
        text, place = decode(self.data), 0
        while place < len(text):
            match = _BETWEEN.search(text, place + _PIECE)
            end = len(text) if match is None else match.end()
            yield masked(text[place:end], self.redacted)
            place = end

    def with_hidden(self) -> Body:
        """Add a note about hidden characters, if any."""
        count = hidden(decode(self.data[:_NOTICED])) if is_text(self.data) else 0
        note = f"contains {count:,} hidden character{'s' if count > 1 else ''}, drawn as symbols"
        return replace(self, notes=(*self.notes, note)) if count else self


def missing_words(row: Row) -> str:
    """Explain a missing body."""
    if not row.is_absent:
        return f"The body is {row.words if row.words.startswith(MISSING) else MISSING}."
    if row.kind == "request":
        return f"The body of this request is {MISSING}, or cannot be told from others."
    return f"The body of this answer is {MISSING}, or may belong to another request."


def head_of(wires: Wires, row: Row) -> Head | None:
    """Return the head of a model's request or response."""
    record = wires.record((row.capture, row.seq))
    return record.head if record is not None else None


def heads_text(wires: Wires, row: Row) -> str:
    """Return the masked head of a model's request or answer; of other rows both heads of their exchange."""
    partner = wires.ladder.partner(row.number)
    seqs = [row.request_seq, row.response_seq or (0 if partner is None else wires.ladder.rows[partner].response_seq)]
    if row.lane == "llm" and row.kind in {"request", "response"}:
        seqs = [row.seq]
    blocks: list[str] = []
    for record in filter(None, (wires.record((row.capture, seq)) for seq in seqs if seq)):
        head = record.head or Head()
        first = f"{head.method} {head.url}" if head.method else str(head.status or "")
        lines = [text.replace("\n", "␊") for text in (first, *map(": ".join, head.headers)) if text]
        blocks.append("\n".join(masked(text, record.redacted) for text in lines))
    return "\n\n".join(filter(None, blocks))


def first_data(wires: Wires, row: Row) -> bytes:
    """Return the bytes of a row's first record, such as a frame; none if the record is gone, or is not in the file."""
    record = None if row.missing else wires.record((row.capture, row.seq))
    return b"" if record is None else record.data


def unescaped(piece: bytes) -> str:
    """Return what the inside of a JSON string says; other text as it stands."""
    text = decode(piece)
    try:
        value: object = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return text
    return str(value)


def body_of(wires: Wires, row: Row) -> Body:
    """Return the row's bytes, decoded and ready to be read. Linear in their length."""
    kinds = _SHOWN.get(row.kind, _OF_ALL_OTHERS)
    # What broke in an exchange is a frame, what the other side said instead of one, or how it ended, where nothing was said.
    is_fault = row.kind == "fault" and bool(row.exchange)
    first = wires.record((row.capture, row.seq)) if is_fault or row.kind in _OF_ONE_RECORD else None
    if first is not None and not (is_fault and row.size and first.kind != "frame"):
        records = [first]
    else:
        own_kinds = {"fault": _SAID if is_fault else None, "response": _OF_RESPONSE}.get(row.kind)
        pages = wires.pages_of(row)
        records = [record for page in pages for record in page if own_kinds is None or record.kind in own_kinds]
    redacted = tuple(redaction for record in records for redaction in record.redacted)
    encoding = next((record.encoding for record in records if record.encoding), None)
    own = [record for record in records if record.kind in kinds]
    coded = b"".join(record.data for record in own if record.encoding is not None)
    plain = b"".join(record.data for record in own if record.encoding is None)
    decoded, decoding = coded, ""
    if coded and encoding is not None and encoding != "identity":
        name, pieces = line(encoding, 40), list[bytes]()
        decoding = f"{name}, decoded below"
        try:
            coding = Decoder(encoding)
            pieces.extend(coding.feed(coded[start : start + _PIECE]) for start in range(0, len(coded), _PIECE))
            if not plain:
                coding.finish()
        except CodingError as error:
            decoding = f"{decoding} as far as possible: {error}" if any(pieces) else f"{name}: {error}"
            pieces = pieces if any(pieces) else [coded]
        decoded = b"".join(pieces)
    wire, data = coded + plain, decoded + plain
    return Body(wire=wire, data=data, notes=tuple(_notes(wire, data, decoding, row, redacted)), redacted=redacted)


def _notes(wire: bytes, data: bytes, decoding: str, row: Row, redacted: Sequence[Redaction]) -> Iterator[str]:
    words = [f"{len(wire):,} byte{'' if len(wire) == 1 else 's'}", decoding]
    words.append(f"{len(data):,} bytes decoded" if data is not wire else "")
    words.append("UTF-8" if is_text(data) else "binary: offset, hex, ASCII")
    words.append("more may come" if row.state == "open" and row.kind != "frame" else "")
    yield missing_words(row) if row.missing else " · ".join(filter(None, words))
    if row.malformed:
        yield f"malformed: {line(row.malformed, 300)}"
    if row.state == "cut":
        yield "cut: the connection ended too early"
    elif row.state == "unanswered":
        yield f"no answer: {line(row.ending, 120)}" if row.ending else "no answer"
    elif row.state == "failed":
        yield "failed"
    yield from (f"was {entry.coding}, saved decoded because a secret was removed" for entry in redacted if entry.coding)
    if any(entry.where == "data" and not entry.coding for entry in redacted):
        yield "a secret was removed before saving: ••• stands in its place"


def hex_text(data: bytes, limit: int = 1 << 16, by: int = 16) -> str:
    """Return binary bytes as offset, hex and printable characters."""
    lines: list[str] = []
    for place in range(0, min(len(data), limit), by):
        part = data[place : place + by]
        shown = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
        lines.append(f"{place:08x}  {part.hex(' '):<{3 * by - 1}}  {shown}")
    return "\n".join(lines)


def is_text(data: bytes) -> bool:
    """Whether bytes look like text: mostly UTF-8, without binary controls."""
    head = data[:4096]
    if b"\0" in head:
        return False
    broken = head.decode("utf-8", "replace").count("\ufffd")
    return broken * 8 <= len(head)
