"""Decodes a file to UTF-8: undoes compression and text encodings."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO

from tui_host.capture.json.file_values import VALUE_LIMIT, Data
from tui_host.opening.import_types import File, Notes, line_of, unreadable

_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_UTF_8 = b"\xef\xbb\xbf"
_PIECE = 1 << 20


def in_utf_8(file: File, notes: Notes) -> File:
    """Unpack and decode a file, and remove its byte order mark.

    A file that is not UTF-8 is read as GB18030 (Chinese Windows, includes GBK) if all of it fits; otherwise invalid
    bytes stay, and the rest is read.

    Raises:
        TuiHostError: The file is broken, or too large to be decoded in memory.
    """
    if file.data[:2] == _GZIP:
        file = _unpacked(file)
    if file.data[:2] in _UTF_16:
        return _from_utf_16(file)
    if file.data[:3] == _UTF_8:
        file = replace(file, data=file.data[3:])
    size = len(file.data) if len(file.data) <= VALUE_LIMIT else _PIECE  # for a larger file, check only its beginning
    wrong_at = _first_wrong(file.data, size, "utf-8")
    if wrong_at < 0:
        return file
    if b"\0" not in file.data[:_PIECE] and _first_wrong(file.data, size, "gb18030") < 0:
        return _from_gb18030(file, notes)
    where = f"the first in line {line_of(file.data, wrong_at)}"
    notes.messages.append(f"{file.name} has bytes that are no UTF-8, {where}: what stands around them is read.")
    return file


def _unpacked(file: File) -> File:
    try:
        data = gzip.GzipFile(fileobj=BytesIO(file.data[: VALUE_LIMIT + 1])).read(VALUE_LIMIT + 1)
    except (OSError, EOFError, zlib.error) as error:
        remedy = "copy the file again, or name what can be unpacked of it"
        raise unreadable(file, f"gzip cannot unpack it: {error}", "byte 0", remedy) from error
    if len(data) > VALUE_LIMIT:
        raise unreadable(
            file, f"it unpacks to more than {VALUE_LIMIT >> 20} MiB", remedy="unpack it, and name the result"
        )
    return replace(file, name=file.name.removesuffix(".gz"), data=data)


def _from_utf_16(file: File) -> File:
    if len(file.data) > VALUE_LIMIT:
        raise unreadable(file, f"this is UTF-16 of more than {VALUE_LIMIT >> 20} MiB", remedy="save it as UTF-8")
    return replace(file, data=file.data[:].decode("utf-16", "replace").encode())


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
