"""A request on its way to a server: the approved bytes, their check before anything leaves, and what became of the request."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import NOWHERE, Place
from tui_host.errors import JSON, ServerError
from tui_host.servers.catalog import GET_PROMPT, READ

if TYPE_CHECKING:
    from asyncio import Future

    from mcp.shared.exceptions import MCPError

CALL = "tools/call"
_DECIDED = {CALL: ("arguments",), READ: ("uri",), GET_PROMPT: ("name", "arguments")}
"""By method that needs an approval: the parameters that make up the approved bytes."""


@dataclass(slots=True, kw_only=True)
class HttpAnswer:
    """An HTTP server's answer to a request, reduced to what an error message needs."""

    status: int  # 0 if no answer came
    words: str = ""  # the first of an error's body, or the fault that prevented an answer
    retry_after: str = ""
    remedy: str = ""  # what to do, if that does not follow from the status
    is_session_lost: bool = False  # the server no longer knows the session, so nothing ran


@dataclass(slots=True, kw_only=True)
class HttpState:
    """What the owner of a connection over HTTP wants to know of it."""

    is_refused: bool = False  # nothing accepted the last attempt to connect, or what did says that this will pass
    retry_seconds: float = 0.0  # for how long the server asked to be left alone
    is_session_lost: bool = False


@dataclass(slots=True, kw_only=True)
class OutgoingRequest:
    """A request: what was approved, who hears of its progress, and its state, which the wire fills in."""

    tool: str = ""  # or `READ`, `GET_PROMPT`
    arguments: bytes | None = None  # canonical, as approved; without them no request leaves that needs an approval
    on_progress: Callable[[Mapping[str, JSON]], None] | None = None
    place: Place = NOWHERE
    reply: Future[Mapping[str, JSON] | MCPError] | None = None
    is_sent: bool = False
    warning: str = ""  # what was odd about the answer's bytes


_canonical = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def canonical(value: object) -> bytes:
    """Return the canonical JSON for decisions: compact UTF-8, keys in their order; raises ValueError for what JSON does not have."""
    return _canonical(value).encode()


def frame_bytes(frame: Mapping[str, JSON], outgoing: OutgoingRequest | None) -> bytes:
    """Serialise a frame, with the approved bytes as a call's arguments; raises ServerError if it differs from what was approved."""
    method, params = frame.get("method"), mapping(frame.get("params"))
    if not isinstance(method, str) or method not in _DECIDED:
        return canonical(frame)
    decided = None if outgoing is None else outgoing.arguments
    if outgoing is None or decided is None:
        raise ServerError("this request was not approved", sent=False)
    if outgoing.tool != (params.get("name") if method == CALL else method):
        raise ServerError("the tool differs from the one that was approved", sent=False)
    given = {name: params.get(name) for name in _DECIDED[method]}
    if canonical(given["arguments"] if method == CALL else given) != decided:
        raise ServerError("the arguments differ from those that were approved", sent=False)
    if method != CALL:
        return canonical(frame)
    # The very bytes, and not what they mean: a person decided on how a number is written, too.
    rest = {name: value for name, value in params.items() if name != "arguments"}
    head = canonical({**{name: value for name, value in frame.items() if name != "params"}, "params": rest})
    return b'%b,"arguments":%b}}' % (head[:-2], decided)
