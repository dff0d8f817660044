"""Describes errors of HTTP clients, of any library: the reason of an exchange's end, and a text."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tui_host.capture.http.exchange_end import Reason

_REASONS: tuple[tuple[str, Reason], ...] = (
    ("TimeoutException", "timed out"),
    ("ConnectError", "not connected"),
    ("ProxyError", "not connected"),
    ("UnsupportedProtocol", "not connected"),
    ("ReadError", "cut by peer"),
    ("WriteError", "cut by peer"),
    ("CloseError", "cut by peer"),
    ("RemoteProtocolError", "cut by peer"),
)


def reason_of(error: BaseException) -> Reason:
    """Return the reason of an exchange's end for a client's error, by the class names that httpx and httpx2 share."""
    names = {kind.__name__ for kind in type(error).__mro__}
    for name, reason in _REASONS:
        if name in names:
            return reason
    return "failed"


def words_of(error: BaseException) -> str:
    """Return a text for an error, with the operating system's message."""
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    system_words = next(
        (_said(cause) for cause in _causes(error) if isinstance(cause, OSError) and _has_number(cause)), ""
    )
    return f"{words} ({system_words})" if system_words and system_words not in words else words


def _has_number(error: OSError) -> bool:
    """Return whether an error number is the system's; errors of TLS have numbers of OpenSSL."""
    return bool(error.errno) and all(kind.__name__ != "SSLError" for kind in type(error).__mro__)


def _said(error: OSError) -> str:
    """Return the system's text for an error number: asyncio's contains an address. Look-ups have negative numbers."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting and len(seen) < 20:
        cause = waiting.pop()
        if cause is None or cause in seen:
            continue
        seen.append(cause)
        yield cause
        waiting += [cause.__context__, cause.__cause__]
        inner: tuple[BaseException, ...] = getattr(cause, "exceptions", ())
        waiting += inner
