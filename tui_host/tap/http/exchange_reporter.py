"""Reports an exchange to the recorder while it passes through the relay.

Bytes are reported before they are passed on: if the relay is killed, no received bytes are missing.
"""

from __future__ import annotations

from typing import Protocol

from tui_host.capture.http.exchange_end import Ending, Reason
from tui_host.capture.http.observer import BODY_LIMIT
from tui_host.tap.message_heads import RequestHead, ResponseHead, request_bytes, response_bytes
from tui_host.tap.recording.channel_write import (
    ANNOUNCED,
    ASKED,
    CHUNK,
    CLOSED,
    COMPLETE,
    FAILED,
    REQUEST,
    RESPONSE,
    SENT,
    UNREAD,
    lost,
)


class ItemWriter(Protocol):
    """Writes items for the recorder without waiting for it."""

    def report(self, kind: bytes, data: bytes, number: int = 0, at_ns: int | None = None, /) -> None:
        """Write an item of an exchange, with a time on the monotonic clock or the current time."""
        ...

    def notify(self) -> None:
        """Wake the recorder if it waits."""
        ...


class _Body:
    """Reports a body up to a limit, and counts the bytes after the limit."""

    def __init__(self, writer: ItemWriter, kind: bytes, number: int, limit: int | None) -> None:
        self._writer = writer
        self._kind = kind
        self._number = number
        self._room = limit
        self._left_out = 0

    def pass_on(self, data: bytes, at_ns: int | None) -> None:
        if self._room is not None:
            kept = data[: self._room]
            self._room -= len(kept)
            self._left_out += len(data) - len(kept)
            data = kept
        if data:
            self._writer.report(self._kind, data, self._number, at_ns)
            self._writer.notify()

    def finish(self) -> None:
        if self._left_out:
            self._writer.report(lost(self._kind), b"%d" % self._left_out, self._number)
            self._left_out = 0


class ExchangeReporter:
    """Reports an exchange. Its request comes in pieces and may have no end.

    Args:
        writer: Receives the reports.
        number: The exchange's number.
        head: The request's head as sent to the upstream.
        origin: The upstream's origin.
        answer_limit: Largest number of bytes of the response's body to report; None for all.
    """

    def __init__(
        self, writer: ItemWriter, number: int, head: RequestHead, origin: str, *, answer_limit: int | None = None
    ) -> None:
        self._writer = writer
        self._number = number
        self._is_asked = self._is_over = False
        self._sent = _Body(writer, SENT, number, BODY_LIMIT)
        self._chunks = _Body(writer, CHUNK, number, answer_limit)
        writer.report(REQUEST, origin.encode() + b"\n" + request_bytes(head), number)

    def sent(self, data: bytes, at_ns: int | None = None) -> None:
        """Report bytes of the request's body."""
        if not self._is_asked:
            self._sent.pass_on(data, at_ns)

    def sent_all(self, at_ns: int | None = None) -> None:
        """Report the end of the request, or of its recording: later reports belong to the response."""
        if not self._is_asked:
            self._is_asked = True
            self._sent.finish()
            self._tell(ASKED, at_ns=at_ns)

    def answered(self, head: ResponseHead, at_ns: int | None = None) -> None:
        """Report the head of the response."""
        self.sent_all(at_ns)
        self._tell(RESPONSE, response_bytes(head), at_ns)

    def refused(self, head: ResponseHead, body: bytes) -> None:
        """Report an answer made by the relay, which has not read the request's body."""
        self._is_asked = True
        self._tell(ASKED, UNREAD)
        self.answered(head)
        self.chunk(body)
        self.end()

    def announced(self, url: bytes) -> None:
        """Report the URL that a server announces for messages."""
        self._tell(ANNOUNCED, url)

    def chunk(self, data: bytes, at_ns: int | None = None) -> None:
        """Report bytes of the response's body."""
        self._chunks.pass_on(data, at_ns)

    def end(self, at_ns: int | None = None) -> None:
        """Report the end of the response."""
        self._finish(COMPLETE, at_ns=at_ns)

    def fail(self, words: str, reason: Reason) -> None:
        """Report that the exchange failed."""
        self._finish(FAILED, Ending(reason=reason, error=words).to_bytes())

    def close(self) -> None:
        """Report that the host has stopped reading."""
        self._finish(CLOSED)

    def _finish(self, kind: bytes, data: bytes = b"", at_ns: int | None = None) -> None:
        if not self._is_over:
            self._is_over = True
            self.sent_all()
            self._chunks.finish()
            self._tell(kind, data, at_ns)

    def _tell(self, kind: bytes, data: bytes = b"", at_ns: int | None = None) -> None:
        self._writer.report(kind, data, self._number, at_ns)
        self._writer.notify()
