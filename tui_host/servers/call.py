"""A tool call, a resource read or a prompt: exactly the approved arguments, a limit on silence, every failure as a `ServerError`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from tui_host.capture.json.narrowing import as_json, mapping, text_or_empty
from tui_host.capture.record import current_place
from tui_host.errors import JSON, ServerError, TuiHostError
from tui_host.servers.catalog import GET_PROMPT, READ, CallProgress
from tui_host.servers.client import ServerClient
from tui_host.servers.outgoing_request import CALL, HttpAnswer, OutgoingRequest
from tui_host.servers.server_faults import WireError, innermost, reason_of
from tui_host.servers.server_requests import CallClock, RefusedError, ServerRequests

if TYPE_CHECKING:
    from tui_host.servers.wire import Wire

ROUNDS = 10  # how often a call is sent again with what its server asked for
POLL_SECONDS = 1.0  # time between two polls if the server suggests none
LONGEST_POLL_SECONDS = 30.0
LONGEST_PAUSE_SECONDS = 1.0  # before a call is sent again whose server asks nothing, and only takes time
CANCEL_SECONDS = 2.0
FAULTS = (MCPError, TuiHostError, RuntimeError, ValueError, OSError, ExceptionGroup, anyio.ClosedResourceError)
"""What libraries raise in place of an answer."""


@dataclass(slots=True)
class ServerCall:
    """A call over one wire, of approved bytes. Run it once."""

    _client: ServerClient
    _requests: ServerRequests
    _outgoing: OutgoingRequest
    _params: Mapping[str, JSON]
    _on_progress: Callable[[CallProgress], None]
    _began: float = field(default_factory=anyio.current_time)

    async def run(self, *, seconds: float, longest: float) -> Mapping[str, JSON]:
        """Send the call and wait for its result: so many seconds of silence, and `longest` in all. Raises ServerError in its place."""
        wire, silence = self._client.peer.wire, seconds or math.inf
        scope = anyio.CancelScope()
        clock = CallClock(scope, silence, anyio.current_time() + max(longest, silence))
        clock.alive()
        with scope:
            try:
                with self._requests.during(current_place.get().call or "", clock):
                    return await self._rounds(clock)
            except FAULTS as error:
                raise _lost(error, wire, self._outgoing) from error
        key, limit = (
            ("timeout_max", longest)
            if clock.end <= anyio.current_time() and not clock.stops and longest > silence
            else ("timeout", silence)
        )
        what = f"no answer within {limit:g} s; the cancellation was sent, but the tool may have run"
        raise ServerError(what, wire.server, f"raise {key} of servers.{wire.server}")

    async def _rounds(self, clock: CallClock) -> Mapping[str, JSON]:
        """Send the call, and send it again with what the server asks for, until it is done. Each time the wire checks the arguments."""
        method = self._outgoing.tool if self._outgoing.tool in {READ, GET_PROMPT} else CALL

        def progressed(params: Mapping[str, JSON]) -> None:
            clock.alive()
            done, total = params.get("progress"), params.get("total")
            progress = CallProgress(
                progress=float(done) if isinstance(done, int | float) else 0.0,
                total=float(total) if isinstance(total, int | float) else None,
                message=text_or_empty(params.get("message")),
            )
            self._on_progress(progress)

        self._outgoing.on_progress = progressed
        for number in range(ROUNDS + 1):
            try:
                result = await self._client.ask(method, self._params, outgoing=self._outgoing)
            except MCPError as error:
                if error.code != mcp_types.URL_ELICITATION_REQUIRED or number == ROUNDS:
                    raise
                if not await self._requests.visit(as_json(error.error.data)):
                    raise RefusedError("the server wants a page to be visited first, which was declined") from error
                continue
            kind = result.get("resultType", "complete")
            if kind == "complete":
                return result
            if kind == "task" and method == CALL:
                return await self._follow(result, clock)
            if kind != "input_required":
                raise RefusedError(f"the result has an unknown type: {kind!r}"[:200])
            if number == ROUNDS:
                break
            # Again, with the answers to what it asks for. Source: MCP 2026-07-28, Multi Round-Trip Requests.
            answers = await self._requests.answer_all(mapping(result.get("inputRequests")))
            params = {
                key: value for key, value in self._params.items() if key not in {"inputResponses", "requestState"}
            }
            if answers:
                params["inputResponses"] = answers
            else:
                await anyio.sleep(min(0.05 * 2**number, LONGEST_PAUSE_SECONDS))
            if result.get("requestState") is not None:
                params["requestState"] = result["requestState"]
            self._params = params
        raise RefusedError(f"the server asked for more input {ROUNDS + 1} times")

    async def _follow(self, task: Mapping[str, JSON], clock: CallClock) -> Mapping[str, JSON]:
        """Wait for the end of a task (io.modelcontextprotocol/tasks), and return the call's result. A cancelled wait cancels it."""
        about, answered = text_or_empty(task.get("taskId")), set[str]()
        try:
            while True:
                clock.alive()
                state = ": ".join(filter(None, (text_or_empty(task.get(key)) for key in ("status", "statusMessage"))))
                waited = round(anyio.current_time() - self._began)
                self._on_progress(CallProgress(progress=waited, message=f"s, task {state}"))
                result = _result_of(task)
                if result is not None:
                    return result
                asked = mapping(task.get("inputRequests"))
                answers = await self._requests.answer_all({key: asked[key] for key in asked if key not in answered})
                answered |= answers.keys()
                if answers:
                    params: dict[str, JSON] = {"taskId": about, "inputResponses": answers}
                    await self._client.ask("tasks/update", params, name=about)
                suggested = task.get("pollIntervalMs")
                pause = suggested / 1000 if isinstance(suggested, int | float) else POLL_SECONDS
                await anyio.sleep(min(max(pause, 0.05), LONGEST_POLL_SECONDS))
                task = await self._client.ask("tasks/get", {"taskId": about}, name=about)
        except (RefusedError, anyio.get_cancelled_exc_class()):
            if text_or_empty(task.get("status")) in {"working", "input_required"}:
                # The record has this request and its failure; the call ends in any case.
                faults = suppress(MCPError, TuiHostError, ValueError, OSError)
                with anyio.move_on_after(CANCEL_SECONDS, shield=True), faults:
                    await self._client.ask("tasks/cancel", {"taskId": about}, name=about)
            raise


def _lost(error: BaseException, wire: Wire, outgoing: OutgoingRequest) -> ServerError:
    """Explain why a call has no result. The model reads the text, so it must hold no standard error and no secret."""
    fault = innermost(error)
    answer = (fault.answer if isinstance(fault, WireError) else None) or HttpAnswer(status=0)
    what, remedy = reason_of(fault)
    if answer.status in {404, 405}:
        remedy = "the server did answer at this URL before: check whether it was changed"
    if isinstance(fault, RefusedError):
        what = f"{fault}; the tool may have run"
    elif wire.is_left:
        what, remedy = "the server was disconnected during the call; the tool may have run", ""
    elif wire.cause:
        what, remedy = f"the server {wire.cause} during the call; the tool may have run", "reconnect it"
    elif answer.is_session_lost:
        what = f"the server no longer knows the session ({what}); nothing ran"
    elif not outgoing.is_sent:
        what = f"{what}; nothing was sent"
    elif isinstance(fault, WireError) and fault.code == CONNECTION_CLOSED:  # servers use the code for other things
        what = f"the answer was lost: {what.rstrip('.')}; the tool may have run"
    elif answer.status >= 300 or answer.words:
        what = f"{what}; the tool {'was not run' if 300 <= answer.status < 500 else 'may have run'}"
    return ServerError(
        wire.recorder.redactor.text(what),
        wire.server,
        remedy,
        sent=outgoing.is_sent and not answer.is_session_lost,
        is_session_lost=answer.is_session_lost,
    )


def _result_of(task: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    state, words = text_or_empty(task.get("status")), text_or_empty(task.get("statusMessage"))
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
