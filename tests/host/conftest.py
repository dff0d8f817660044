"""Hosts of these tests start the bundled servers as forks."""

from tests.servers.running import fork_bundled_servers

fork_bundled_servers()
