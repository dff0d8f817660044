"""Reads from a head how long the body is: strictly for requests, leniently for responses. Source: RFC 9112, section 6."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tui_host.tap.message_heads import HeadError, RequestHead, ResponseHead

Framing: TypeAlias = int | Literal["none", "chunked", "close"]
"""How a body ends: after a number of bytes, no body, with the last chunk, or with the connection."""

_BLANKS = b" \t"


def request_framing(head: RequestHead) -> Framing:
    """Return how a request's body ends.

    Raises:
        HeadError: The framing is ambiguous or unknown.
    """
    lengths, codings = head.values(b"content-length"), head.values(b"transfer-encoding")
    if codings:
        if lengths:
            raise HeadError(400, "Content-Length and Transfer-Encoding in one request")
        if head.minor == 0 or [coding.lower() for coding in codings] != [b"chunked"]:
            raise HeadError(400, "a transfer coding other than chunked")
        return "chunked"
    return _length(lengths, 400) if lengths else "none"


def response_framing(head: ResponseHead, method: bytes) -> Framing:
    """Return how a response's body ends. Source: RFC 9112, section 6.3.

    Raises:
        HeadError: The length is unclear.
    """
    if method == b"HEAD" or head.status in {204, 304} or head.status < 200:
        return "none"
    named = b",".join(head.values(b"transfer-encoding")).lower().split(b",")
    codings = [coding for name in named if (coding := name.strip(_BLANKS)) not in {b"", b"identity"}]
    if codings:
        return "chunked" if codings[-1] == b"chunked" else "close"  # however often that is said, and whatever is within
    lengths = head.values(b"content-length")
    return _length(lengths, 502) if lengths else "close"


def _length(values: list[bytes], status: int) -> int:
    """Return the length if all values agree; the header itself is passed on unchanged. Source: RFC 9110, section 8.6."""
    length, *different = {value.strip(_BLANKS) for value in b",".join(values).split(b",")}
    if different:
        raise HeadError(status, "two different Content-Lengths")
    if not length.isdigit() or len(length) > 18:
        raise HeadError(status, "an invalid Content-Length")
    return int(length)
