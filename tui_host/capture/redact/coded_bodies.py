"""Secrets taken out of bodies that may be packed: only where one stands in what they stand for are they packed anew, or end.

Looked through are the bytes themselves and what they stand for, as often as they do. What cannot be unpacked is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from tui_host.capture.content_codings import MOST, CodingError, Decoder, codings_of
from tui_host.capture.record import Draft, Redaction, Shift
from tui_host.capture.recorder_protocol import BodyRedactor, RedactedStream
from tui_host.capture.redact.by_value import Kept
from tui_host.capture.redact.packing import (
    comes_in_blocks,
    is_at_end,
    last_told,
    packed,
    packing_of,
    unpacked,
    unpacker,
)

HELD_LIMIT = 1 << 20
"""Packed bytes of a body that are held, to be packed anew."""

TakeOut: TypeAlias = Callable[[bytes], Kept]


def request_without(draft: Draft, take_out: TakeOut, by_value: TakeOut | None = None) -> Draft:
    """A request without secrets in its body; the same object where it has none.

    Args:
        draft: It.
        take_out: Takes them out of what the body says.
        by_value: Takes out of bytes, packed or not, those that are known by their value.
    """
    whole = _Whole(take_out, by_value or _as_it_is)
    data, found, read = whole.without(draft.data, codings_of(draft.encoding)[::-1])
    left = len(draft.data) - read
    if not left:
        return replace(draft, data=data, redacted=draft.redacted + found) if found else draft
    words = f"{left} bytes of the body cannot be read, and are not kept"
    redacted = (*draft.redacted, *found, Redaction(where="data", name="body", length=left))
    return replace(draft, data=data, malformed=draft.malformed or words, redacted=redacted)


def _as_it_is(data: bytes) -> Kept:
    return data, ()


@dataclass(frozen=True)
class _Whole:
    """Takes secrets out of bodies that are there as a whole."""

    take_out: TakeOut
    by_value: TakeOut

    def without(
        self, data: bytes, codings: Sequence[str], depth: int = MOST
    ) -> tuple[bytes, tuple[Redaction, ...], int]:
        """A body as far as it can be read, what was taken out, and how much of it that was read.

        Args:
            data: The body.
            codings: Those that it is said to have, the one that was applied last first.
            depth: How often it may be packed.
        """
        announced = codings[0] if codings else None
        packing = packing_of(data, announced, is_all=True)
        if not packing:
            return *self.take_out(data), len(data)
        if not depth:
            return b"", (), 0
        text, read, is_open = unpacked(data, packing)
        if not text and _is_by_chance(packing, announced):
            return *self.take_out(data), len(data)
        inner, found, read_inside = self.without(text, codings[1:], depth - 1)
        is_cut = is_open or read_inside < len(text)
        if not found and not is_cut:
            return *self.by_value(data[:read]), read
        if not found and read_inside == len(text):
            read = last_told(data[:read], packing)
            return *self.by_value(data[:read]), read
        kept = packed(inner, packing) if inner else b""
        return kept, found, min(read, len(kept), len(data) - 1) if is_cut else read


def _is_by_chance(packing: str, announced: str | None) -> bool:
    """Whether bytes that begin so, and of which nothing can be unpacked, are none: two are soon alike, and nobody could unpack the others."""
    return packing == "deflate" and announced != packing


class _Looking:
    """Bytes that may be packed, looked through as they come, and what they stand for too.

    Args:
        redactor: Knows the secrets.
        codings: Those that they are said to have, the one that was applied last first.
        depth: How often they may be packed.

    Attributes:
        plain: What takes secrets out of them, once it is known that they are not packed.
        has_told: The last that came told something of what they stand for.
    """

    def __init__(self, redactor: BodyRedactor, codings: Sequence[str], depth: int = MOST) -> None:
        self.plain: RedactedStream | None = None
        self.has_told = False
        self._redactor = redactor
        self._codings = codings
        self._depth = depth
        self._has_begun = False
        self._held = b""  # until something is told of what they stand for
        self._open = 0  # bytes with which a secret may begin
        self._packing = ""
        self._raw: RedactedStream | None = None
        self._decoder: Decoder | None = None
        self._inner: _Looking | None = None

    @property
    def is_settled(self) -> bool:
        """Whether all that has come is known to have no secret in it."""
        return not self._held and not self._open and (self._inner is None or self._inner.is_settled)

    @property
    def comes_in_blocks(self) -> bool:
        """Whether they tell what they stand for late, much at once."""
        return comes_in_blocks(self._packing) or (self._inner is not None and self._inner.comes_in_blocks)

    @property
    def is_open(self) -> bool:
        """Whether the last that came told nothing yet, but would have, had more come."""
        if self._decoder is None or self._inner is None:
            return False
        is_here = comes_in_blocks(self._packing) and not self.has_told and not is_at_end(self._decoder)
        return is_here or self._inner.is_open

    def feed(self, data: bytes, *, is_all: bool = False) -> Kept:
        """What can be kept by now, where they are not packed; and what was found, as far as that is known.

        Raises:
            CodingError: What they stand for cannot be known.
        """
        if self._decoder is None and self.plain is None:
            data, self._held = self._held + data, b""
            packing = packing_of(data, self._announced, is_all=is_all)
            if packing is None:
                self._held = data
                return b"", ()
            self._begin(packing)
        if self.plain is None:
            return self._unpack(data)
        kept, found = self.plain.feed(data)
        self._open += len(data) - len(kept)
        self.has_told = bool(data)
        return kept, found

    def flush(self) -> Kept:
        """The rest; nothing follows."""
        first, in_first = self.feed(b"", is_all=True)
        if self.plain is not None:
            rest, in_rest = self.plain.flush()
            return first + rest, in_first + in_rest
        found = in_first
        if self._raw is not None and self._inner is not None:
            found += self._raw.flush()[1] + self._inner.flush()[1]
        return b"", found

    @property
    def _announced(self) -> str | None:
        return self._codings[0] if self._codings else None

    def _begin(self, packing: str) -> None:
        if not packing:
            self.plain = self._redactor.stream()
            return
        if not self._depth:
            raise CodingError("it is packed more often than anybody does")
        self._packing = packing
        self._raw = self._redactor.stream_by_value()
        self._decoder = unpacker(packing)
        self._inner = _Looking(self._redactor, self._codings[1:], self._depth - 1)

    def _unpack(self, data: bytes) -> Kept:
        if self._decoder is None or self._raw is None or self._inner is None:
            return b"", ()
        is_by_chance = not self._has_begun and _is_by_chance(self._packing, self._announced)
        if is_by_chance:
            self._held += data
        kept, found = self._raw.feed(data)
        self._open += len(data) - len(kept)
        try:
            text = self._decoder.feed(data)
        except CodingError:
            if not is_by_chance:
                raise
            data, self._held = self._held, b""
            self._decoder = self._inner = None
            self._open = 0
            self.plain = self._redactor.stream()
            return self.feed(data)
        if self._decoder.behind:
            raise CodingError("behind its end stands what is no part of it")
        if text:
            self._has_begun, self._held = True, b""
        found += self._inner.feed(text)[1]
        self.has_told = bool(text) and self._inner.has_told
        return b"", found


class CodedStream:
    """A body as it comes, packed or not. What of it is certainly without a secret goes on at once.

    One that is packed and has a secret in the first that comes of it is held to its end, and packed anew without it. What comes later
    cannot be taken out of a stream that has begun: it ends before. So does one that cannot be unpacked any more. Where no secret is known all is kept.

    Args:
        redactor: Knows the secrets.
        encoding: The content coding that it is said to have.
        is_held: If it is packed it is held to its end in any case: what is refused is often said again where that is told.

    Attributes:
        left_out: Bytes that are not kept because a secret stood in them, or before them, or they cannot be unpacked.
    """

    def __init__(self, redactor: BodyRedactor, encoding: str | None, *, is_held: bool) -> None:
        self.left_out = 0
        self._redactor = redactor
        self._codings = codings_of(encoding)[::-1]
        self._looking = _Looking(redactor, self._codings)
        if not redactor.is_needed:
            self._looking.plain = redactor.stream()  # all of it is kept, whatever it is
        self._held = bytearray()
        self._is_held = is_held
        self._found: tuple[Redaction, ...] = ()
        self._has_begun = self._is_over = False

    @property
    def shifts(self) -> Sequence[Shift]:
        """What was taken out of a body that is not packed."""
        return self._looking.plain.shifts if self._looking.plain is not None else ()

    def feed(self, data: bytes, /) -> Kept:
        """What has no secret in it, as far as that is known."""
        if self._is_over:
            self.left_out += len(data)
            return b"", ()
        if self._looking.plain is not None:
            return self._looking.feed(data)
        self._held += data
        try:
            kept, found = self._looking.feed(data)
        except CodingError:
            return self._end()
        if self._looking.plain is not None:
            self._held.clear()
            return kept, found
        self._found += found
        if found and self._has_begun:
            return self._cut()
        if (self._found or self._is_held) and len(self._held) <= HELD_LIMIT:
            return b"", ()
        if self._found:
            return self._cut()
        self._is_held = False  # too much of it
        return self._release(self._certain(len(data))), ()

    def flush(self) -> Kept:
        """The rest."""
        if self._is_over:
            return b"", ()
        is_open = self._looking.is_open
        try:
            kept, found = self._looking.flush()
        except CodingError:
            return self._end()
        if self._looking.plain is not None:
            return kept, found
        self._found += found
        if self._found or is_open:
            return self._end()
        return self._release(len(self._held)), ()

    def _certain(self, last: int) -> int:
        """How much of what is held has no secret in it, where so many bytes came last."""
        if not self._looking.is_settled:
            return 0
        if not self._looking.comes_in_blocks:
            return len(self._held)
        # a block is told as a whole, and the next may have begun
        return len(self._held) - last if self._looking.has_told else 0

    def _release(self, size: int) -> bytes:
        out = bytes(self._held[:size])
        del self._held[:size]
        self._has_begun = self._has_begun or bool(out)
        return out

    def _end(self) -> Kept:
        """As much as can be kept where secrets stand in what is held, or what does not let itself be unpacked."""
        if self._has_begun:
            return self._cut()
        whole = _Whole(partial(_through, self._redactor.stream), partial(_through, self._redactor.stream_by_value))
        kept, found, read = whole.without(bytes(self._held), self._codings)
        self._is_over = True
        self.left_out = len(self._held) - read
        self._held.clear()
        return kept, found

    def _cut(self) -> Kept:
        self._is_over = True
        self.left_out = len(self._held)
        self._held.clear()
        return b"", self._found


def _through(new: Callable[[], RedactedStream], data: bytes) -> Kept:
    stream = new()
    first, in_first = stream.feed(data)
    rest, in_rest = stream.flush()
    return first + rest, in_first + in_rest
