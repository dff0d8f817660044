"""Describes errors of HTTP clients, of any library: the reason of an exchange's end, and a text."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tui_host.capture.http.exchange_end import Reason

REASONS: dict[str, Reason] = {
    "TimeoutException": "timed out",
    **dict.fromkeys(("ConnectError", "ProxyError", "UnsupportedProtocol"), "not connected"),
    **dict.fromkeys(("ReadError", "WriteError", "CloseError", "RemoteProtocolError"), "cut by peer"),
}
"""The reasons of an exchange's end, by the names of classes that httpx and httpx2 share."""
_DEPTH = 6  # of causes: one leads to another, and each may have two


def words_of(error: BaseException) -> str:
    """Return a text for an error, with the operating system's message."""
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    for cause in _causes(error, _DEPTH):
        # not an error of TLS, whose number is OpenSSL's
        if isinstance(cause, OSError) and cause.errno and "SSLError" not in [k.__name__ for k in type(cause).__mro__]:
            # asyncio's text contains an address; the numbers of look-ups are negative
            system_words = os.strerror(cause.errno) if cause.errno > 0 else cause.strerror or ""
            return words if system_words in words else f"{words} ({system_words})"
    return words


def _causes(error: BaseException, depth: int) -> Iterator[BaseException]:
    yield error
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    for cause in (*inner, error.__cause__, error.__context__) if depth else ():
        if cause is not None:
            yield from _causes(cause, depth - 1)
