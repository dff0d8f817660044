"""Files as plain UTF-8: unpacked where gzip packed them, and where a shell wrote UTF-16, as PowerShell's `>` does."""

from __future__ import annotations

import zlib
from dataclasses import replace

from tui_host.capture.imports.seen import MOST, File, Notes, unreadable

_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_GZIP_WINDOW = 31
"""zlib's word for gzip's own head around the data."""


def plain(file: File, notes: Notes) -> File:
    """The file unpacked, without a byte order mark, in UTF-8; what of that has to be held in memory is bounded.

    Raises:
        TuiHostError: It is broken, or too large for it.
    """
    if file.data[:2] == _GZIP:
        file = _unpacked(file, notes)
    if file.data[:2] in _UTF_16:
        return _as_utf_8(file, notes)
    return replace(file, data=file.data[3:]) if file.data[:3] == _BOM else file


def _unpacked(file: File, notes: Notes) -> File:
    data = b""
    rest = file.data[: MOST + 1]
    while rest and len(data) <= MOST:
        unpacking = zlib.decompressobj(_GZIP_WINDOW)
        try:
            data += unpacking.decompress(rest, MOST + 1 - len(data))
        except zlib.error as error:
            if not data:
                raise unreadable(file, f"gzip cannot unpack it: {error}", "byte 0") from error
            if rest.startswith(_GZIP):  # else it is no part, but what fills the file up
                notes.told.append(
                    f"{file.name} is broken within what gzip packed: it is read up to the last whole part."
                )
            break
        if not unpacking.eof:
            notes.told.append(f"{file.name} ends within what gzip packed: it is read up to there.")
            break
        rest = unpacking.unused_data
    if len(data) > MOST:
        raise unreadable(file, f"it holds more than {MOST >> 20} MiB: unpack it, and name what comes out")
    return replace(file, name=file.name.removesuffix(".gz"), data=data)


def _as_utf_8(file: File, notes: Notes) -> File:
    if len(file.data) > MOST:
        raise unreadable(file, f"this is UTF-16 of more than {MOST >> 20} MiB: save it as UTF-8", "byte 0")
    try:
        whole = len(file.data) - len(file.data) % 2
        if len(_UTF_16[0]) < whole < len(file.data):
            notes.told.append(f"{file.name} ends within a character: it is read up to there.")
            return replace(file, data=file.data[:whole].decode("utf-16").encode())
        return replace(file, data=file.data[:].decode("utf-16").encode())
    except UnicodeError as error:
        raise unreadable(file, f"this begins as UTF-16, and is none: {error}", "byte 0") from error
