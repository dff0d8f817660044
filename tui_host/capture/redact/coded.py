"""Redacts bodies with a content coding: decodes them once, and stores them decoded from the first secret on."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from tui_host.capture.content_codings import MOST, CodingError, Decoder, codings_of, decoder, is_known
from tui_host.capture.record import Record, Redaction, Shift, decoded_mark
from tui_host.capture.recorder_protocol import BodyRedactor, RedactedStream
from tui_host.capture.redact.by_value import Kept

HELD_LIMIT = 1 << 20
"""Coded bytes that wait for the decision whether a secret is in them; a body of which more would wait is kept decoded."""

TakeOut: TypeAlias = Callable[[bytes], Kept]

_STEP = 4096
"""Bytes decoded at once, so that little is lost in front of a fault."""
_TEXT_FROM = 32
"""Bytes after which compressed data is certain to have one that no text has."""
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_GZIP, _ZSTD, _ZSTD_SKIPPABLE = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
_BY_CHANCE = frozenset(("deflate", "utf-16-le", "utf-16-be"))
"""Codings of which the first bytes may be those of something else."""


class CodedStream:
    """Redacts one body in pieces.

    A body with a content coding is decoded, and secrets are looked for in the coded and in the decoded bytes. While there is none, the coded
    bytes pass as they came. From the first secret on, the decoded bytes pass, without secrets. A coding that no header names is known
    by the first bytes. Where no secret is known, every body passes as it came.

    Args:
        redactor: Removes the secrets.
        encoding: The content coding named by the header.
        held_limit: Largest number of coded bytes that may wait.
        depth: How often the body may be coded beyond what the header says.

    Attributes:
        decoded_from: The coding that was undone; empty while bytes are passed on unchanged.
    """

    def __init__(
        self, redactor: BodyRedactor, encoding: str | None, *, held_limit: int = HELD_LIMIT, depth: int = MOST
    ) -> None:
        self.decoded_from = ""
        self.left_out = 0
        self._redactor = redactor
        self._announced = ", ".join(codings_of(encoding)) if all(map(is_known, codings_of(encoding))) else ""
        self._held_limit = held_limit
        self._depth = depth
        self._plain: RedactedStream | None = None if redactor.is_needed else redactor.stream()
        self._coded: _CodedBody | None = None
        self._head: bytes = b""  # the first bytes, until they tell the coding
        self._held = bytearray()  # coded bytes that have not passed
        self._waiting: list[bytes] = []  # what they decode to
        self._is_over = False

    @property
    def _text(self) -> RedactedStream | None:
        return self._plain if self._plain is not None else self._coded and self._coded.inner

    @property
    def shifts(self) -> Sequence[Shift]:
        """The places in the decoded body where secrets were taken out."""
        stream = self._text
        return stream.shifts if stream is not None else ()

    @property
    def is_open(self) -> bool:
        """Whether text of a model is held back because a secret may begin with the text."""
        stream = self._text
        return stream is not None and stream.is_open

    def release(self) -> Kept:
        """Return the text held back; coded bytes keep waiting."""
        return self._plain.release() if self._plain is not None else (b"", ())

    def feed(self, data: bytes, /) -> Kept:
        """Take the next bytes; returns bytes to store, and redactions."""
        if self._plain is not None:
            return self._plain.feed(data)
        return self._feed(data, is_all=False)

    def flush(self) -> Kept:
        """Return the remaining bytes to store."""
        first, in_first = self._feed(b"", is_all=True)
        if self._plain is not None:
            rest, in_rest = self._plain.flush()
            return first + rest, in_first + in_rest
        if self._is_over or self._coded is None:
            return first, in_first
        kept, redactions = self._coded.flush()
        self._waiting.append(kept)
        self.left_out += self._coded.inner.left_out
        if self._coded.is_cut_in_block:
            self.left_out += self._coded.undecoded
        if self._coded.has_secret or self.left_out or self.decoded_from:
            rest, in_rest = self._pass_decoded(redactions)
            return first + rest, in_first + in_rest
        return first + bytes(self._held), in_first

    def _feed(self, data: bytes, *, is_all: bool) -> Kept:
        if self._plain is None and self._coded is None and not self._is_over:
            data, self._head = self._head + data, b""
            coding = self._coding_of(data, is_all=is_all)
            if coding is None:
                self._head = data
                return b"", ()
            self._begin(coding)
        if self._plain is not None:
            return self._plain.feed(data)
        if self._coded is None or self._is_over:
            self.left_out += len(data)
            return b"", ()
        return self._decode(data, self._coded)

    def _coding_of(self, head: bytes, *, is_all: bool) -> str | None:
        """Return the coding of a body beginning with `head`, empty for none; None while undecided."""
        coding = self._announced or _coding_by_beginning(head, is_all=is_all)
        if not coding or not _is_text(head):
            return coding
        return "" if is_all or len(head) >= _TEXT_FROM else None

    def _begin(self, coding: str) -> None:
        if not coding:
            self._plain = self._redactor.stream()
            return
        try:
            if not self._depth:
                raise CodingError("coded too often")  # noqa: TRY301 - the same as for a decoder that cannot be had
            self._coded = _CodedBody(coding, self._redactor, self._depth)
        except CodingError:
            self._is_over = True

    def _decode(self, data: bytes, coded: _CodedBody) -> Kept:
        self._held += data
        kept, redactions, read = coded.feed(data)
        self._waiting.append(kept)
        if read < len(data):
            return self._end(len(data) - read, coded, redactions)
        if coded.has_secret or coded.inner.left_out or self.decoded_from or len(self._held) > self._held_limit:
            return self._pass_decoded(redactions)
        passing = coded.certain(len(self._held), len(data))
        if passing == len(self._held):
            self._waiting.clear()
        elif passing:
            self._waiting = [kept]
        out = bytes(self._held[:passing])
        del self._held[:passing]
        return out, ()

    def _end(self, rest: int, coded: _CodedBody, found: tuple[Redaction, ...]) -> Kept:
        """Keep the decoded bytes before a fault, and nothing behind."""
        if not coded.has_decoded and not self._announced and coded.coding in _BY_CHANCE:
            self._coded = None
            self._plain = self._redactor.stream()
            return self._plain.feed(bytes(self._held))
        last, in_last = coded.flush()
        self._waiting.append(last)
        self._is_over = True
        self.left_out += rest if coded.has_decoded else len(self._held)
        return self._pass_decoded(found + in_last)

    def _pass_decoded(self, found: tuple[Redaction, ...]) -> Kept:
        kept = b"".join(self._waiting)
        if not self.decoded_from and self._coded is not None and (kept or found or not self._is_over):
            self.decoded_from = self._coded.coding
            found = (decoded_mark(self.decoded_from, len(self._held)), *found)
        self._waiting.clear()
        self._held.clear()
        return kept, found


class _CodedBody:
    """Decode a body, and redact the decoded bytes.

    Attributes:
        inner: Redacts the decoded bytes, which may be coded once more.
        undecoded: Coded bytes that came since something was decoded last.
        has_secret: Whether a secret was found, in the coded or the decoded bytes.
    """

    def __init__(self, coding: str, redactor: BodyRedactor, depth: int) -> None:
        self.coding = coding
        self.inner = CodedStream(redactor, None, depth=depth - 1)
        self.has_decoded = False
        self.undecoded = 0
        self.has_secret = False
        self._decoder: Decoder = _Utf16(coding) if coding.startswith("utf-16") else decoder(coding)
        self._raw = redactor.stream_by_value()
        self._comes_in_blocks = "zstd" in codings_of(coding)
        self._open = 0  # bytes, coded or decoded, with which a secret may begin

    @property
    def is_cut_in_block(self) -> bool:
        """Whether the body ends within a block, whose content nobody knows."""
        if not self._comes_in_blocks:
            return False
        try:
            self._decoder.finish()
        except CodingError:
            return True
        return False

    def feed(self, data: bytes) -> tuple[bytes, tuple[Redaction, ...], int]:
        """Return the redacted text, the redactions, and the number of decodable bytes."""
        raw, in_raw = self._raw.feed(data)
        text: list[bytes] = []
        read = 0
        try:
            for read in range(0, len(data), _STEP):
                text.append(self._decoder.feed(data[read : read + _STEP]))
                if self._decoder.behind:
                    raise CodingError("behind its end stands what is no part of the body")  # noqa: TRY301
            read = len(data)
        except CodingError:
            pass  # the caller is told by `read`
        decoded = b"".join(text)
        self.has_decoded = self.has_decoded or bool(decoded)
        self.undecoded = 0 if decoded else self.undecoded + len(data)
        kept, in_text = self.inner.feed(decoded)
        self.has_secret = self.has_secret or bool(in_raw) or bool(in_text)
        self._open += len(data) - len(raw) + len(decoded) - len(kept)
        return kept, in_text, read

    def flush(self) -> Kept:
        """Return the rest of the redacted text."""
        kept, redactions = self.inner.flush()
        self.has_secret = self.has_secret or bool(redactions) or bool(self._raw.flush()[1])
        return kept, redactions

    def certain(self, size: int, last: int) -> int:
        """Return how many of `size` coded bytes have no secret, where `last` of the bytes came last and nothing was found so far."""
        if self._open:
            return 0
        if not self._comes_in_blocks:
            return size
        # a block is decoded as a whole, and the bytes that came last may have begun the next
        return size - last if not self.undecoded else 0


class _Utf16:
    """Decode UTF-16 to UTF-8; lone surrogates stay."""

    behind = 0

    def __init__(self, coding: str) -> None:
        self._inner = codecs.getincrementaldecoder(coding)("surrogatepass")

    def feed(self, data: bytes) -> bytes:
        try:
            return self._inner.decode(data).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise CodingError("it is no UTF-16") from error

    def finish(self) -> bytes:
        return b""


class _WholeBody:
    """Redact a whole body by a function at the end; makes further streams like itself."""

    is_needed = True
    is_open = False
    left_out = 0
    shifts: Sequence[Shift] = ()

    def __init__(self, take_out: TakeOut) -> None:
        self._take_out = take_out
        self._data = b""

    def stream(self) -> RedactedStream:
        return _WholeBody(self._take_out)

    def stream_by_value(self) -> RedactedStream:
        return _WholeBody(lambda data: (data, ()))

    def learn_value(self, name: str, value: str, /) -> None:
        """Learn nothing: the function does."""

    def feed(self, data: bytes, /) -> Kept:
        self._data += data
        return b"", ()

    def release(self) -> Kept:
        return b"", ()

    def flush(self) -> Kept:
        return self._take_out(self._data)


def request_without(draft: Record, redactor: BodyRedactor) -> Record:
    """Remove secrets from a request's body; returns the draft itself if it has none."""
    stream = CodedStream(redactor, draft.encoding, held_limit=len(draft.data))
    first, in_first = stream.feed(draft.data)
    rest, in_rest = stream.flush()
    redactions = in_first + in_rest
    if not redactions and not stream.left_out:
        return draft
    if stream.left_out:
        redactions = (*redactions, Redaction(where="data", name="body", length=stream.left_out))
    words = f"{stream.left_out} bytes of the body cannot be read, and are not kept" if stream.left_out else None
    return replace(
        draft,
        data=first + rest,
        encoding=None if stream.decoded_from else draft.encoding,
        malformed=draft.malformed or words,
        redacted=draft.redacted + redactions,
    )


def body_without(draft: Record, take_out: TakeOut) -> Record:
    """Redact a request's body by a function that is called with the whole decoded body."""
    return request_without(draft, _WholeBody(take_out))


def _is_text(head: bytes) -> bool:
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return not _NO_TEXT.search(text)


def _coding_by_beginning(head: bytes, *, is_all: bool) -> str | None:
    """Return the coding by the first bytes, empty for none; None if more bytes are needed. Source: RFC 1950, 1952 and 8878."""
    if not is_all and (len(head) < 2 or (len(head) < 4 and _may_begin(head))):
        return None
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_ZSTD) or (head[:1] in _SKIPPABLE and head.startswith(_ZSTD_SKIPPABLE, 1)):
        return "zstd"
    if len(head) < 2:
        return ""
    first, second = head[:2]
    if first & 0x8F == 0x08 and not (first << 8 | second) % 31 and not second & 0x20:
        return "deflate"
    if head[:2] == b"\xff\xfe" or (not second and 0x20 <= first < 0x7F):
        return "utf-16-le"
    if head[:2] == b"\xfe\xff" or (not first and 0x20 <= second < 0x7F):
        return "utf-16-be"
    return ""


_SKIPPABLE = frozenset(bytes((first,)) for first in range(0x50, 0x60))


def _may_begin(head: bytes) -> bool:
    is_skippable = head[:1] in _SKIPPABLE and _ZSTD_SKIPPABLE.startswith(head[1:])
    return is_skippable or _GZIP.startswith(head) or _ZSTD.startswith(head)
