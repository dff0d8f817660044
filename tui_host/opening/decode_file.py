"""Decode a file to UTF-8 lines: compression, text encodings, and Docker's JSON objects around lines."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from dataclasses import replace

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.scan import Data
from tui_host.opening.import_types import VALUE_LIMIT, File, Notes, line_of, read_value, unreadable

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31
"""zlib's `wbits` for data with a gzip header."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_UTF_8 = b"\xef\xbb\xbf"
_PIECE = 1 << 20


def in_utf_8(file: File, notes: Notes) -> File:
    """Unpack and decode a file, and remove the byte order mark.

    A file that is no UTF-8 is read as GB18030 if that coding fits all of it (Chinese Windows, GBK included); else the wrong
    bytes stay, and what stands around them is read.

    Raises:
        TuiHostError: The file is broken, or too large to be decoded in memory.
    """
    if file.data[:2] == _GZIP:
        file = _unpacked(file, notes)
    if file.data[:2] in _UTF_16:
        return _from_utf_16(file, notes)
    if file.data[:3] == _UTF_8:
        file = replace(file, data=file.data[3:])
    size = len(file.data) if len(file.data) <= VALUE_LIMIT else _PIECE  # of a larger file, the beginning
    wrong_at = _first_wrong(file.data, size, "utf-8")
    if wrong_at < 0:
        return file
    if b"\0" not in file.data[:_PIECE] and _first_wrong(file.data, size, "gb18030") < 0:
        return _from_gb18030(file, notes)
    where = f"the first in line {line_of(file.data, wrong_at)}"
    notes.messages.append(f"{file.name} has bytes that are no UTF-8, {where}: what stands around them is read.")
    return file


def _unpacked(file: File, notes: Notes) -> File:
    data = b""
    rest = file.data[: VALUE_LIMIT + 1]
    while rest and len(data) <= VALUE_LIMIT:
        unpacking = zlib.decompressobj(_GZIP_WINDOW)
        try:
            data += unpacking.decompress(rest, VALUE_LIMIT + 1 - len(data))
        except zlib.error as error:
            if not data:
                raise unreadable(file, f"gzip cannot unpack it: {error}", "byte 0") from error
            if rest.startswith(_GZIP):  # anything else is padding behind the last part
                notes.messages.append(f"{file.name} is broken within what gzip packed: the parts before are read.")
            break
        if not unpacking.eof:
            notes.messages.append(f"{file.name} ends within what gzip packed: it is read up to there.")
            break
        rest = unpacking.unused_data
    if len(data) > VALUE_LIMIT:
        raise unreadable(file, f"it unpacks to more than {VALUE_LIMIT >> 20} MiB: unpack it, and name the result")
    return replace(file, name=file.name.removesuffix(".gz"), data=data)


def _from_utf_16(file: File, notes: Notes) -> File:
    if len(file.data) > VALUE_LIMIT:
        raise unreadable(file, f"this is UTF-16 of more than {VALUE_LIMIT >> 20} MiB: save it as UTF-8", "byte 0")
    whole = len(file.data) - len(file.data) % 2
    try:
        decoded = file.data[:whole].decode("utf-16").encode()
    except UnicodeError as error:
        raise unreadable(file, f"this begins as UTF-16, and is none: {error}", "byte 0") from error
    if whole < len(file.data):
        notes.messages.append(f"{file.name} ends within a character: it is read up to there.")
    return replace(file, data=decoded)


def _from_gb18030(file: File, notes: Notes) -> File:
    if len(file.data) > VALUE_LIMIT:
        notes.messages.append(
            f"{file.name} is GBK of more than {VALUE_LIMIT >> 20} MiB: save it as UTF-8 to read its text."
        )
        return file
    notes.messages.append(f"{file.name} is in GBK: the bytes shown are those of its text in UTF-8.")
    return replace(file, data=file.data[:].decode("gb18030", "replace").encode())


def _first_wrong(data: Data, size: int, coding: str) -> int:
    """The first byte that a coding does not allow; -1 if there is none. A character cut by the end is allowed."""
    decoder, at = codecs.getincrementaldecoder(coding)(), 0
    try:
        for piece in _pieces(data, size):
            decoder.decode(piece)
            at += len(piece)
    except UnicodeDecodeError as error:
        return max(at + error.start, 0)
    return -1


def _pieces(data: Data, size: int) -> Iterator[bytes]:
    return (data[at : min(at + _PIECE, size)] for at in range(0, size, _PIECE))


_MEMBERS = frozenset({"log", "stream", "time"})
_ALSO = frozenset({"attrs"})
_SIZE_LIMIT = 4 * VALUE_LIMIT
"""Bytes that are unwrapped in memory; the objects of a larger log are read as those of any logger."""
_LINE_LIMIT = 1 << 18
"""Bytes of the first line: Docker cuts what a program writes into parts of 16 KiB."""
_CONTINUES = b" \t}]:\r\n"
"""So begins a line of a value over several lines, or of a stream: a time before it would stand within the value."""


def unwrapped(file: File) -> File:
    """The lines as the program wrote them, with Docker's time before each."""
    if len(file.data) > _SIZE_LIMIT or _wrapped(file.data[: file.data.find(b"\n", 0, _LINE_LIMIT) + 1]) is None:
        return file
    lines: list[bytes] = []
    parts_by_stream: dict[str, list[bytes]] = {}
    at = 0
    while at < len(file.data):
        end = file.data.find(b"\n", at) + 1 or len(file.data)
        line = file.data[at:end]
        at = end
        wrapped = _wrapped(line)
        if wrapped is None:
            lines.append(line)
            continue
        stream, time, text = wrapped
        parts = parts_by_stream.setdefault(stream, [])
        if not parts and text[:1] not in _CONTINUES:
            parts.append(time + b" ")
        parts.append(text)
        if text.endswith(b"\n"):
            lines += parts
            parts.clear()
    lines += (part for parts in parts_by_stream.values() for part in parts)
    return replace(file, data=b"".join(lines))


def _wrapped(line: bytes) -> tuple[str, bytes, bytes] | None:
    """The stream, the time and the text of one of Docker's objects; None for any other line."""
    if not line.startswith(b"{") or b'"log"' not in line:
        return None
    body = mapping(read_value(line, is_shallow=True))
    text, stream, time = (body.get(name) for name in ("log", "stream", "time"))
    if not _MEMBERS <= body.keys() <= _MEMBERS | _ALSO:
        return None
    if not isinstance(text, str) or not isinstance(stream, str) or not isinstance(time, str):
        return None
    return stream, time.encode("utf-8", "replace"), text.encode("utf-8", "surrogatepass")
