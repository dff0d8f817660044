"""Makes the SDK's client, which declares exactly what a server's entry permits, and negotiates the protocol version."""

from __future__ import annotations

import importlib.metadata
import logging
import warnings
from functools import cache
from typing import TYPE_CHECKING

import mcp_types
from mcp.client._probe import negotiate_auto
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPDeprecationWarning

from tui_host.servers.server_task import CLAIMS, TASKS

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, WriteStream
    from mcp.client.session import MessageHandlerFnT
    from mcp.shared.message import SessionMessage

    from tui_host.servers.server_requests import ServerRequests
    from tui_host.settings.schema import Mode


def new_client(
    read: ReadStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
    requests: ServerRequests,
    *,
    heard: MessageHandlerFnT,
) -> ClientSession:
    """Make a client.

    Args:
        read: The messages of the server.
        write: Takes messages for the server.
        requests: Answers the server's requests; says what of them is declared.
        heard: Takes the server's notifications.
    """
    return ClientSession(
        read,
        write,
        client_info=_ourselves(),
        message_handler=heard,
        elicitation_callback=requests.elicited,
        sampling_callback=requests.sampled if requests.has_sampling else None,
        sampling_capabilities=mcp_types.SamplingCapability(tools=mcp_types.SamplingToolsCapability()),
        list_roots_callback=requests.listed_roots if requests.has_roots else None,
        extensions={TASKS: {}},
        result_claims=CLAIMS,
    )


async def introduce(client: ClientSession, mode: Mode) -> None:
    """Negotiate the protocol version: by a probe that falls back to `initialize`, by `initialize` alone, or not at all.

    Raises:
        MCPError: The server refuses, or shares no version with us.
    """
    match mode:
        case "auto":
            await negotiate_auto(client)
        case "legacy":
            await client.initialize()
        case _:
            client.adopt(_unasked(mode))


def _unasked(version: str) -> mcp_types.DiscoverResult:
    """Build the discovery result that is assumed for a server of a configured version, which is not probed."""
    return mcp_types.DiscoverResult(
        supported_versions=[version],
        capabilities=mcp_types.ServerCapabilities(),
        result_type="complete",
        ttl_ms=0,
        cache_scope="public",
    )


@cache
def _ourselves() -> mcp_types.Implementation:
    """Return the client info sent to servers; reads our package metadata from the disk."""
    return mcp_types.Implementation(name="tui-host", version=importlib.metadata.version("tui-host"))


def silence_sdk() -> None:
    """Keep the SDK's log messages and warnings off the terminal; the capture has all the facts."""
    for name in ("mcp", "client", "httpx2"):
        logger = logging.getLogger(name)
        if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            logger.addHandler(logging.NullHandler())
        logger.propagate = False
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
