"""A tool call or resource read: exactly the approved arguments, a limit on silence, and every failure as a `ServerError`.

The SDK's own `call_tool` is not used: it validates the result against the tool's output schema after the tool has run, discards a
result that does not fit, and a hostile schema freezes the process.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from tui_host.capture.json.narrowing import as_json, is_object, mapping
from tui_host.capture.record import current_place
from tui_host.errors import JSON, ServerError, TuiHostError
from tui_host.servers.catalog import GET_PROMPT, READ, Progress, ToolOutput
from tui_host.servers.outgoing_request import HttpAnswer, OutgoingRequest, current_request
from tui_host.servers.server_faults import innermost, reason_of
from tui_host.servers.server_requests import CallClock, RefusedError
from tui_host.servers.server_task import follow_task
from tui_host.servers.tool_output import read_contents, read_output

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

    from tui_host.servers.server_requests import ServerRequests
    from tui_host.servers.transports import Wire

ROUNDS = 10
"""How often a call is sent again with what its server asked for."""
Call: TypeAlias = mcp_types.CallToolRequest | mcp_types.ReadResourceRequest | mcp_types.GetPromptRequest
Answer: TypeAlias = (
    mcp_types.CallToolResult | mcp_types.ReadResourceResult | mcp_types.GetPromptResult | mcp_types.InputRequiredResult
)
_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)


@dataclass(frozen=True, slots=True)
class ConnectedClient:
    """A connected client, its wire, and what answers the server's requests."""

    client: ClientSession
    wire: Wire
    requests: ServerRequests


async def send_call(
    connected: ConnectedClient,
    request: Call,
    outgoing: OutgoingRequest,
    *,
    seconds: float,
    longest: float,
    on_progress: Callable[[Progress], None],
) -> ToolOutput:
    """Send a call and wait for its result.

    Args:
        connected: The connected client.
        request: The call.
        outgoing: Holds the approved arguments.
        seconds: Longest silence of the server; progress counts as a sign of life, and the time that the person takes to answer the
            server's questions does not count. 0 for no limit.
        longest: Longest time in all, whatever the server reports.
        on_progress: Called for each progress notification.

    Raises:
        ServerError: Says what happened, and whether the tool may have run.
    """
    wire = connected.wire
    started = anyio.current_time()
    silence = seconds or math.inf
    call = current_place.get().call or ""
    scope = anyio.CancelScope()
    clock = CallClock(scope, silence=silence, longest=max(longest, silence))
    with scope:
        token = current_request.set(outgoing)
        try:
            with connected.requests.during(call, clock):
                await _send_rounds(connected, request, outgoing, clock, on_progress)
        except (MCPError, TuiHostError, ValidationError, RuntimeError, ValueError, OSError, ExceptionGroup) as error:
            raise _lost(error, wire, outgoing) from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise _lost(error, wire, outgoing) from error
        finally:
            current_request.reset(token)
    if scope.cancelled_caught:
        waited = anyio.current_time() - started - clock.stopped_seconds
        raise ServerError(
            f"no answer within {waited:.0f} s; the cancellation was sent, but the tool may have run",
            wire.server,
            f"raise {'timeout_max' if clock.is_over and longest > silence else 'timeout'} of servers.{wire.server}",
        )
    return _output(outgoing, wire)


async def _send_rounds(
    connected: ConnectedClient,
    request: Call,
    outgoing: OutgoingRequest,
    clock: CallClock,
    on_progress: Callable[[Progress], None],
) -> None:
    """Send a call, and send it again with what the server asks for, until it is done. Each time the wire checks the arguments.

    Raises:
        RefusedError: The person refused what the call needs.
        MCPError: The server refuses.
    """
    began = anyio.current_time()

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        clock.alive()
        on_progress(Progress(progress=progress, total=total, message=message or ""))

    for number in range(ROUNDS + 1):
        outgoing.result = outgoing.answer = None
        try:
            await connected.client.send_request(request, _ANSWER, progress_callback=progressed)
        except MCPError as error:
            if error.code != mcp_types.URL_ELICITATION_REQUIRED or number == ROUNDS:
                raise
            if not await connected.requests.visit(as_json(error.error.data)):
                raise RefusedError("the server wants a page to be visited first, which was declined") from error
            continue
        result = mapping(as_json(outgoing.result))
        if result.get("resultType") == "task" and outgoing.tool not in {READ, GET_PROMPT}:

            def report(state: str) -> None:
                clock.alive()
                on_progress(Progress(progress=round(anyio.current_time() - began), message=f"s, task {state}"))

            outgoing.result = await follow_task(connected.client, connected.requests, result, report=report)
            return
        if result.get("resultType") != "input_required":
            return
        if number < ROUNDS:
            request = await _answered(request, result, connected.requests, number)
    raise RefusedError(f"the server asked for more input {ROUNDS + 1} times")


async def _answered(request: Call, result: Mapping[str, JSON], requests: ServerRequests, number: int) -> Call:
    """Return the call with the answers to a result that asks for input; a result that asks nothing only takes time.

    Source: MCP 2026-07-28, Multi Round-Trip Requests.
    """
    answers = await requests.answer_all(mapping(result.get("inputRequests")))
    if not answers:
        await anyio.sleep(min(0.05 * 2**number, 1.0))
    update = {"input_responses": answers or None, "request_state": result.get("requestState")}
    return request.model_copy(update={"params": request.params.model_copy(update=update)})


def call_request(tool: str, arguments_json: bytes, *, log_level: str = "") -> Call:
    """Build the request from its approved bytes; `READ` reads a resource, `GET_PROMPT` fills in a prompt.

    Args:
        tool: The tool's own name.
        arguments_json: The approved bytes.
        log_level: Least severe level of the log messages that the server is asked to send during the call; empty for none.

    Raises:
        ServerError: The bytes are not an object, or name no resource.
    """
    request = _request(tool, arguments_json)
    if not log_level:
        return request
    meta = {mcp_types.LOG_LEVEL_META_KEY: log_level}
    return request.model_copy(update={"params": request.params.model_copy(update={"meta": meta})})


def _request(tool: str, arguments_json: bytes) -> Call:
    arguments: JSON = json.loads(arguments_json)
    if not is_object(arguments):
        raise ServerError("the arguments of a call must be an object", sent=False)
    if tool == GET_PROMPT:
        return mcp_types.GetPromptRequest(params=mcp_types.GetPromptRequestParams.model_validate(arguments))
    if tool != READ:
        return mcp_types.CallToolRequest(params=mcp_types.CallToolRequestParams(name=tool, arguments=dict(arguments)))
    uri = arguments.get("uri")
    if not isinstance(uri, str) or not uri:
        raise ServerError("reading a resource needs its uri, as text", sent=False)
    return mcp_types.ReadResourceRequest(params=mcp_types.ReadResourceRequestParams(uri=uri))


def _output(outgoing: OutgoingRequest, wire: Wire) -> ToolOutput:
    if outgoing.result is None:
        raise ServerError("the answer was lost; the tool may have run", wire.server)
    kind = outgoing.result.get("resultType", "complete")
    if outgoing.tool == GET_PROMPT:  # read as messages by the pool
        output = ToolOutput(content=(), raw=as_json(outgoing.result), warning=outgoing.warning)
    else:
        output = (read_contents if outgoing.tool == READ else read_output)(outgoing.result, outgoing.warning)
    if kind != "complete":
        raise ServerError(f"the result has an unknown type: {kind!r}"[:200], wire.server)
    return output


def _is_lost(fault: BaseException) -> bool:
    """Whether the SDK or our gate made this error because an answer is incomplete or never came."""
    if not isinstance(fault, MCPError) or fault.code != mcp_types.CONNECTION_CLOSED:
        return False
    data: object = fault.error.data
    by_sdk = fault.error.message.startswith(("SSE stream ", "Connection closed"))
    return by_sdk or (is_object(data) and data.get("tui-host") == "fault")


def _lost(error: BaseException, wire: Wire, outgoing: OutgoingRequest) -> ServerError:
    """Explain why there is no result. The model reads the text, so it must hold no standard error and no secret."""
    fault = innermost(error)
    if isinstance(fault, RefusedError):
        return ServerError(f"{fault}; the tool may have run", wire.server)
    if outgoing.refusal:
        return ServerError(outgoing.refusal, wire.server, sent=False)
    if wire.is_left:
        return ServerError(
            "the server was disconnected during the call; the tool may have run", wire.server, sent=outgoing.is_sent
        )
    if wire.cause:
        words = f"the server {wire.cause} during the call; the tool may have run"
        return ServerError(words, wire.server, "reconnect it", sent=outgoing.is_sent)
    what, remedy = reason_of(fault, answer=outgoing.answer)
    answer = outgoing.answer or HttpAnswer(status=0)
    status = answer.status
    if status in {404, 405}:
        remedy = "the server did answer at this URL before: check whether it was changed"
    if outgoing.is_session_lost:
        what = f"the server no longer knows the session ({what}); nothing ran"
    elif not outgoing.is_sent:
        what = f"{what}; nothing was sent"
    elif _is_lost(fault):
        what = f"the answer was lost: {what.rstrip('.')}; the tool may have run"
    elif status >= 300 or answer.words:
        what = f"{what}; the tool {'was not run' if 300 <= status < 500 else 'may have run'}"
    return ServerError(
        wire.recorder.redactor.text(what),
        wire.server,
        remedy,
        sent=outgoing.is_sent and not outgoing.is_session_lost,
        is_session_lost=outgoing.is_session_lost,
    )
