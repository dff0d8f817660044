"""Requests that are no calls: completion and ping. A failure becomes a `ServerError`. Imported late, because it needs the SDK."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import anyio
import mcp_types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from tui_host.errors import ServerError, TuiHostError
from tui_host.servers.outgoing_request import OutgoingRequest, current_request
from tui_host.servers.server_faults import reason_of

if TYPE_CHECKING:
    from tui_host.servers.transports import Wire

Reply = TypeVar("Reply")


async def send_request(
    client: ClientSession, wire: Wire, send: Callable[[ClientSession], Awaitable[Reply]], *, seconds: float
) -> Reply:
    """Send a request and wait for its answer.

    Args:
        client: The connected client.
        wire: The client's wire.
        send: Sends the request by the client.
        seconds: Time limit; 0 for none.

    Raises:
        ServerError: There is no answer, or the server refuses.
    """
    outgoing = OutgoingRequest()
    token = current_request.set(outgoing)
    try:
        with anyio.fail_after(seconds or None):
            return await send(client)
    except TimeoutError:
        raise ServerError(f"no answer within {seconds:g} s", wire.server) from None
    except (
        MCPError,
        TuiHostError,
        ValidationError,
        RuntimeError,
        ValueError,
        OSError,
        ExceptionGroup,
        anyio.ClosedResourceError,
        anyio.BrokenResourceError,
    ) as error:
        what, remedy = reason_of(error, answer=outgoing.answer, cause=wire.cause)
        raise ServerError(
            wire.recorder.redactor.text(what),
            wire.server,
            remedy,
            sent=outgoing.is_sent and not outgoing.is_session_lost,
            is_session_lost=outgoing.is_session_lost,
        ) from error
    finally:
        current_request.reset(token)


async def ping(client: ClientSession) -> float:
    """Ask whether the server is alive: by `ping`, in the stateless era, which has none, by `server/discover`.

    Returns:
        Milliseconds until the answer.
    """
    started = time.perf_counter()
    version = client.protocol_version or ""
    if version in MODERN_PROTOCOL_VERSIONS:
        await client.send_discover(version)
    else:
        await client.send_ping()
    return (time.perf_counter() - started) * 1000


async def complete(
    client: ClientSession, *, argument: str, value: str, prompt: str, template: str, context: Mapping[str, str]
) -> tuple[str, ...]:
    """Ask for values of a prompt's or template's argument; nothing if the server does not complete.

    Args:
        client: The connected client.
        argument: The argument's name.
        value: What has been typed of the value.
        prompt: The prompt's name, empty for a template.
        template: The template's URI, empty for a prompt.
        context: Values of other arguments.
    """
    declared = client.server_capabilities
    if declared is not None and declared.completions is None:
        return ()
    about = mcp_types.PromptReference(name=prompt) if prompt else mcp_types.ResourceTemplateReference(uri=template)
    result = await client.complete(about, {"name": argument, "value": value}, dict(context) or None)
    return tuple(result.completion.values)
