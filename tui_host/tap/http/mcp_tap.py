"""`tap http`: a relay in front of an MCP server with a URL, for streamable HTTP or the older HTTP with SSE."""

from __future__ import annotations

from functools import partial

from typing_extensions import override

from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.http.observer import Observer
from tui_host.settings.credential_places import in_url
from tui_host.settings.urls import parts_of
from tui_host.tap.exchanges import Observers
from tui_host.tap.message_heads import RequestHead, ResponseHead
from tui_host.tap.session import TapRecorder

PORT = 8322
"""The default port to listen on."""
REMEMBERED = 1000
"""Largest number of client sessions to remember."""


class Connections(Observers):
    """Distinguishes clients' connections by session id or by announced endpoint, else by the clients' names.

    `is_whole` tells whether connections are recorded from their beginning.
    """

    def __init__(self, recorder: TapRecorder, name: str, *, is_whole: bool = True) -> None:
        super().__init__(recorder, name, is_mcp=True)
        self._recorder = recorder
        self._is_whole = is_whole
        self._name = name
        self._observer = partial(Observer, recorder, wire="mcp", peer=name)
        self._plain: dict[bytes, Observer] = {}
        self._known: dict[bytes, Observer] = {}

    @override
    def observer_of(self, head: RequestHead, body: bytes) -> Observer:
        """Return the observer of the connection to which a request belongs."""
        observer = self._known.get(head.value(b"mcp-session-id") or head.target)
        if head.method == b"POST" and observer is None and not is_rpc(body):
            return self._without_connection
        if observer is not None:
            return observer
        listens = head.method == b"GET" and b"text/event-stream" in head.value(b"accept").lower()
        begins = listens or b'"initialize"' in body
        agent = head.value(b"user-agent")
        plain = self._plain.get(agent)
        if begins or plain is None:
            connection = self._recorder.new_connection(self._name)
            is_whole = self._is_whole or begins
            plain = self._observer(connection=connection, is_whole=is_whole, logins="some")
            _remember(self._plain, agent, plain)
        return plain

    @override
    def answered(self, observer: Observer, head: RequestHead, response: ResponseHead) -> None:
        """Note the beginning or end of a session."""
        session = response.value(b"mcp-session-id")
        if session:
            _remember(self._known, session, observer)
        if head.method == b"DELETE" and response.status < 300:
            self._known.pop(head.value(b"mcp-session-id"), None)

    @override
    def announced(self, observer: Observer, url: str) -> None:
        """Note the URL to which a client will send its messages."""
        parts = parts_of(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        for span in in_url(target):  # the session's id, to be redacted in the stream that is recorded next
            self._recorder.redactor.learn_value(span.name, target[span.start : span.end])
        _remember(self._known, target.encode("latin-1"), observer)


def _remember(known: dict[bytes, Observer], key: bytes, observer: Observer) -> None:
    known[key] = observer
    while len(known) > REMEMBERED:
        del known[next(iter(known))]
