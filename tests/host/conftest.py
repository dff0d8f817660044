"""Hosts of these tests start the bundled servers as forks."""

from __future__ import annotations

from tests.servers.running import fork_bundled_servers

fork_bundled_servers()
