"""One-line messages for errors of the SDK, of libraries and of the system."""

from __future__ import annotations

from http import HTTPStatus

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR
from pydantic import ValidationError

from tui_host.capture.json.narrowing import is_object
from tui_host.errors import ServerError, TuiHostError
from tui_host.servers.outgoing_request import HttpAnswer


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
    try:
        phrase = f" {HTTPStatus(answer.status).phrase}"
    except ValueError:
        phrase = ""
    words = f": {answer.words}" if answer.words else ""
    later = f" (try again after {answer.retry_after[:40]})" if answer.retry_after else ""
    return f"HTTP {answer.status}{phrase}{words}{later}"


def remedy_of_answer(answer: HttpAnswer) -> str:
    """Say what to do about an HTTP error answer, empty if unknown."""
    if answer.remedy:
        return answer.remedy
    match answer.status:
        case 0:
            return "check that the server runs and that the URL is right"
        case 401 | 403:
            return "set Authorization under the server's headers"
        case 404 | 405:
            return "correct the URL"
        case status if 300 <= status < 400:
            return "change the URL to the new address"
        case _:
            return ""


def reason_of(error: BaseException, *, answer: HttpAnswer | None = None, cause: str = "") -> tuple[str, str]:
    """Say why something failed, and what to do about it.

    Args:
        error: The exception.
        answer: The last HTTP error answer, None if there was none.
        cause: Why the connection ended, empty while connected.
    """
    error = innermost(error)
    if isinstance(error, TuiHostError):
        where = f"{error.where}: " if error.where else ""
        return f"{where}{error.what}", error.remedy
    if cause:
        return cause, ""
    if answer is not None and (answer.status == 0 or answer.status >= 300 or answer.words):
        return words_of_answer(answer), remedy_of_answer(answer)
    if isinstance(error, MCPError) and is_object(error.error.data) and "tui-host" in error.error.data:
        return error.error.message, ""
    return _words(error), ""


def _words(error: BaseException) -> str:
    match error:
        case MCPError() if error.code == CONNECTION_CLOSED:
            return error.error.message
        case MCPError() if error.code == PARSE_ERROR and error.error.message.startswith("Failed to parse"):
            return "the answer is no JSON-RPC message"  # the SDK's own text is a page of validation messages
        case MCPError():
            return f"error {error.code}: {' '.join(error.error.message.split())[:500]}"
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            return f"a malformed answer: {'.'.join(map(str, first['loc']))}: {first['msg']}"[:500]
        case ServerError():
            return error.what
        case _:
            return " ".join(str(error).split())[:500] or type(error).__name__
