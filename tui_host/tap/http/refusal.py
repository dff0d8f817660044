"""What a relay says in its own name: its head and its body both tell that it was not the upstream."""

from __future__ import annotations

import json
from http import HTTPStatus

from tui_host.capture.record import TAP
from tui_host.errors import JSON
from tui_host.tap.message_heads import ResponseHead, made

NAME = TAP


def redirection(url: bytes) -> ResponseHead:
    """An answer that sends a browser on, and that the connection ends with.

    Raises:
        HeadError: That is no URL.
    """
    fields = (
        made(b"Server", NAME.encode()),
        made(b"Location", url),
        made(b"Cache-Control", b"no-store"),
        made(b"Content-Length", b"0"),
        made(b"Connection", b"close"),
    )
    return ResponseHead(minor=1, status=302, line=_line(302), fields=fields)


def refusal(status: int, words: str, method: bytes) -> tuple[ResponseHead, bytes]:
    """An answer that the connection ends with, in the form in which most clients look for words.

    Args:
        status: Its status.
        words: What happened.
        method: The request's.
    """
    error: dict[str, JSON] = {"message": f"{NAME}: {words}", "type": NAME, "code": status}
    body = json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    head = ResponseHead(
        minor=1,
        status=status,
        line=_line(status),
        fields=(
            made(b"Server", NAME.encode()),
            made(b"X-Tui-Host-Tap", b"refused" if status != 502 else b"no valid answer from the upstream"),
            made(b"Content-Type", b"application/json"),
            made(b"Content-Length", b"%d" % len(body)),
            made(b"Connection", b"close"),
        ),
    )
    return head, b"" if method == b"HEAD" else body


def _line(status: int) -> bytes:
    return b"HTTP/1.1 %d %s\r\n" % (status, HTTPStatus(status).phrase.encode())
