"""Follows a task that a server made of a call: polls it, answers its questions, and cancels it with the call.

Source: the extension io.modelcontextprotocol/tasks of MCP 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import anyio
import mcp_types
from mcp.client.extension import ClaimContext, ResultClaim
from mcp.shared.exceptions import MCPError

from tui_host.capture.json.narrowing import as_json, mapping, text_or_empty
from tui_host.errors import JSON, TuiHostError
from tui_host.servers.outgoing_request import OutgoingRequest, current_request
from tui_host.servers.server_requests import RefusedError

if TYPE_CHECKING:
    from mcp.client.session import ClientSession

    from tui_host.servers.server_requests import Response, ServerRequests

TASKS = "io.modelcontextprotocol/tasks"
POLL_SECONDS = 1.0
"""Time between two polls if the server suggests none."""
LONGEST_POLL_SECONDS = 30.0
CANCEL_SECONDS = 2.0
_Method: TypeAlias = Literal["tasks/get", "tasks/update", "tasks/cancel"]


class _TaskParams(mcp_types.RequestParams):
    task_id: str
    input_responses: mcp_types.InputResponses | None = None


class _TaskRequest(mcp_types.Request[_TaskParams, _Method]):
    name_param = "taskId"  # sent as a header too, by which a gateway finds the server that has the task


class _Handle(mcp_types.Result):
    result_type: Literal["task"] = "task"


async def _unused(handle: _Handle, context: ClaimContext) -> mcp_types.CallToolResult:
    """Raise: this program reads the handle from the result as received."""
    del handle, context
    raise RuntimeError("the SDK resolves no task here")


CLAIMS: Mapping[str, tuple[ResultClaim[_Handle], ...]] = {
    TASKS: (ResultClaim(result_type="task", model=_Handle, resolve=_unused),)
}
"""What lets the SDK declare the extension, in the stateless era alone."""


async def follow_task(
    client: ClientSession,
    requests: ServerRequests,
    handle: Mapping[str, JSON],
    *,
    report: Callable[[str], None],
) -> Mapping[str, JSON]:
    """Wait for the end of a task, and return the result of the call. A cancelled wait cancels the task.

    Args:
        client: The connected client.
        requests: Answers the task's questions.
        handle: The result that stands for the task.
        report: Called with the task's state after each poll.

    Raises:
        MCPError: The task failed, or cannot be polled.
        RefusedError: The task was cancelled, or what it needs was refused.
    """
    task, number = handle, text_or_empty(handle.get("taskId"))
    answered: set[str] = set()
    try:
        while (result := _result(task, report)) is None:
            new = {key: asked for key, asked in mapping(task.get("inputRequests")).items() if key not in answered}
            answers = await requests.answer_all(new)
            answered |= answers.keys()
            if answers:
                await _send(client, "tasks/update", number, answers)
            await anyio.sleep(_pause(task))
            task = await _send(client, "tasks/get", number)
    except (RefusedError, anyio.get_cancelled_exc_class()):
        if text_or_empty(task.get("status")) in {"working", "input_required"}:
            await _cancel(client, number)
        raise
    return result


def _result(task: Mapping[str, JSON], report: Callable[[str], None]) -> Mapping[str, JSON] | None:
    """Return a completed task's result, None while the task goes on; raises as `follow_task`."""
    state, words = text_or_empty(task.get("status")), text_or_empty(task.get("statusMessage"))
    report(f"{state}: {words}" if words else state)
    match state:
        case "completed" if isinstance(task.get("result"), Mapping):
            return mapping(task.get("result"))
        case "working" | "input_required":
            return None
        case "failed":
            raise MCPError.from_error_data(mcp_types.ErrorData.model_validate(task.get("error")))
        case "cancelled":
            raise RefusedError(f"the server cancelled its task{f': {words}' if words else ''}")
        case _:
            raise RefusedError(f"the server's task has an unknown state: {state!r}"[:200])


def _pause(task: Mapping[str, JSON]) -> float:
    """Return the seconds until the next poll, as the server suggests within limits."""
    suggested = task.get("pollIntervalMs")
    if not isinstance(suggested, int | float) or isinstance(suggested, bool):
        return POLL_SECONDS
    return min(max(suggested / 1000, 0.05), LONGEST_POLL_SECONDS)


async def _send(
    client: ClientSession, method: _Method, number: str, answers: Mapping[str, Response] | None = None
) -> Mapping[str, JSON]:
    """Send a request about a task, and return the result as received."""
    outgoing = OutgoingRequest()
    token = current_request.set(outgoing)
    try:
        params = _TaskParams(task_id=number, input_responses=None if answers is None else dict(answers))
        await client.send_request(_TaskRequest(method=method, params=params), mcp_types.Result)
    finally:
        current_request.reset(token)
    return mapping(as_json(outgoing.result))


async def _cancel(client: ClientSession, number: str) -> None:
    with anyio.move_on_after(CANCEL_SECONDS, shield=True):
        try:
            await _send(client, "tasks/cancel", number)
        except (MCPError, TuiHostError, ValueError, OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # the record has the request and its failure; the call ends in any case
