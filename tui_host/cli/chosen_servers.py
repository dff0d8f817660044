"""Chooses the servers of a command, and waits for them to connect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import anyio

from tui_host.cli.command_host import Interruption, report_connecting
from tui_host.errors import SettingsError

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.servers.catalog import ServerStatus
    from tui_host.settings.schema import ServerSpec

LIST_SECONDS = 30.0
"""Seconds allowed for listing a server's offers, in addition to the time limit for connecting."""


def chosen_servers(specs: Mapping[str, ServerSpec], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the named servers, or all enabled servers; raises SettingsError for a name that is not configured."""
    unknown = [name for name in names if name not in specs]
    if unknown:
        configured = ", ".join(specs) or "none"
        raise SettingsError(f"no server {', '.join(unknown)}", where="servers", remedy=f"choose from {configured}")
    return names or tuple(name for name, spec in specs.items() if spec.enabled)


async def settled(host: Host, interruption: Interruption, seconds: float) -> Sequence[ServerStatus]:
    """Wait until every server is connected or has failed."""
    assert host.pool is not None  # noqa: S101 - there once the host is ready
    async with anyio.create_task_group() as group:
        interruption.then(group.cancel_scope.cancel)
        group.start_soon(report_connecting, host, lambda: True)
        await host.pool.settled(seconds)
        group.cancel_scope.cancel()
    return host.pool.statuses()


def patience(spec: ServerSpec) -> float:
    """Return the seconds within which a connection succeeds or fails; infinite if it has no time limit."""
    return 2 * (spec.timeout + max(LIST_SECONDS, spec.timeout)) if spec.timeout else math.inf
