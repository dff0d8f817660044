"""How bytes that stand for others are packed, whether a head says so or not: by a content coding, or as UTF-16."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from tui_host.capture.content_codings import CodingError, Decoder, coded, decoder, is_known

UTF_16 = frozenset(("utf-16-le", "utf-16-be"))
_TEXT_FROM = 32
"""Bytes of which no packed ones are all text: each is one by chance in two or three."""
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_STEP = 4096


def _beginnings() -> dict[bytes, str]:
    found = {b"\x1f\x8b\x08": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
    found |= {bytes((first, 0x2A, 0x4D, 0x18)): "zstd" for first in range(0x50, 0x60)}  # a frame to be skipped
    headers = (first << 8 | second for first in range(0x08, 0x88, 0x10) for second in range(256))
    found |= {each.to_bytes(2): "deflate" for each in headers if not each % 31 and not each & 0x20}
    found |= {bytes((each, 0)): "utf-16-le" for each in range(0x20, 0x7F)}
    return found | {bytes((0, each)): "utf-16-be" for each in range(0x20, 0x7F)}


_BEGINNINGS = _beginnings()
"""Source: RFC 1950, 1952 and 8878; of UTF-16 its mark, or its first character where that is one of ASCII, as in JSON."""
_HEADS = frozenset(each[:size] for each in _BEGINNINGS for size in range(len(each)))
"""With what less than a beginning begins."""


def packing_of(head: bytes, announced: str | None, *, is_all: bool) -> str | None:
    """How bytes that begin so are packed: empty if they are not, None while that cannot be told.

    What is said to be packed in a way that is not known here counts as what it is: whoever could read it otherwise is not known either.

    Args:
        head: The first bytes.
        announced: The coding that they are said to have.
        is_all: There are no more.
    """
    if announced is not None and is_known(announced):
        return _unless_text(head, announced, is_all=is_all)
    found = _begun_with(head, is_all=is_all)
    return found if not found or found in UTF_16 else _unless_text(head, found, is_all=is_all)


def unpacker(packing: str) -> Decoder:
    """What undoes it."""
    return _Utf16(packing) if packing in UTF_16 else decoder(packing)


def packed(text: bytes, packing: str) -> bytes:
    """Bytes so packed."""
    if packing in UTF_16:
        return text.decode("utf-8", "surrogatepass").encode(packing, "surrogatepass")
    return coded(text, packing)


class Unpacked(NamedTuple):
    """A body as far as it can be unpacked.

    Attributes:
        text: What it stands for.
        read: How many of its bytes that is.
        is_open: The last of these stand for something that is not known: a block that is cut off.
    """

    text: bytes
    read: int
    is_open: bool = False


def unpacked(data: bytes, packing: str) -> Unpacked:
    """What a body stands for."""
    found = unpacker(packing)
    try:
        text = found.feed(data)
    except CodingError:
        text, fault = b"", 0
        for step in (_STEP, 1):
            text, fault = _before_fault(data, packing, step, fault)
        return Unpacked(text, fault)
    return Unpacked(text, len(data) - found.behind, comes_in_blocks(packing) and not is_at_end(found))


def last_told(data: bytes, packing: str) -> int:
    """Where the last byte ends of those that tell something: what is behind is of a block that is cut off."""
    found = unpacker(packing)
    telling = [at for at in range(0, len(data), _STEP) if found.feed(data[at : at + _STEP])]
    if not telling:
        return 0
    last = telling[-1]
    found = unpacker(packing)
    found.feed(data[:last])
    return [at for at in range(last, min(last + _STEP, len(data))) if found.feed(data[at : at + 1])][-1] + 1


def comes_in_blocks(packing: str) -> bool:
    """Whether bytes so packed tell late what they stand for, much at once."""
    return packing == "zstd"


def is_at_end(decoder: Decoder) -> bool:
    """Whether what was fed is complete."""
    try:
        decoder.finish()
    except CodingError:
        return False
    return True


def _before_fault(data: bytes, packing: str, step: int, sure: int) -> tuple[bytes, int]:
    """What is unpacked in pieces of so many bytes, behind those that can be at once; and where the piece with a fault begins.

    A decoder that fails keeps what it had made of that piece.
    """
    text: list[bytes] = []
    at = 0
    try:
        found = unpacker(packing)
        text.append(found.feed(data[:sure]))
        for at in range(sure, len(data), step):
            text.append(found.feed(data[at : at + step]))
    except CodingError:
        return b"".join(text), at
    return b"".join(text), len(data) - found.behind


def _unless_text(head: bytes, packing: str, *, is_all: bool) -> str | None:
    """The packing, unless these bytes are text: then none; so many are needed to tell."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return packing
    if _NO_TEXT.search(text):
        return packing
    return "" if is_all or len(head) >= _TEXT_FROM else None


def _begun_with(head: bytes, *, is_all: bool) -> str | None:
    found = next((_BEGINNINGS[head[:size]] for size in (2, 3, 4) if head[:size] in _BEGINNINGS), "")
    may_begin = not is_all and head in _HEADS
    return found or (None if may_begin else "")


class _Utf16:
    """UTF-16 as UTF-8, lone surrogates as they are."""

    behind = 0

    def __init__(self, packing: str) -> None:
        self._inner = codecs.getincrementaldecoder(packing)("surrogatepass")

    def feed(self, data: bytes) -> bytes:
        return self._inner.decode(data).encode("utf-8", "surrogatepass")

    def finish(self) -> bytes:
        return b""
