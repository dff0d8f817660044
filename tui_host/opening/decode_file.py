"""Files as plain UTF-8: unpacked where gzip packed them, and where a shell wrote UTF-16, as PowerShell's `>` does, or a program GBK."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace

from tui_host.capture.json.scan import Data
from tui_host.opening.drafts import MOST, File, Notes, line_of, unreadable

_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BEGINNING, _OF_ASCII = 1 << 12, 0.3
"""Bytes in which it shows that they are UTF-16, and what share of their characters is of ASCII at least."""
_LEAST, _HIGH, _COMMON = 0.01, 0.2, 0.95
"""Of Chinese in UTF-16: what share of its characters is of ASCII, of its bytes is not, and of its characters is such as it is written of."""
_OF_CHINESE = re.compile(r"[\t\r\n -~\u2010-\u2027\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e]")
_NO_ASCII = re.compile(rb"[\x80-\xff]")
_BOM = b"\xef\xbb\xbf"
_GZIP_WINDOW = 31
"""zlib's word for gzip's own head around the data."""
_LOOK = 1 << 20
"""Bytes that are looked at, or written anew, at once."""
_PAIR = re.compile(rb"[\xa1-\xf7][\xa1-\xfe]|[\x81-\xfe][\x30-\xfe]")
_READ = re.compile(r"[^\x00-\x7f\ufffd]")
_BOTH_HIGH = 0xA1
"""Both bytes of a character of GB 2312, of which Chinese is written, are no less: those of letters with accents are mostly one."""


def plain(file: File, notes: Notes) -> File:
    """The file unpacked, without a byte order mark, in UTF-8; what of that has to be held in memory is bounded.

    Raises:
        TuiHostError: It is broken, or too large for it.
    """
    if file.data[:2] == _GZIP:
        file = _unpacked(file, notes)
    if file.data[:2] in _UTF_16:
        return _as_utf_8(file, notes, "utf-16")
    if coding := _unmarked(file.data[:_BEGINNING]):
        return _as_utf_8(file, notes, coding)
    if file.data[:3] == _BOM:
        return replace(file, data=file.data[3:])
    most = len(file.data) if len(file.data) <= MOST else _LOOK  # of what is larger the beginning tells
    wrong_at = _first_wrong(file.data, most, "utf-8")
    if wrong_at < 0:
        return file
    if _is_gbk(file.data, most):
        return _out_of_gbk(file, notes)
    where = f"the first in line {line_of(file.data, wrong_at)}"
    notes.told.append(f"{file.name} has bytes that are no UTF-8, {where}: what stands around them is read.")
    return file


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


def _unmarked(data: bytes) -> str:
    """UTF-16 without a byte order mark: one of two bytes is mostly zero, as JSON is written of ASCII, and the other seldom.

    Of Chinese lines few bytes are zero: what they say then tells. Empty where it is none.
    """
    first, second = data[::2].count(0), data[1::2].count(0)
    if not first and not second:
        return ""
    most = len(data) // 2 * _OF_ASCII
    if second > max(most, 8 * first):
        return "utf-16-le"
    if first > max(most, 8 * second):
        return "utf-16-be"
    return next((coding for coding in ("utf-16-le", "utf-16-be") if _is_chinese(data, coding)), "")


def _is_chinese(data: bytes, coding: str) -> bool:
    """Whether a text is Chinese in a coding of two bytes each, with line breaks; nothing that is UTF-8 is, be there zeros in it."""
    if _first_wrong(data, len(data), "utf-8") < 0 or _first_wrong(data, len(data), coding) >= 0:
        return False
    text = data.decode(coding, "ignore")
    of_ascii = sum(each.isascii() for each in text)
    is_of_two = len(_NO_ASCII.findall(data)) >= len(data) * _HIGH  # two of ASCII look as one of Chinese
    return (
        "\n" in text
        and is_of_two
        and of_ascii >= len(text) * _LEAST
        and len(_OF_CHINESE.findall(text)) >= len(text) * _COMMON
    )


def _as_utf_8(file: File, notes: Notes, coding: str) -> File:
    if len(file.data) > MOST:
        raise unreadable(file, f"this is UTF-16 of more than {MOST >> 20} MiB: save it as UTF-8", "byte 0")
    try:
        whole = len(file.data) - len(file.data) % 2
        if len(_UTF_16[0]) < whole < len(file.data):
            notes.told.append(f"{file.name} ends within a character: it is read up to there.")
            return replace(file, data=file.data[:whole].decode(coding).encode())
        return replace(file, data=file.data[:].decode(coding).encode())
    except UnicodeError as error:
        raise unreadable(file, f"this begins as UTF-16, and is none: {error}", "byte 0") from error


def _out_of_gbk(file: File, notes: Notes) -> File:
    """The file in UTF-8; one that is larger than is held stays as it is."""
    if len(file.data) > MOST:
        notes.told.append(
            f"{file.name} is in GBK, and larger than {MOST >> 20} MiB: save it as UTF-8 to read its text."
        )
        return file
    decoder, data = codecs.getincrementaldecoder("gb18030")(), bytearray()
    for piece in _pieces(file.data, len(file.data)):
        data += decoder.decode(piece).encode()
    notes.told.append(f"{file.name} is in GBK: the bytes shown of it are those of its text in UTF-8.")
    return replace(file, data=bytes(data))


def _is_gbk(data: Data, most: int) -> bool:
    """Whether a text that is no UTF-8 is GBK (GB 18030) from end to end, as Chinese is.

    UTF-8 with a few bytes that are wrong can be read as GBK too, and so can most that has letters with accents: of neither the characters
    are such as Chinese is written of.
    """
    if _first_wrong(data, most, "gb18030") >= 0:
        return False
    good = wrong = of_chinese = others = 0
    for piece in _pieces(data, most):
        if b"\0" in piece:
            return False
        text = piece.decode("utf-8", "replace")
        wrong += text.count("\ufffd")
        good += len(_READ.findall(text))
        for found in _PAIR.finditer(piece):
            is_of_chinese = min(found[0]) >= _BOTH_HIGH
            of_chinese += is_of_chinese
            others += not is_of_chinese
    return wrong > good and of_chinese > others


def _first_wrong(data: Data, most: int, name: str) -> int:
    """The first byte of a text that is not in a coding, but for a character at its end that is not whole; -1 if there is none."""
    decoder, at = codecs.getincrementaldecoder(name)(), 0
    try:
        for piece in _pieces(data, most):
            decoder.decode(piece)
            at += len(piece)
    except UnicodeDecodeError as error:
        return at + error.start
    return -1


def _pieces(data: Data, most: int) -> Iterator[bytes]:
    return (data[at : min(at + _LOOK, most)] for at in range(0, most, _LOOK))
