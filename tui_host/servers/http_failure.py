"""One-line messages for HTTP failures. Imported with httpx2, after the first server behind a URL."""

from __future__ import annotations

import json

import httpx2
from mcp_types import METHOD_NOT_FOUND

from tui_host.capture.json.narrowing import is_object
from tui_host.errors import JSON


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of an error raised for a response, None for any other error."""
    return error.response.status_code if isinstance(error, httpx2.HTTPStatusError) else None


def fault_words(error: BaseException) -> str:
    """Describe in a line why no HTTP response came."""
    text = " ".join(str(error).split())
    match error:
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return "no connection in time"
        case httpx2.TimeoutException():
            return "no answer in time"
        case httpx2.ConnectError():
            return "connection refused" if "refused" in text.lower() or "attempts failed" in text else text
        case _:
            return text or type(error).__name__


def first_words(body: bytes, limit: int = 200) -> str:
    """Return the beginning of an error body: a JSON-RPC error's message, else the text without tags."""
    try:
        value: JSON = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    text = body.decode("utf-8", "replace")
    if is_object(value):
        error = value.get("error")
        message = error.get("message") if is_object(error) else value.get("message", error)
        text = message if isinstance(message, str) else text
    elif "<" in text:
        text = _without_tags(text)
    return " ".join(text.split())[:limit]


def has_forgotten_session(status: int, body: bytes) -> bool:
    """Whether the refusal of a request with a session id means that the server no longer knows the session.

    The specification demands 404. Many servers answer 400 with a message, like the examples of the TypeScript SDK; people
    meet this after a restart. Source: MCP 2025-11-25, Transports, Session Management.
    """
    if status == 404:
        return _rpc_error_code(body) != METHOD_NOT_FOUND
    words = first_words(body).lower()
    return status == 400 and ("session" in words or "not initialized" in words)


def _rpc_error_code(body: bytes) -> int | None:
    """Return the code of the JSON-RPC error in a body, None without an error."""
    try:
        value: JSON = json.loads(body)
    except (ValueError, RecursionError):
        return None
    error = value.get("error") if is_object(value) else None
    code = error.get("code") if is_object(error) else None
    return code if isinstance(code, int) else None


def _without_tags(text: str) -> str:
    """Return the words between tags, without scripts and styles; linear in the length."""
    words: list[str] = []
    skipping = ""
    for number, piece in enumerate(text.split("<")):
        tag, closed, after = piece.partition(">") if number else ("", ">", piece)
        name = tag.partition(" ")[0].lower()
        if skipping:
            if name != f"/{skipping}":
                continue
            skipping = ""
        elif name in {"script", "style"}:
            skipping = name
            continue
        if closed:
            words.append(after)
    return " ".join(words)
