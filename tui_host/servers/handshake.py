"""How a client and a server agree on what they speak, before anything else. Source: mcp-host.md, «What differs between the eras»."""

from __future__ import annotations

import mcp_types
from mcp.client._probe import negotiate_auto
from mcp.client.session import ClientSession

from tui_host.settings.schema import Mode


async def introduce(client: ClientSession, mode: Mode) -> None:
    """Negotiate the version: by a probe that falls back to `initialize`, by `initialize` alone, or not at all.

    Raises:
        MCPError: The server refuses, or speaks no version that we do.
    """
    match mode:
        case "auto":
            await negotiate_auto(client)
        case "legacy":
            await client.initialize()
        case _:
            client.adopt(_unasked(mode))


def _unasked(version: str) -> mcp_types.DiscoverResult:
    """What a server would tell of which nothing is known but the version."""
    return mcp_types.DiscoverResult(
        supported_versions=[version],
        capabilities=mcp_types.ServerCapabilities(),
        result_type="complete",
        ttl_ms=0,
        cache_scope="public",
    )
