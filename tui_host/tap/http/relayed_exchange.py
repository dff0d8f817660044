"""A request and its answer on their way through the relay. Each piece is reported before it is passed on.

So if the relay is killed, nothing that passed is missing in the capture, except what is never reported: interim heads, and
what the client sends through a tunnel. What is reported is what the upstream got and said; what the client gets differs
from it by the headers of one hop, and by places (see `logins`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from tui_host.capture.http.exchange_end import Ending
from tui_host.tap import http_messages as messages
from tui_host.tap import relay as kinds
from tui_host.tap.http.logins import BodyChange
from tui_host.tap.http_messages import HeaderLine, HeadError, MessageHead, SizedBody

Report: TypeAlias = Callable[[bytes, int, bytes], None]
"""Takes what the recorder is to know, without waiting: its kind, the exchange's number, its data."""

DOCUMENT_LIMIT = 1 << 20  # bytes of a login's metadata


class RelayedExchange:
    """A request, which is reported as the upstream gets it (`asked`), and then its answer."""

    def __init__(self, head: MessageHead, body: SizedBody, asked: bytes, report: Report, number: int) -> None:
        self.head = head
        self.request = body
        self.answer: SizedBody | None = None  # until the answer's head has come
        self.keeps_upstream = True  # the upstream's connection may be used for another request
        self.has_begun = False  # the client has got a part of the answer
        self._report, self._number = report, number
        self._is_asked = self._is_over = False
        self._passed: MessageHead | None = None  # the answer's head, until it is passed on with the body's beginning
        self._change: BodyChange | None = None
        self._held = b""
        report(kinds.REQUEST, number, asked)

    def feed_request(self, data: bytes) -> int:
        """Take bytes from the client; returns how many of them belong to the request."""
        content, size = self.request.feed(data)
        if content and not self._is_asked:
            self._report(kinds.SENT, self._number, content)
        if self.request.is_done:
            self._end_request()
        return size

    def begin_answer(self, response: MessageHead, passed: MessageHead, change: BodyChange | None = None) -> None:
        """Take the head of the answer, and how it passes. Raises HeadError if it is unclear where the body ends."""
        self.answer = messages.response_body(response, self.head.method)
        self.keeps_upstream = response.keeps_alive and not self.answer.is_open
        self._passed, self._change = passed, change
        self._end_request()
        self._report(kinds.RESPONSE, self._number, response.block)

    def feed_answer(self, answer: SizedBody, data: bytes) -> tuple[bytes, bytes]:
        """Take bytes from the upstream; returns bytes for the client, and those behind the answer. Raises HeadError."""
        content, size = answer.feed(data)
        out, rest = (data, b"") if size == len(data) else (data[:size], data[size:])
        change = self._change
        if callable(change):  # a document, which is held back until it is whole
            self._held += content
            if len(self._held) > DOCUMENT_LIMIT:
                raise HeadError(502, f"login metadata of more than {DOCUMENT_LIMIT} bytes")
            out = b""
            if answer.is_done and self._passed is not None:
                out = change(self._held)
                kept = [field for field in self._passed.fields if field.key not in messages.FRAMES]
                size_line = HeaderLine(b"content-length", b"", b"Content-Length:\r\n").with_value(b"%d" % len(out))
                self._passed = replace(self._passed, fields=(*kept, size_line))
        elif change is not None:
            out = change.feed(content, is_last=answer.is_done)
            if change.url:  # before the bytes that contain it, so that a session's id in it is not kept
                self._report(kinds.ANNOUNCED, self._number, change.url)
                change.url = b""
            if answer.is_chunked:  # its chunks no longer fit, so each piece becomes one
                out = b"%x\r\n%s\r\n" % (len(out), out) if out else b""  # an empty chunk is the last one
                out += b"0\r\n\r\n" if answer.is_done else b""
        if content and not self._is_over:
            self._report(kinds.CHUNK, self._number, content)
        if answer.fault:  # everything passes unread until the connection ends, for the client to judge
            words = f"the upstream's answer: {answer.fault}"
            if change is not None:
                raise HeadError(502, words)
            self.finish(kinds.FAILED, Ending(reason="cut by peer", error=words))
            self.answer = SizedBody(None)
            self.keeps_upstream = False
        if self._passed is not None and (answer.is_done or not callable(change)):
            out = self._passed.block + out
            self._passed = None
            self.has_begun = True
        if answer.is_done:
            self.finish(kinds.COMPLETE)
        return out, rest

    def _end_request(self) -> None:
        """Report the end of the request, or that no more of it is reported because the answer has begun."""
        if not self._is_asked:
            self._is_asked = True
            self._report(kinds.ASKED, self._number, b"")

    def finish(self, kind: bytes, ending: Ending | None = None) -> None:
        """Report the exchange's end, how it ended if it failed, unless that has been done."""
        if not self._is_over:
            self._end_request()
            self._is_over = True
            self._report(kind, self._number, b"" if ending is None else ending.to_bytes())
