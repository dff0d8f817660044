"""One-line messages for errors of the SDK, of libraries and of the system."""

from __future__ import annotations

from http import HTTPStatus

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

from tui_host.capture.json.narrowing import is_object
from tui_host.errors import TuiHostError
from tui_host.servers.outgoing_request import HttpAnswer

OURS = "tui-host"
"""Key in the data of errors that no server sent."""
LONGEST = 500


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
    """Say why something failed, and what to do about it, given the last HTTP answer and why the connection ended, if there are any."""
    error = innermost(error)
    if isinstance(error, TuiHostError):
        return f"{error.where}: {error.what}" if error.where else error.what, error.remedy
    if cause:
        return cause, ""
    if answer is not None and (answer.status == 0 or answer.status >= 300 or answer.words):
        return words_of_answer(answer), remedy_of_answer(answer)
    return _words(error), ""


def _words(error: BaseException) -> str:
    match error:
        case MCPError() if error.code == CONNECTION_CLOSED or is_ours(error):
            return error.error.message
        case MCPError():
            return f"error {error.code}: {' '.join(error.error.message.split())[:LONGEST]}"
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            return f"a malformed answer: {'.'.join(map(str, first['loc']))}: {first['msg']}"[:LONGEST]
        case _:
            return " ".join(str(error).split())[:LONGEST] or type(error).__name__


def is_ours(error: BaseException, kind: str = "") -> bool:
    """Whether an error is none of a server's, and of this kind: `fault` for an answer that never came."""
    data: object = error.error.data if isinstance(error, MCPError) else None
    return is_object(data) and OURS in data and kind in {"", data[OURS]}
