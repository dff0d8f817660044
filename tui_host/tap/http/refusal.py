"""What a relay says in its own name: its head and its body both tell that it was not the upstream."""

from __future__ import annotations

import json
from http import HTTPStatus

from tui_host.errors import JSON
from tui_host.tap.heads import ResponseHead

NAME = "tui-host tap"


def redirection(url: bytes) -> ResponseHead:
    """An answer that sends a browser on, and that the connection ends with."""
    fields = (
        (b"Server", NAME.encode()),
        (b"Location", url),
        (b"Cache-Control", b"no-store"),
        (b"Content-Length", b"0"),
        (b"Connection", b"close"),
    )
    return ResponseHead(minor=1, status=302, reason=HTTPStatus(302).phrase.encode(), fields=fields)


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
        reason=HTTPStatus(status).phrase.encode(),
        fields=(
            (b"Server", NAME.encode()),
            (b"X-Tui-Host-Tap", b"refused" if status != 502 else b"no valid answer from the upstream"),
            (b"Content-Type", b"application/json"),
            (b"Content-Length", b"%d" % len(body)),
            (b"Connection", b"close"),
        ),
    )
    return head, b"" if method == b"HEAD" else body
