"""Follows a task that a server made of a call: polls it, answers its questions, and cancels it with the call.

Source: the extension io.modelcontextprotocol/tasks of MCP 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError

from tui_host.capture.json.narrowing import mapping, text_or_empty
from tui_host.errors import JSON, TuiHostError
from tui_host.servers.client import Client
from tui_host.servers.server_requests import RefusedError, ServerRequests

POLL_SECONDS = 1.0
"""Time between two polls if the server suggests none."""
LONGEST_POLL_SECONDS = 30.0
CANCEL_SECONDS = 2.0


async def follow_task(
    client: Client, requests: ServerRequests, handle: Mapping[str, JSON], *, report: Callable[[str], None]
) -> Mapping[str, JSON]:
    """Wait for the end of a task, and return the result of the call. A cancelled wait cancels the task.

    Args:
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
                await _ask(client, "tasks/update", number, inputResponses=answers)
            await anyio.sleep(_pause(task))
            task = await _ask(client, "tasks/get", number)
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


async def _ask(client: Client, method: str, number: str, **params: JSON) -> Mapping[str, JSON]:
    return await client.ask(method, {"taskId": number, **params}, name=number)


async def _cancel(client: Client, number: str) -> None:
    with anyio.move_on_after(CANCEL_SECONDS, shield=True):
        try:
            await _ask(client, "tasks/cancel", number)
        except (MCPError, TuiHostError, ValueError, OSError):
            return  # the record has the request and its failure; the call ends in any case
