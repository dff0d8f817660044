"""One request of ours on its way: what may be sent, and what became of it. Travels with the caller's context.

The SDK runs both the write stream's `send` and the HTTP transport in the context of the caller, so a context variable
reaches the two places where a request becomes bytes, although the SDK in between knows nothing of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from tui_host.errors import JSON, ServerError
from tui_host.servers.catalog import READ


@dataclass(slots=True, kw_only=True)
class HttpAnswer:
    """What an HTTP server said to one request, as far as it is needed to tell a person.

    Attributes:
        status: The status, 0 if no answer came.
        words: The first words of an error's body, or the fault that kept the answer away.
        retry_after: The header of that name, empty if there was none.
    """

    status: int
    words: str = ""
    retry_after: str = ""


@dataclass(slots=True, kw_only=True)
class Flight:
    """What the wire's two ends know of one request.

    Attributes:
        tool: The name of the tool that was decided on; `READ` for a resource.
        arguments: The canonical bytes that were decided; without them no `tools/call` and no `resources/read` leaves.
        is_sent: The request was handed to the wire.
        result: Its result as received, before anything was repaired.
        warning: What was odd about the answer's bytes.
        answer: The last HTTP answer, None on stdio.
        refusal: Why the request was not sent after all.
    """

    tool: str = ""
    arguments: bytes | None = None
    is_sent: bool = False
    result: Mapping[str, object] | None = None
    warning: str = ""
    answer: HttpAnswer | None = None
    refusal: str = ""


current_flight: ContextVar[Flight | None] = ContextVar("current_flight", default=None)


_canonical = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def canonical(value: object) -> bytes:
    """The spelling of JSON that decisions are made on: compact UTF-8, keys in their order.

    Raises:
        ValueError: NaN or an infinity, which JSON does not have, or a lone surrogate.
    """
    return _canonical(value).encode()


def frame_bytes(frame: Mapping[str, JSON], flight: Flight | None) -> bytes:
    """A frame as it is written: the arguments of a call are the very bytes that were decided.

    Args:
        frame: What is to be sent.
        flight: The request it belongs to.

    Raises:
        ServerError: It is a call that differs from what was decided; it must not be sent.
        ValueError: It cannot be written as JSON.
    """
    if frame.get("method") != "tools/call":
        _check_reading(frame, flight)
        return canonical(frame)
    params, decided = _decided(frame, flight)
    others = {name: value for name, value in params.items() if name != "arguments"}
    head = canonical({**{name: value for name, value in frame.items() if name != "params"}, "params": others})
    return b'%b,"arguments":%b}}' % (head[:-2], decided)


def check_frame(data: bytes, flight: Flight | None) -> None:
    """Refuse a `tools/call` whose tool or arguments are not, to the byte, those that were decided; and a read of another resource.

    Args:
        data: The frame as somebody else would write it.
        flight: The request it belongs to.

    Raises:
        ServerError: It must not be sent. Nothing was.
    """
    frame: JSON = json.loads(data)
    if not isinstance(frame, Mapping):
        return
    _check_reading(frame, flight)
    if frame.get("method") == "tools/call":
        _, decided = _decided(frame, flight)
        if b'"arguments":' + decided not in data:
            raise ServerError(_OTHER_ARGUMENTS)


_OTHER_ARGUMENTS = "the arguments about to be sent are not those that were decided; nothing was sent"


def _check_reading(frame: Mapping[str, JSON], flight: Flight | None) -> None:
    """Refuse to read a resource that is not the one that was decided."""
    if frame.get("method") != READ:
        return
    params = frame.get("params")
    decided = flight.arguments if flight is not None and flight.tool == READ else None
    if decided is None or not isinstance(params, Mapping) or canonical({"uri": params.get("uri")}) != decided:
        raise ServerError("a resource that nobody decided on was about to be read; it was not")


def _decided(frame: Mapping[str, JSON], flight: Flight | None) -> tuple[Mapping[str, JSON], bytes]:
    """The parameters of a call, which are those that were decided, and the decided arguments."""
    params = frame.get("params")
    decided = None if flight is None else flight.arguments
    if flight is None or decided is None:
        raise ServerError("a call that nobody decided was about to be sent; it was not")
    if not isinstance(params, Mapping) or params.get("name") != flight.tool:
        raise ServerError("the tool about to be called is not the one that was decided; nothing was sent")
    if canonical(params.get("arguments")) != decided:
        raise ServerError(_OTHER_ARGUMENTS)
    return params, decided
