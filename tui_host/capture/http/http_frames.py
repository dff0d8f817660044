"""Records the JSON-RPC messages in the bodies of HTTP exchanges. Source: MCP 2025-11-25, Transports."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from tui_host.capture.content_codings import LIMIT, CodingError, Decoder
from tui_host.capture.frames.correlator import Correlator
from tui_host.capture.frames.frame_heads import frames_in, read_frame
from tui_host.capture.http.sse import SseDecoder, SseEvent
from tui_host.capture.record import Direction, Place, Record
from tui_host.capture.recording import Recording


@dataclass(slots=True, eq=False)
class HttpFrames:
    """Records the JSON-RPC messages of an exchange, each in the place of its call, which is found by id."""

    _recorder: Recording
    _correlator: Correlator
    _make: partial[Record]
    _place: Place  # of the exchange
    _asked: bool = False
    _is_refused: bool = False
    _open: list[str] = field(default_factory=list[str])
    _decoder: Decoder | None = None  # None for a body that is not searched
    _events: SseDecoder | None = None
    _body: bytearray = field(default_factory=bytearray)

    def sent(self, body: bytes) -> None:
        """Record the messages in the request's body. A body without JSON-RPC, such as a login's form, has none."""
        self._asked = is_rpc(body)
        self._record("out", frames_in(body) if self._asked else ())

    def answered(self, status: int, content_type: str, encoding: str | None) -> None:
        """Read the head of the response: an event stream has a frame per event, JSON a frame per message.

        From a refusal, only JSON-RPC becomes a frame: proxies in front of a server refuse in forms of their own.
        """
        self._is_refused = status >= 400
        is_json = content_type.startswith("application/json") and self._asked and status != 202
        if content_type.startswith("text/event-stream"):
            self._events = SseDecoder()
        if is_json or self._events is not None:
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
            return
        if self._events is not None:
            self._record("in", _messages(self._events.feed(data)))
        elif len(self._body) + len(data) <= LIMIT:
            self._body += data
        else:
            self._decoder = None

    def finished(self, *, whole: bool) -> None:
        """Finish the response's body; an incomplete message is not recorded."""
        if self._decoder is not None and self._events is not None:
            self._record("in", _messages(self._events.finish()))
        elif self._decoder is not None and whole:
            body = bytes(self._body)
            self._record("in", frames_in(body) if is_rpc(body) or not self._is_refused else ())
        for identity in self._open if self._is_refused else ():
            self._correlator.refused(identity)
        self._decoder = None

    def _record(self, direction: Direction, messages: Iterable[bytes]) -> None:
        for data in messages:
            head = read_frame(data).head
            seen = self._correlator.see(direction, head, self._place)
            if direction == "in":
                self._open.clear()
            elif head.kind == "request":
                self._open.append(head.id)
            fault = head.reason or seen.odd or None
            frame = self._make(kind="frame", direction=direction, place=seen.place, data=data, malformed=fault)
            self._recorder.append(frame)


def _messages(events: Iterable[SseEvent]) -> list[bytes]:
    return [e.data for e in events if e.kind == "event" and e.event == "message" and e.data.strip()]


def is_rpc(body: bytes) -> bool:
    """Whether a body is meant to be JSON-RPC."""
    return body.lstrip()[:1] in {b"{", b"["} and b'"jsonrpc"' in body
