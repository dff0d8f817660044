"""An event stream of which each event is counted before the SDK parses it. Source: threats.md, PRO-06."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable

import httpx2
from typing_extensions import override

from tui_host.capture.json.scan import PARTS_LIMIT, parts_of

_BLANK_LINE = re.compile(rb"\n\n|\n\r\n|\r\r")


class BoundedEvents(httpx2.AsyncByteStream):
    """Passes whole events on, unchanged; one that is too large or has too many parts becomes an error, and is the last.

    Args:
        inner: The response's stream, without a content coding.
        limit: Bytes that one event may have.
        instead: The event that says why there is no other.
    """

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int, instead: Callable[[str], bytes]) -> None:
        self._inner = inner
        self._limit = limit
        self._instead = instead

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        held: list[bytes] = []
        size = 0
        tail = b""  # a blank line may be cut in two
        async for chunk in self._inner:
            seam = tail + chunk
            ends = [match.end() for match in _BLANK_LINE.finditer(seam)]
            tail = seam[-2:]
            if not ends:
                held.append(chunk)
                size += len(chunk)
                if size > self._limit:
                    yield self._instead(f"an event has more than {self._limit >> 20} MB")
                    return
                continue
            cut = ends[-1] - (len(seam) - len(chunk))
            block = b"".join([*held, chunk[:cut]])
            held, size = [chunk[cut:]], len(chunk) - cut
            reason = _too_many(block)
            yield block if reason is None else self._instead(reason)
            if reason is not None:
                return
        rest = b"".join(held)
        if rest:
            reason = _too_many(rest)
            yield rest if reason is None else self._instead(reason)

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


def too_many(parts: int) -> str:
    """In words that an answer has too many parts to be read."""
    return f"the answer has {parts:,} parts or more; {PARTS_LIMIT:,} are read"


def _too_many(block: bytes) -> str | None:
    """Why a block of whole events cannot be passed on; each event counts for itself."""
    if parts_of(block) > PARTS_LIMIT:
        most = max(map(parts_of, _BLANK_LINE.split(block)))
        if most > PARTS_LIMIT:
            return too_many(most)
    if _lines_of(block) > PARTS_LIMIT:
        most = max(map(_lines_of, _BLANK_LINE.split(block)))
        if most > PARTS_LIMIT:
            return f"an event has {most:,} lines; {PARTS_LIMIT:,} are read"
    return None


def _lines_of(block: bytes) -> int:
    return max(block.count(b"\n"), block.count(b"\r"))
