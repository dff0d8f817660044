"""A tool call or resource read: exactly the approved arguments, a limit on silence, and every failure as a `ServerError`.

The SDK's own `call_tool` is not used: it validates the result against the tool's output schema after the tool has run, discards a
result that does not fit, and a hostile schema freezes the process.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from tui_host.capture.json.narrowing import is_object
from tui_host.errors import JSON, ServerError, TuiHostError
from tui_host.servers.catalog import READ, Progress, ToolOutput
from tui_host.servers.outgoing_request import OutgoingRequest, current_request
from tui_host.servers.server_faults import innermost, reason_of
from tui_host.servers.tool_output import read_contents, read_output

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

    from tui_host.servers.transports import Wire

LONGEST_SECONDS = 600.0
"""Longest duration of a call that progress keeps alive."""
Call: TypeAlias = mcp_types.CallToolRequest | mcp_types.ReadResourceRequest
_ANSWER: TypeAdapter[mcp_types.CallToolResult | mcp_types.ReadResourceResult | mcp_types.InputRequiredResult] = (
    TypeAdapter(mcp_types.CallToolResult | mcp_types.ReadResourceResult | mcp_types.InputRequiredResult)
)


async def send_call(
    client: ClientSession,
    wire: Wire,
    request: Call,
    outgoing: OutgoingRequest,
    *,
    seconds: float,
    on_progress: Callable[[Progress], None],
) -> ToolOutput:
    """Send a call and wait for its result.

    Args:
        client: The connected client.
        wire: The client's wire.
        request: The call.
        outgoing: Holds the approved arguments.
        seconds: Longest silence of the server; progress counts as a sign of life, up to ten minutes in all. 0 for no limit.
        on_progress: Called for each progress notification.

    Raises:
        ServerError: Says what happened, and whether the tool may have run.
    """
    started = anyio.current_time()
    silence = seconds or math.inf
    longest = started + max(LONGEST_SECONDS, silence)
    with anyio.CancelScope(deadline=started + silence) as scope:

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            scope.deadline = min(anyio.current_time() + silence, longest)
            on_progress(Progress(progress=progress, total=total, message=message or ""))

        token = current_request.set(outgoing)
        try:
            await client.send_request(request, _ANSWER, progress_callback=progressed)
        except (MCPError, TuiHostError, ValidationError, RuntimeError, ValueError, OSError, ExceptionGroup) as error:
            raise _lost(error, wire, outgoing) from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise _lost(error, wire, outgoing) from error
        finally:
            current_request.reset(token)
    if scope.cancelled_caught:
        waited = anyio.current_time() - started
        raise ServerError(
            f"no answer within {waited:.0f} s; the cancellation was sent, but the tool may have run",
            wire.server,
            f"raise timeout of servers.{wire.server}",
        )
    return _output(outgoing, wire)


def call_request(tool: str, arguments_json: bytes) -> Call:
    """Build the request from its approved bytes; `READ` reads a resource.

    Raises:
        ServerError: The bytes are not an object, or name no resource.
    """
    arguments: JSON = json.loads(arguments_json)
    if not is_object(arguments):
        raise ServerError("the arguments of a call must be an object", sent=False)
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
    if kind == "input_required":
        raise ServerError("the server asks for more input, which is not supported yet", wire.server)
    output = (read_contents if outgoing.tool == READ else read_output)(outgoing.result, outgoing.warning)
    if kind != "complete":
        raise ServerError(f"the result has an unknown type: {kind!r}"[:200], wire.server)
    return output


def _is_lost(fault: BaseException) -> bool:
    """Whether an error stands for an incomplete answer, and was made by the SDK or by our gate."""
    if not isinstance(fault, MCPError) or fault.code != mcp_types.CONNECTION_CLOSED:
        return False
    data: object = fault.error.data
    return fault.error.message.startswith("SSE stream ") or (is_object(data) and data.get("tui-host") == "fault")


def _lost(error: BaseException, wire: Wire, outgoing: OutgoingRequest) -> ServerError:
    """Explain why there is no result. The model reads the text, so no line of standard error and no secret may appear."""
    fault = innermost(error)
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
    if not outgoing.is_sent:
        what = f"{what}; nothing was sent"
    elif _is_lost(fault):
        what = f"the answer was lost: {what.rstrip('.')}; the tool may have run"
    return ServerError(wire.recorder.redactor.text(what), wire.server, remedy, sent=outgoing.is_sent)
