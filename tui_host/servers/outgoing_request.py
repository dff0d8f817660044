"""A request on its way to a server: the approved bytes, their check before anything leaves, and what became of the request."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tui_host.errors import JSON, ServerError
from tui_host.servers.catalog import GET_PROMPT, READ


@dataclass(slots=True, kw_only=True)
class HttpAnswer:
    """An HTTP server's answer to a request, reduced to what an error message needs.

    Attributes:
        status: The status, 0 if no answer came.
        words: The first words of an error's body, or the fault that prevented an answer.
        remedy: What to do, if that does not follow from the status.
    """

    status: int
    words: str = ""
    retry_after: str = ""
    remedy: str = ""


@dataclass(slots=True, kw_only=True)
class HttpState:
    """What the owner of a connection over HTTP wants to know of it.

    Attributes:
        last: The last answer to a request that was none, or an error; None after a success.
        is_refused: Nothing accepted the last attempt to connect, or what did says that this will pass.
        retry_seconds: For how long the server asked to be left alone; 0 if it did not say.
        is_session_lost: The server refused a request because it no longer knows the session.
    """

    last: HttpAnswer | None = None
    is_refused: bool = False
    retry_seconds: float = 0.0
    is_session_lost: bool = False

    def succeeded(self) -> None:
        """Forget what was refused before."""
        self.last, self.is_refused, self.retry_seconds = None, False, 0.0


@dataclass(slots=True, kw_only=True)
class OutgoingRequest:
    """The state of a request, which the wire fills in.

    Attributes:
        tool: The approved tool's name; `READ` for a resource, `GET_PROMPT` for a prompt.
        arguments: The canonical approved bytes; without them no `tools/call`, `resources/read` or `prompts/get` leaves.
        warning: What was odd about the answer's bytes.
        answer: The last HTTP answer, None on stdio.
        refusal: Why the request was not sent after all.
        is_session_lost: The server refused the request because it no longer knows the session.
    """

    tool: str = ""
    arguments: bytes | None = None
    is_sent: bool = False
    warning: str = ""
    answer: HttpAnswer | None = None
    refusal: str = ""
    is_session_lost: bool = False


_canonical = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_OTHER_ARGUMENTS = "the arguments differ from those that were approved; nothing was sent"
_CHECKED: Mapping[str, tuple[Sequence[str], str]] = {
    READ: (("uri",), "reading this resource"),
    GET_PROMPT: (("name", "arguments"), "filling in this prompt"),
}
"""By method: the parameters that make up the decided bytes, and words for the request."""


def canonical(value: object) -> bytes:
    """Return the canonical JSON for decisions: compact UTF-8, keys in their order.

    Raises:
        ValueError: NaN or an infinity, which JSON does not have, or a lone surrogate.
    """
    return _canonical(value).encode()


def frame_bytes(frame: Mapping[str, JSON], outgoing: OutgoingRequest | None) -> bytes:
    """Serialise a frame, with the approved bytes as a call's arguments.

    Raises:
        ServerError: The call differs from the approved one and must not be sent.
        ValueError: The frame cannot be written as JSON.
    """
    if frame.get("method") != "tools/call":
        _check_reading(frame, outgoing)
        return canonical(frame)
    params, decided = _decided(frame, outgoing)
    parameters = {name: value for name, value in params.items() if name != "arguments"}
    head = canonical({**{name: value for name, value in frame.items() if name != "params"}, "params": parameters})
    return b'%b,"arguments":%b}}' % (head[:-2], decided)


def _check_reading(frame: Mapping[str, JSON], outgoing: OutgoingRequest | None) -> None:
    """Refuse to read a resource, or to fill in a prompt, that was not approved."""
    method = frame.get("method")
    if not isinstance(method, str) or method not in _CHECKED:
        return
    names, words = _CHECKED[method]
    params = frame.get("params")
    decided = outgoing.arguments if outgoing is not None and outgoing.tool == method else None
    if (
        decided is None
        or not isinstance(params, Mapping)
        or canonical({name: params.get(name) for name in names}) != decided
    ):
        raise ServerError(f"{words} was not approved; nothing was sent")


def _decided(frame: Mapping[str, JSON], outgoing: OutgoingRequest | None) -> tuple[Mapping[str, JSON], bytes]:
    """Return a call's parameters and the approved arguments; raises if they differ."""
    params = frame.get("params")
    decided = None if outgoing is None else outgoing.arguments
    if outgoing is None or decided is None:
        raise ServerError("this call was not approved; nothing was sent")
    if not isinstance(params, Mapping) or params.get("name") != outgoing.tool:
        raise ServerError("the tool differs from the one that was approved; nothing was sent")
    if canonical(params.get("arguments")) != decided:
        raise ServerError(_OTHER_ARGUMENTS)
    return params, decided
