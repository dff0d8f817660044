"""One-line messages for errors of the SDK, of libraries and of the system."""

from __future__ import annotations

from http import HTTPStatus

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

from tui_host.errors import JSON, TuiHostError
from tui_host.servers.outgoing_request import HttpAnswer

LONGEST = 500
_REMEDIES = {
    0: "check that the server runs and that the URL is right",
    **dict.fromkeys((401, 403), "set Authorization under the server's headers"),
    **dict.fromkeys((404, 405), "correct the URL"),
}
"""What to do about an answer over HTTP, by its status; 0 if none came."""


class WireError(MCPError):
    """What the transport gives in place of a server's result; `answer` is what HTTP said, if that is why."""

    def __init__(self, code: int, message: str, data: JSON = None, answer: HttpAnswer | None = None) -> None:
        super().__init__(code, message, data)
        self.answer = answer


def closed(words: str = "Connection closed", answer: HttpAnswer | None = None) -> WireError:
    """Return the error of a request whose answer will not come."""
    return WireError(CONNECTION_CLOSED, words, answer=answer)


def innermost(error: BaseException) -> BaseException:
    """Return the original error inside the exception groups of the SDK's task groups."""
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())  # only exception groups have this attribute
    if not inner:
        return error
    return innermost(next((part for part in inner if isinstance(part, TuiHostError)), inner[0]))


def words_of_answer(answer: HttpAnswer) -> str:
    """Describe an HTTP error answer, or why none came."""
    if answer.status == 0:
        return answer.words
    known = answer.status in set(HTTPStatus)
    phrase = f" {HTTPStatus(answer.status).phrase}" if known else ""
    words = f": {answer.words}" if answer.words else ""
    later = f" (try again after {answer.retry_after[:40]})" if answer.retry_after else ""
    return f"HTTP {answer.status}{phrase}{words}{later}"


def reason_of(error: BaseException, cause: str = "") -> tuple[str, str]:
    """Say why something failed, and what to do about it, given why the connection ended, if it did."""
    error = innermost(error)
    answer = error.answer if isinstance(error, WireError) else None
    if isinstance(error, TuiHostError):
        return f"{error.where}: {error.what}" if error.where else error.what, error.remedy
    if cause:
        return cause, ""
    if answer is not None and (answer.status == 0 or answer.status >= 300 or answer.words):
        known = "change the URL to the new address" if 300 <= answer.status < 400 else _REMEDIES.get(answer.status, "")
        return words_of_answer(answer), answer.remedy or known
    match error:
        case WireError():
            return error.error.message, ""
        case MCPError():
            return f"error {error.code}: {' '.join(error.error.message.split())[:LONGEST]}", ""
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            return f"a malformed answer: {'.'.join(map(str, first['loc']))}: {first['msg']}"[:LONGEST], ""
        case _:
            return " ".join(str(error).split())[:LONGEST] or type(error).__name__, ""
