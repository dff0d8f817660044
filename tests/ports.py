"""Ports that nobody listens on, and that nobody gets by chance meanwhile."""

import os
import socket
from contextlib import suppress
from random import sample

FIRST, SHARES, SHARE = 20_000, 12, 1_000
"""Below those that systems give away by themselves: to whoever asks for any, and to each connection of the tests beside this one."""


def unused_port() -> int:
    """A port of this process's own share on which nobody listens now."""
    first = FIRST + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % SHARES * SHARE
    for port in sample(range(first, first + SHARE), SHARE):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("all ports are taken")
