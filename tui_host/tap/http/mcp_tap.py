"""`tap http`: a relay before an MCP server behind a URL, over streamable HTTP or the older HTTP with SSE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_host.capture.http.http_frames import is_rpc
from tui_host.capture.http.observer import Observer
from tui_host.capture.redact.login_exchanges import WithoutTokens, is_login
from tui_host.settings.credential_places import in_url
from tui_host.settings.urls import parts_of
from tui_host.tap.message_heads import RequestHead, ResponseHead

if TYPE_CHECKING:
    from tui_host.tap.recording.exchange_records import TimedRecorder

PORT = 8322
"""The default port."""
REMEMBERED = 1000
"""Client sessions remembered."""


class Connections:
    """Tells clients' connections apart, by session id or by announced endpoint.

    Where a server gives no such thing, by what the clients call themselves in each request.

    Args:
        recorder: Keeps the records.
        name: The server's name.
        is_whole: Connections are recorded from their beginning.
    """

    def __init__(self, recorder: TimedRecorder, name: str, *, is_whole: bool = True) -> None:
        self._recorder = recorder
        self._is_whole = is_whole
        self._name = name
        self._login = Observer(WithoutTokens(recorder, is_login=True), wire="mcp", peer=name)
        self._plain: dict[bytes, Observer] = {}
        self._known: dict[bytes, Observer] = {}

    def of(self, head: RequestHead, body: bytes) -> Observer:
        """The observer of a request's connection."""
        observer = self._known.get(head.value(b"mcp-session-id") or head.target)
        path = head.target.partition(b"?")[0]
        may_be_login = observer is None or is_login(
            path, head.value(b"content-type"), body
        )  # a server may announce any place
        if head.method == b"POST" and may_be_login and not is_rpc(body):
            return self._login
        if observer is not None:
            return observer
        begins = b'"initialize"' in body or (
            head.method == b"GET" and b"text/event-stream" in head.value(b"accept").lower()
        )
        agent = head.value(b"user-agent")
        plain = self._plain.get(agent)
        if begins or plain is None:
            connection = self._recorder.new_connection(self._name)
            is_whole = self._is_whole or begins
            plain = Observer(self._recorder, wire="mcp", peer=self._name, connection=connection, is_whole=is_whole)
            _remember(self._plain, agent, plain)
        return plain

    def answered(self, observer: Observer, head: RequestHead, response: ResponseHead) -> None:
        """Note a session's beginning or end."""
        session = response.value(b"mcp-session-id")
        if session:
            _remember(self._known, session, observer)
        if head.method == b"DELETE" and response.status < 300:
            self._known.pop(head.value(b"mcp-session-id"), None)

    def announced(self, observer: Observer, url: str) -> None:
        """Note where a client's messages will go."""
        parts = parts_of(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        for span in in_url(target):  # the session's id, which the stream says in what is recorded next
            self._recorder.redactor.learn_value(span.name, target[span.start : span.end])
        _remember(self._known, target.encode("latin-1"), observer)


def _remember(known: dict[bytes, Observer], key: bytes, observer: Observer) -> None:
    known[key] = observer
    while len(known) > REMEMBERED:
        del known[next(iter(known))]
