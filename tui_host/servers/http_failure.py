"""What an HTTP answer says that is none: its words, its error, when to try again. Imported with httpx2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2
from mcp_types import INTERNAL_ERROR

from tui_host.capture.content_codings import Decoder
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.reading import read_object
from tui_host.errors import JSON
from tui_host.servers.dispatcher import error_parts
from tui_host.servers.outgoing_request import HttpAnswer
from tui_host.servers.server_faults import WireError, words_of_answer

REFUSAL_BYTES = 64 << 10
SCANNED = 8_192  # characters: a script that has no end makes the search slow
_TAGS = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)


def refusal_error(answer: HttpAnswer, error: Mapping[str, JSON] | None = None) -> WireError:
    """Return what stands in the place of an answer: the server's own error, else one with the words of its refusal."""
    code, words, data = error_parts(error or {"code": INTERNAL_ERROR, "message": words_of_answer(answer)})
    return WireError(code, words, data, answer)


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
    text = body.decode("utf-8", "replace")
    value = read_object(body)
    if value:
        error = value.get("error")
        message = mapping(error).get("message") if isinstance(error, Mapping) else value.get("message", error)
        text = message if isinstance(message, str) else text
    elif "<" in text:
        text = _TAGS.sub(" ", text[:SCANNED])
    return " ".join(text.split())[:limit]


def seconds_to_wait(response: httpx2.Response) -> float | None:
    """Return for how long the server asks to be left alone; None if it does not say. Source: RFC 9110, section 10.2.3."""
    said = response.headers.get("retry-after", "").strip()
    if said.isdecimal():
        return float(said)
    try:
        return max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def kind_of(response: httpx2.Response) -> str:
    """Return the media type of a response."""
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(response: httpx2.Response, limit: int) -> bytes:
    """Return the decoded body; stops reading soon after the limit, so that a compressed body never grows beyond it."""
    decode = Decoder(response.headers.get("content-encoding"), limit=limit)
    pieces: list[bytes] = []
    size = 0
    async for chunk in response.aiter_raw():
        pieces.append(decode.feed(chunk))
        size += len(pieces[-1])
        if size > limit:
            return b"".join(pieces)
    decode.finish()
    return b"".join(pieces)
