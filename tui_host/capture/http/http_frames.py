"""Records the JSON-RPC messages in the bodies of HTTP exchanges. Source: MCP 2025-11-25, Transports."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from tui_host.capture.content_codings import LIMIT, CodingError, Decoder
from tui_host.capture.frames.correlator import Correlator
from tui_host.capture.frames.frame_heads import frames_in, read_frame
from tui_host.capture.http.sse import SseDecoder, SseEvent
from tui_host.capture.record import Direction, Place, Record
from tui_host.capture.recording import Recording


class HttpFrames:
    """Records the JSON-RPC messages of an exchange, each in the place of its call, which is found by id."""

    def __init__(self, recorder: Recording, correlator: Correlator, make: partial[Record], place: Place) -> None:
        self._recorder = recorder
        self._correlator = correlator
        self._make = make
        self._place = place  # of the exchange
        self._asked = self._is_refused = False
        self._open: list[str] = []
        self._decoder: Decoder | None = None  # None for a body that is not searched
        self._events: SseDecoder | None = None
        self._body = bytearray()

    def sent(self, body: bytes) -> None:
        """Record the messages in the request's body. A body without JSON-RPC, such as a login's form, has none."""
        if is_rpc(body):
            self._asked = True
            for data in frames_in(body):
                self._record("out", data)

    def answered(self, status: int, content_type: str, encoding: str | None) -> None:
        """Read the head of the response: an event stream has a frame per event, JSON a frame per message.

        From a refusal, only JSON-RPC becomes a frame: proxies in front of a server refuse in forms of their own.
        """
        self._is_refused = status >= 400
        is_json = content_type.startswith("application/json") and self._asked and status != 202
        if content_type.startswith("text/event-stream"):
            self._events = SseDecoder()
        elif not is_json:
            return
        with suppress(CodingError):
            self._decoder = Decoder(encoding)

    def received(self, data: bytes) -> None:
        """Read bytes of the response's body."""
        if self._decoder is None:
            return
        try:
            data = self._decoder.feed(data)
        except CodingError:
            self._decoder = None
        else:
            if self._events is not None:
                self._take(self._events.feed(data))
            elif len(self._body) + len(data) <= LIMIT:
                self._body += data
            else:
                self._decoder = None

    def finished(self, *, whole: bool) -> None:
        """Finish the response's body; an incomplete message is not recorded."""
        if self._decoder is not None and self._events is not None:
            self._take(self._events.finish())
        elif self._decoder is not None and whole:
            body = bytes(self._body)
            for data in frames_in(body) if is_rpc(body) or not self._is_refused else ():
                self._record("in", data)
        for identity in self._open if self._is_refused else ():
            self._correlator.refused(identity)
        self._decoder = None

    def _take(self, events: Iterable[SseEvent]) -> None:
        for event in events:
            if event.kind == "event" and event.event == "message" and event.data.strip():
                self._record("in", event.data)

    def _record(self, direction: Direction, data: bytes) -> None:
        head = read_frame(data).head
        seen = self._correlator.see(direction, head, self._place)
        if direction == "in":
            self._open.clear()
        elif head.kind == "request":
            self._open.append(head.id)
        fault = head.reason or seen.odd or None
        self._recorder.append(
            self._make(kind="frame", direction=direction, place=seen.place, data=data, malformed=fault)
        )


def is_rpc(body: bytes) -> bool:
    """Whether a body is meant to be JSON-RPC."""
    return body.lstrip()[:1] in {b"{", b"["} and b'"jsonrpc"' in body
